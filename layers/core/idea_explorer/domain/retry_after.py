"""How long to wait before the next request, from the headers of a response."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_SECONDS = 86_400.0  # no caller waits longer
_SECONDS = re.compile(r"\d+(\.\d+)?")


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds in `Retry-After`, which may be a number or a date; None without it.

    A date is compared with the service's own clock if the response has a `Date`. Header names are in
    lower case.
    """
    asked = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return _clamp(float(asked))
    moment = _date(asked)
    return None if moment is None else _clamp((moment - _now(headers, now)).total_seconds())


def parse_quota_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds until an exhausted quota resets, by `x-ratelimit-…`; None if it is not exhausted."""
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining", "").strip() != "0" or not _SECONDS.fullmatch(reset):
        return None
    return max(1.0, _clamp(float(reset) - _now(headers, now).timestamp()))


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_SECONDS) if math.isfinite(seconds) else LONGEST_SECONDS


def _now(headers: Mapping[str, str], now: datetime) -> datetime:
    return _date(headers.get("date", "")) or now


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # a date with the zone "-0000" is parsed without a zone, and means UTC
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
