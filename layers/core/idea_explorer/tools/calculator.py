"""Arithmetic expressions as people write them, parsed and computed here; Python evaluates nothing."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.tools import arithmetic
from idea_explorer.tools.arithmetic import Number, bounded

MAX_DEPTH = 50  # nobody writes deeper nesting

_TOKEN = lazy_pattern(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*)|(?P<operator>\*\*|[-+*/%^(),×÷−])|(?P<end>$)|(?P<other>.))",
    re.DOTALL,
)
_SPELLINGS = {"**": "^", "×": "*", "÷": "/", "−": "-"}
_NEGATION = 3  # binds more than a product and less than a power: -2^2 is -4
_OPERATORS: Mapping[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (1, lambda left, right: bounded(left + right)),
    "-": (1, lambda left, right: bounded(left - right)),
    "*": (2, lambda left, right: bounded(left * right)),
    "/": (2, arithmetic.divide),
    "%": (2, arithmetic.modulo),
    "^": (4, arithmetic.power),
}
_CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "e": math.e}
_ANY = 500
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Number]]] = {
    "sqrt": (1, arithmetic.square_root),
    "abs": (1, abs),
    "round": (2, arithmetic.round_half_up),
    "min": (_ANY, lambda *values: min(values)),
    "max": (_ANY, lambda *values: max(values)),
    "log": (2, arithmetic.logarithm),
    "ln": (1, arithmetic.natural_logarithm),
    "exp": (1, math.exp),
    "sin": (1, arithmetic.sine),
    "cos": (1, arithmetic.cosine),
    "tan": (1, arithmetic.tangent),
}


def calculate(expression: str) -> int | float | str:
    """The result, as a string if the number is large. Takes any text; raises ToolError."""
    try:
        return arithmetic.to_json(_Parser(expression).result())
    except OverflowError as error:
        raise arithmetic.too_large() from error


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int
    end: int

    @property
    def begins_operand(self) -> bool:
        return self.kind in {"number", "name"} or self.text == "("


class _Parser:
    """Computes while it parses, by operator precedence."""

    def __init__(self, expression: str) -> None:
        self._tokens = _tokens(expression)
        self._index = 0
        self._depth = 0

    def result(self) -> Number:
        value = self._expression(0)
        if self._next.kind != "end":
            raise self._unexpected()
        return value

    @property
    def _next(self) -> _Token:
        return self._tokens[self._index]

    def _advance(self) -> _Token:
        token = self._next
        self._index += 1
        return token

    def _expression(self, binding: int) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ToolError("limit_exceeded", f"Nested deeper than {MAX_DEPTH} levels.")
        value = self._operand()
        while self._next.text in _OPERATORS:
            operator = self._next.text
            strength, compute = _OPERATORS[operator]
            if operator == "%" and not self._is_modulo():
                self._advance()
                value = arithmetic.divide(value, Fraction(100))
                continue
            if strength <= binding:
                break
            self._advance()
            # powers group from the right: 2^3^2 is 2^9
            value = compute(value, self._expression(strength - (operator == "^")))
        self._depth -= 1
        return value

    def _is_modulo(self) -> bool:
        """Whether a `%` stands between two numbers. Before a sign, spaces tell: `7 % -3` is modulo, `7% - 3`
        and `7%-3` take 3 from 7 per cent."""
        before, percent, after, *rest = self._tokens[self._index - 1 :][:4]
        if after.text not in {"-", "+"}:
            return after.begins_operand
        (operand,) = rest
        is_apart = before.end < percent.position and percent.end < after.position
        return is_apart and after.end == operand.position and operand.begins_operand

    def _operand(self) -> Number:
        token = self._advance()
        if token.kind == "number":
            return arithmetic.number(token.text)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            value = self._expression(0)
            self._expect(")")
            return value
        if token.text in {"-", "+"}:
            value = self._expression(_NEGATION)
            return -value if token.text == "-" else value
        self._index -= 1
        raise self._unexpected()

    def _named(self, token: _Token) -> Number:
        name = token.text.lower()
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name not in _FUNCTIONS:
            known = ", ".join([*_FUNCTIONS, *_CONSTANTS])
            raise _invalid(f"Unknown name '{token.text[:40]}'. There are: {known}.")
        self._expect("(")
        values = [self._expression(0)]
        while self._next.text == ",":
            self._advance()
            values.append(self._expression(0))
        self._expect(")")
        most, compute = _FUNCTIONS[name]
        if len(values) > most:
            raise _invalid(f"{name} takes at most {most} value{'s' if most > 1 else ''}.")
        return compute(*values)

    def _expect(self, text: str) -> None:
        if self._next.text != text:
            raise self._unexpected()
        self._advance()

    def _unexpected(self) -> ToolError:
        token = self._next
        if token.kind == "end":
            return _invalid("The expression ends too early.")
        return _invalid(f"Unexpected '{token.text}' at position {token.position + 1}.")


def _tokens(expression: str) -> list[_Token]:
    tokens = []
    for match in _TOKEN.finditer(expression):
        kind = match.lastgroup or "end"
        text = match.group(kind)
        tokens.append(_Token(kind, _SPELLINGS.get(text, text), *match.span(kind)))
    return tokens


def _invalid(message: str) -> ToolError:
    return ToolError("invalid_expression", message)
