"""How a sheet shows a number: as a date, a time, a duration or a percentage."""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from idea_explorer.domain.dataclass import dataclass

# The built-in formats (ECMA-376, part 1, 18.8.30) that matter here; others are given by their codes.
BUILT_IN = {
    **dict.fromkeys((*range(14, 18), 22, *range(27, 37), *range(50, 59)), "yyyy-mm-dd"),
    9: "0%",
    10: "0.00%",
    18: "h:mm",
    19: "h:mm:ss",
    20: "h:mm",
    21: "h:mm:ss",
    32: "h:mm",
    33: "h:mm:ss",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss",
}
EPOCHS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001  sheets know no zone
LAST_DAY = 2_958_465  # 9999-12-31
MAX_CODE = 300
MAX_PERCENTAGE = 1e12
MAX_DECIMALS = 10
UNITS = {"h": 3_600, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True)
class CellFormat:
    """`units` are the hours, minutes and seconds of a time or duration, of which the first is `total` if it
    goes on after 24 or 60."""

    decimals: int | None = None  # of a percentage
    units: str = ""
    total: bool = False

    def show(self, value: str, *, uses_1904: bool) -> str:
        try:
            number = float(value)
        except ValueError:
            return value
        if self.decimals is not None:
            return self._show_percentage(number, value)
        if not abs(number) <= LAST_DAY or (number < 0 and not self.total):
            return value
        return self._show_time(number) if self.units else _show_date(number, EPOCHS[uses_1904])

    def _show_percentage(self, number: float, value: str) -> str:
        if not abs(number) < MAX_PERCENTAGE:
            return value
        step = Decimal(1).scaleb(-(self.decimals or 0))
        return f"{(Decimal(repr(number)) * 100).quantize(step, ROUND_HALF_UP):f}%"

    def _show_time(self, days: float) -> str:
        left = round(abs(days) * 86_400)
        if not self.total:  # the unit above the first is not shown
            left %= 86_400 if self.units[0] == "h" else 60 * UNITS[self.units[0]]
        shown: list[str] = []
        for unit in self.units:
            count, left = divmod(left, UNITS[unit])
            shown.append(f"{count}" if self.total and not shown else f"{count:02}")
        return ("-" if days < 0 else "") + ":".join(shown)


def _show_date(days: float, epoch: datetime) -> str:
    moment = epoch + timedelta(seconds=round(days * 86_400))
    if days < 1:
        return moment.time().isoformat("minutes")
    return moment.isoformat(" ", "minutes") if days % 1 else moment.date().isoformat()


def read_format(code: str) -> CellFormat | None:
    """None for a format that shows a number as what it is. Of several sections the first counts, which is the
    one for positive numbers."""
    plain, in_brackets = _split_section(code[:MAX_CODE].lower())
    if "general" in plain:
        return None
    if "%" in plain:
        after = plain.partition(".")[2]
        return CellFormat(decimals=min(sum(after.count(sign) for sign in "0#?"), MAX_DECIMALS))
    total = next((each[0] for each in in_brackets if each and {*each} in ({"h"}, {"m"}, {"s"})), "")
    signs = {*plain.replace("am/pm", "").replace("a/p", "")}
    units = "".join(unit for unit in UNITS if unit in signs or unit == total)
    if total:
        return CellFormat(units=units[units.index(total) :], total=True)
    if signs & {*"dy"} or units == "m":
        return CellFormat()
    # hours and seconds alone would leave a gap
    return CellFormat(units="hms" if units == "hs" else units) if units else None


def _split_section(code: str) -> tuple[str, list[str]]:
    """The signs of the first section that are neither quoted nor in brackets, and what is in brackets."""
    plain: list[str] = []
    in_brackets: list[str] = []
    quoted = ""
    signs = iter(code)
    for sign in signs:
        if quoted:
            if sign == quoted:
                quoted = ""
            elif quoted == "]":
                in_brackets[-1] += sign
        elif sign == '"':
            quoted = '"'
        elif sign == "[":
            quoted = "]"
            in_brackets.append("")
        elif sign in "\\_*":
            next(signs, "")  # shown as it is, left as space, or repeated
        elif sign == ";":
            break
        else:
            plain.append(sign)
    return "".join(plain), in_brackets
