"""What a webhook says, and which answers of its receiver mean that it may be sent again."""

import pytest

from idea_explorer.domain.errors import (
    BlockedAddressError,
    ExternalError,
    HttpError,
    NetworkError,
    TimeSpentError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.webhook import WAITS, build_raw_url, is_final, is_temporary
from tests.fakes.explorations import an_exploration

DOCUMENT = "ideas/2026-04-22-grüße/research.md"
PAGE = "https://github.com/acme/ideas/blob/feature/x/ideas/2026-04-22-gr%C3%BC%C3%9Fe/research.md"
SHA = "1e045336c6c208f216b8e2b2cbb3036a6f4ab41f"
RAW = f"https://raw.githubusercontent.com/acme/ideas/{SHA}/ideas/2026-04-22-gr%C3%BC%C3%9Fe/research.md"


def test_a_document_on_github_is_read_at_its_commit() -> None:
    published = an_exploration(url=PAGE, document=DOCUMENT, commit=SHA, branch="feature/x")

    assert build_raw_url(published) == RAW


def test_without_a_commit_it_is_read_at_its_branch() -> None:
    published = an_exploration(url=PAGE, document=DOCUMENT, branch="feature/x")

    assert build_raw_url(published) == RAW.replace(SHA, "feature/x")


@pytest.mark.parametrize(
    "record",
    [
        {},  # stored only, or in a folder
        {"url": "https://git.acme.example/acme/ideas/blob/main/" + DOCUMENT, "document": DOCUMENT},
        {"url": "https://github.com/acme/shop/pull/7", "document": ""},
        {"url": "https://github.com/acme/ideas/pull/7", "document": DOCUMENT},
        {"url": "https://github.com.evil.example/acme/ideas/blob/main/x", "document": DOCUMENT},
    ],
)
def test_elsewhere_no_raw_address_is_known(record: dict[str, str]) -> None:
    elsewhere = an_exploration(commit=SHA, branch="main").replace(**record)

    assert build_raw_url(elsewhere) is None


@pytest.mark.parametrize("error", [NetworkError, UpstreamTimeoutError, TimeSpentError])
def test_one_that_cannot_be_reached_or_does_not_answer_may_later(
    error: type[ExternalError],
) -> None:
    assert is_temporary(error("It did not work."))


def test_a_blocked_address_and_one_that_is_gone_are_not_even_tried_twice() -> None:
    assert is_final(BlockedAddressError("no"))
    assert is_final(HttpError("gone", status=410))
    assert not is_final(HttpError("missing", status=404))
    assert not is_temporary(BlockedAddressError("no"))
    assert not is_temporary(HttpError("The server does not speak proper HTTP."))


def test_the_waits_are_minutes_then_hours_a_day_in_all() -> None:
    assert WAITS[:3] == (60, 120, 240)
    assert WAITS[-1] == 4 * 3_600
    assert 24 * 3_600 <= sum(WAITS) <= 25 * 3_600
