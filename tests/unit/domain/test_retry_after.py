"""How long a service asks to be left alone, in whatever form it says so."""

from datetime import UTC, datetime

import pytest

from idea_explorer.domain.retry import parse_quota_reset, parse_retry_after

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DATE = "Mon, 16 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("Mon, 16 Nov 2026 12:01:30 GMT", 90.0),
        ("Mon, 16 Nov 2026 13:01:30 +0100", 90.0),
        ("Monday, 16-Nov-26 12:01:30 GMT", 90.0),
        ("Mon Nov 16 12:01:30 2026", 90.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),  # it has passed
        ("31536000", 86_400.0),
        ("9" * 400, 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("٧", 7.0),
    ],
)
def test_seconds_and_dates_are_understood_and_nothing_else(
    value: str, seconds: float | None
) -> None:
    assert parse_retry_after({"retry-after": value}, NOW) == seconds


def test_a_date_is_measured_by_the_clock_of_whoever_gave_it() -> None:
    asked = {
        "retry-after": "Mon, 16 Nov 2026 15:01:00 GMT",
        "date": "Mon, 16 Nov 2026 15:00:00 GMT",
    }
    assert parse_retry_after(asked, NOW) == 60.0


def test_without_the_header_nothing_was_asked_for() -> None:
    assert parse_retry_after({}, NOW) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{NOW.timestamp() + 40:.0f}"}, 40.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{NOW.timestamp() - 40:.0f}"}, 1.0),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": f"{NOW.timestamp() + 40:.0f}"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "later"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({}, None),
    ],
)
def test_a_quota_that_is_used_up_starts_anew_at_its_time(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert parse_quota_reset({**headers, "date": DATE}, NOW) == seconds
