"""Arithmetic that a sentence shows: `3,120 cafés × €600 = €1.9m`.

A result follows from its operands; the operands have to be in a passage, follow from one by a step that
everybody takes (a year of months, the rest to 100 %), or be called an assumption.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice, pairwise

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold
from idea_explorer.domain.verification.numbers import Number, is_near, round_step

MAX_BETWEEN = 60  # characters between two operands: `3,120 cafés in eleven countries × €600`
MAX_OPERANDS = 8
MAX_CHAINS = 4  # of operands in one sentence
MAX_COMBINED = 40  # numbers of a passage of which pairs are tried
ROUNDING = Decimal("0.01")
PERIODS = frozenset(map(Decimal, (7, 12, 24, 52, 60, 365)))  # days, months, hours, weeks, minutes
_OPERATOR = lazy_pattern(r"[×✕·÷+−]|(?<=\s)x(?=\s)")
_BORDER = lazy_pattern(r"[|=≈→;]")  # of a cell, and of what is computed
_ESTIMATE = (
    "assum", "estimat", "guess", "annahme", "angenommen", "schatz", "geschatz", "hypoth", "suppos",
    "estimac", "supuest", "ipotes", "stima",
)  # fmt: skip
_YEARLY = frozenset("year yearly annual annually annum jahr jahrlich an annee ano anno".split())


def find_derived(text: str, stated: Sequence[Number], found: Sequence[Number]) -> list[Number]:
    """The numbers of a sentence that it derives, and the operands that need no passage."""
    derived: list[Number] = []
    is_yearly = _is_yearly(text)
    chains = _find_chains(text, sorted(stated, key=lambda number: number.start))
    for chain, operators in islice(chains, MAX_CHAINS):
        results = {*_results(chain, operators, is_yearly=is_yearly)}
        derived += [
            number
            for number in stated
            if number not in chain and any(_rounds(number, result) for result in results)
        ]
        derived += [
            operand
            for operand in chain
            if _is_assumed(operand, text) or _is_one_step_away(operand, found, is_yearly=is_yearly)
        ]
    return derived


def is_estimate(text: str) -> bool:
    """Whether a text calls what it says an assumption or estimate."""
    return any(word.strip("(*_").startswith(_ESTIMATE) for word in fold(text).split())


def _find_chains(text: str, numbers: Sequence[Number]) -> Iterator[tuple[list[Number], list[str]]]:
    """Numbers with nothing but a few words and an operator between them."""
    chain: list[Number] = []
    operators: list[str] = []
    for first, second in pairwise(numbers):
        sign = _operator_between(text, first.end, second.start)
        if sign and len(chain) < MAX_OPERANDS:
            chain = chain or [first]
            chain.append(second)
            operators.append(sign)
        elif chain:
            yield chain, operators
            chain, operators = [], []
    if chain:
        yield chain, operators


def _operator_between(text: str, start: int, end: int) -> str:
    between = text[start:end]
    if len(between) > MAX_BETWEEN or _BORDER.search(between):
        return ""
    signs = _OPERATOR.findall(between)
    return signs[0] if len(signs) == 1 else ""


def _results(
    chain: Sequence[Number], operators: Sequence[str], *, is_yearly: bool
) -> Iterator[Decimal]:
    """What the operands give; for a sentence about a year, twelve times as much too."""
    total, product, sign = Decimal(0), _factor(chain[0]), 1
    for operator, operand in zip(operators, chain[1:], strict=True):
        if operator in "+−":
            total, product = total + sign * product, _factor(operand)
            sign = 1 if operator == "+" else -1
        elif operator != "÷":
            product *= _factor(operand)
        elif operand.value:
            product /= _factor(operand)
    value = total + sign * product
    yield from (value, 100 * value)  # as a number and in per cent
    if is_yearly:
        yield 12 * value


def _factor(number: Number) -> Decimal:
    return number.value / 100 if number.unit == "%" else number.value


def _rounds(number: Number, result: Decimal) -> bool:
    """Round numbers are often rounded ones: 90,720 is given as 90,000."""
    off = abs(result - number.value)
    return is_near(number, result) or off <= min(
        round_step(number.value) / 2, number.value * ROUNDING
    )


def _is_assumed(operand: Number, text: str) -> bool:
    """The words next to an operand, or the last cell of its row, say so."""
    before = _OPERATOR.split(_BORDER.split(text[: operand.start])[-1])[-1]
    after = _OPERATOR.split(_BORDER.split(text[operand.end :])[0])[0]
    basis = text.rstrip(" |").rpartition("|")[2] if text.startswith("|") else ""
    return is_estimate(f"{before} {after} {basis}")


def _is_one_step_away(operand: Number, found: Sequence[Number], *, is_yearly: bool) -> bool:
    if operand.value in PERIODS and not operand.unit:
        return True
    alike = [n for n in found if not n.unit or n.unit == operand.unit][:MAX_COMBINED]
    steps = [number.value * 12 for number in alike if is_yearly]
    steps += [(first.value + second.value) / 2 for first, second in pairwise(alike)]  # of a range
    steps += [100 - number.value for number in found if number.unit == operand.unit == "%"]
    shares = [number for number in found if number.unit == "%"][:MAX_COMBINED]
    steps += [_factor(share) * number.value for share in shares for number in alike]
    return any(_rounds(operand, step) for step in steps)


def _is_yearly(text: str) -> bool:
    return any(word.strip("().,;/|") in _YEARLY for word in fold(text).split())
