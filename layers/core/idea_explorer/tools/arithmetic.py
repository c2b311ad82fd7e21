"""Arithmetic as people expect it: exact where possible, and bounded.

Decimal fractions, percentages and large integers are exact (0.1 + 0.2 is 0.3); roots, logarithms and
the like are floating point. The size of a result is checked before it is computed. Operations raise
ToolError, or OverflowError beyond floating point, which means the same as `too_large`.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from idea_explorer.domain.errors import ToolError

Number: TypeAlias = Fraction | float

MAX_BITS = 3_400  # about a thousand digits; larger numbers are of no use and take time
MAX_EXPONENT = 1_000  # of a number written as 1e1000
MAX_PLACES = 100
EXACT_INTEGERS = 2**53  # JSON readers lose digits of larger numbers
_ONE_HALF = Fraction(1, 2)


def too_large() -> ToolError:
    return ToolError("limit_exceeded", "The numbers grow too large.")


def math_error(message: str) -> ToolError:
    return ToolError("math_error", message)


def number(literal: str) -> Number:
    mantissa, _, exponent = literal.lower().partition("e")
    if abs(int(exponent or 0)) > MAX_EXPONENT:
        raise too_large()
    return bounded(Fraction(Decimal(mantissa)) * Fraction(10) ** int(exponent or 0))


def bounded(value: Number) -> Number:
    """The value if it is small enough; a fraction with too many digits becomes a float."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise too_large()
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS:
        return value
    if value.denominator == 1:
        raise too_large()
    return float(value)


def divide(left: Number, right: Number) -> Number:
    if right == 0:
        raise math_error("Division by zero.")
    return bounded(left / right)


def modulo(left: Number, right: Number) -> Number:
    """Takes the sign of the divisor: -7 modulo 3 is 2."""
    if right == 0:
        raise math_error("Modulo by zero.")
    return bounded(left % right)


def power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise math_error("Division by zero.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _whole_power(base, exponent.numerator)
        if (root := _exact_root(base, exponent.denominator)) is not None:
            return _whole_power(root, exponent.numerator)
    if base < 0 and exponent != int(exponent):
        raise math_error("A negative number has no real power of a fraction.")
    return bounded(float(base) ** float(exponent))


def square_root(value: Number) -> Number:
    if value < 0:
        raise math_error("A negative number has no real square root.")
    return power(value, _ONE_HALF)


def round_half_up(value: Number, places: Number = Fraction(0)) -> Number:
    """Halves are rounded away from zero, as taught at school."""
    if places != int(places) or not -MAX_PLACES <= places <= MAX_PLACES:
        raise math_error(f"round takes a whole number of places, at most {MAX_PLACES}.")
    scale = Fraction(10) ** int(places)
    # a float is rounded as the decimal that is shown for it
    exact = Fraction(repr(value)) if isinstance(value, float) else value
    nearest = math.floor(abs(exact) * scale + _ONE_HALF) / scale
    return bounded(-nearest if exact < 0 else nearest)


def logarithm(value: Number, base: Number = Fraction(10)) -> Number:
    if value <= 0 or base <= 0 or (divisor := _log(math.log10, base)) == 0:
        raise math_error("A logarithm needs a positive number and a positive base other than 1.")
    result = _log(math.log10, value) / divisor
    if abs(result) <= MAX_BITS and power(base, Fraction(round(result))) == value:
        return Fraction(round(result))
    return bounded(result)


def natural_logarithm(value: Number) -> Number:
    if value <= 0:
        raise math_error("A logarithm needs a positive number.")
    return _log(math.log, value)


def sine(value: Number) -> Number:
    return _wave(math.sin, value)


def cosine(value: Number) -> Number:
    return _wave(math.cos, value)


def tangent(value: Number) -> Number:
    if cosine(value) == 0:
        raise math_error("The tangent is not defined there.")
    return _wave(math.tan, value)


def to_json(value: Number) -> int | float | str:
    """As JSON: a number if JSON readers keep all its digits, else a string."""
    if value == int(value):
        whole = int(value)
        if abs(whole) <= EXACT_INTEGERS:
            return whole
        return repr(value) if isinstance(value, float) else str(whole)
    if isinstance(value, float) or (abs(value) < EXACT_INTEGERS and float(value) != 0):
        return float(value)
    digits = Context(prec=len(str(abs(int(value)))) + 16)
    return str(digits.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _whole_power(base: Fraction, exponent: int) -> Number:
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if (size - 1) * abs(exponent) <= MAX_BITS:
        return bounded(base**exponent)
    if base.denominator == 1 and exponent > 0:
        raise too_large()
    return bounded(float(base) ** exponent)


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    """64^(1/3) is 4, which floating point misses."""
    numerator = _whole_root(value.numerator, degree)
    denominator = _whole_root(value.denominator, degree)
    if numerator is None or denominator is None:
        return None
    return Fraction(numerator, denominator)


def _whole_root(value: int, degree: int) -> int | None:
    if value < 0:
        return None
    root = math.isqrt(value) if degree == 2 else round(value ** (1 / degree))
    return root if root**degree == value else None


def _log(function: Callable[[float], float], value: Number) -> float:
    """Of a number of any size: if no float holds it, from its numerator and denominator."""
    if 1e-300 < value < 1e300:
        return function(float(value))
    exact = Fraction(value)
    return function(exact.numerator) - function(exact.denominator)


def _wave(function: Callable[[float], float], value: Number) -> float:
    """Without floating-point noise near round numbers: sin(pi/6) is 0.5."""
    angle = float(value)
    result = function(angle)
    nearest = round(result, 10)
    noise = min(4e-16 * abs(angle), 1e-9)
    return nearest if abs(result - nearest) <= noise else result
