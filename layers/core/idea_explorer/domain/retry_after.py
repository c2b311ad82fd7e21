"""How long a service asks to be left alone, from the headers of its answer."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_SECONDS = 86_400.0  # nobody here waits longer, whatever a header says
_SECONDS = re.compile(r"\d+(\.\d+)?")


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that `Retry-After` asks for, which is a number of them or a date; None without it.

    A date is measured by the service's own clock where the answer tells it. Names are in lower case.
    """
    asked = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return _bounded(float(asked))
    moment = _date(asked)
    return None if moment is None else _bounded((moment - _now(headers, now)).total_seconds())


def parse_quota_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds until a used-up quota starts anew, by `x-ratelimit-…`; None where it is not used up."""
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining", "").strip() != "0" or not _SECONDS.fullmatch(reset):
        return None
    return max(1.0, _bounded(float(reset) - _now(headers, now).timestamp()))


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_SECONDS) if math.isfinite(seconds) else LONGEST_SECONDS


def _now(headers: Mapping[str, str], now: datetime) -> datetime:
    return _date(headers.get("date", "")) or now


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # a date "-0000" comes without a zone, and means UTC
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
