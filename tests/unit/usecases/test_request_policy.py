"""What a deployment asks of a request before it costs anything."""

import math
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.uploads import LocalUploads
from idea_explorer.domain.errors import InvalidRequestError, QuotaSpentError
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import MODELS, PRICES
from idea_explorer.usecases.request_policy import RequestPolicy

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


def terms(**changes: object) -> RequestPolicy:
    return RequestPolicy(model_ids=MODELS, prices=PRICES, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "least"),
    [
        ({}, (0.15, 0.2)),
        ({"model": "opus"}, (0.3, 0.4)),
        ({"model": "haiku"}, (0.01, 0.02)),
        ({"toolset": "discover"}, (0.1, 0.15)),  # it makes no web search
        ({"context": "x" * 50_000}, (0.22, 0.3)),
        ({"depth": "standard"}, (0.3, 0.4)),  # the plan comes first
        ({"depth": "deep"}, (1.0, 1.5)),  # four branches
    ],
)
def test_a_budget_too_small_to_look_anything_up_is_refused_with_the_least(
    fields: dict[str, str], least: tuple[float, float]
) -> None:
    def ask(usd: float) -> ExploreRequest:
        return ExploreRequest.model_validate({"idea": "Tea", "max_cost_usd": usd, **fields})

    with pytest.raises(InvalidRequestError) as caught:
        terms().check(ask(0.001), "ada", NOW)
    (told,) = caught.value.fields.values()
    named = re.fullmatch(
        r"must be at least (\d\.\d{3}) to look anything up and write a short report", told
    )
    assert named
    assert least[0] < float(named[1]) < least[1]
    with pytest.raises(InvalidRequestError):
        terms().check(ask(float(named[1]) - 0.001), "ada", NOW)
    terms().check(ask(float(named[1])), "ada", NOW)


def test_the_default_limit_is_held_to_the_same_rule() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        terms(max_cost_usd=0.1).check(ExploreRequest(idea="Tea"), "ada", NOW)
    assert caught.value.message.startswith("The default limit of $0.10 (IDEA_MAX_COST_USD) is too")
    assert "max_cost_usd" in caught.value.fields
    terms(max_cost_usd=0.1).check(ExploreRequest(idea="Tea", max_cost_usd=0.5), "ada", NOW)


@pytest.mark.parametrize("depth", ["quick", "standard", "deep"])
def test_the_documented_least_is_what_is_asked_for(depth: str) -> None:
    least = [
        terms().least_usd(
            ExploreRequest.model_validate({"idea": "Tea", "depth": depth, "model": m})
        )
        for m in ("sonnet", "opus")
    ]
    documented = (ROOT / "docs" / "settings.md").read_text("utf-8")
    sonnet, opus = (f"${math.ceil((usd or 0.0) * 1_000) / 1_000:.3f}" for usd in least)
    pattern = (
        f"{sonnet} (Opus: {opus})" if depth == "quick" else f"`{depth}` ({sonnet}, Opus: {opus})"
    )
    assert pattern in documented


def test_a_deep_deadline_without_room_for_branches_is_refused_with_the_least() -> None:
    policy = RequestPolicy()
    with pytest.raises(InvalidRequestError, match="must be at least 150 for the depth deep"):
        policy.check_request(ExploreRequest(idea="T", depth="deep", deadline_seconds=149), "o")
    policy.check_request(ExploreRequest(idea="T", depth="deep", deadline_seconds=150), "o")
    policy.check_request(ExploreRequest(idea="T", depth="standard", deadline_seconds=149), "o")


def test_a_model_without_a_price_has_no_least() -> None:
    RequestPolicy(model_ids=MODELS).check(
        ExploreRequest(idea="Tea", max_cost_usd=0.001), "ada", NOW
    )


def test_a_spent_day_refuses_its_owner_and_nobody_else(tmp_path: Path) -> None:
    spend = SqliteStore(tmp_path / "s.db")
    limited = terms(daily_cost_usd=1.0, spend=spend)
    spend.record("ada", NOW.date(), "run-1", 0.4)
    spend.record("ada", NOW.date(), "run-1", 0.4)
    assert limited.left_today("ada", NOW) == pytest.approx(0.6)
    spend.record("ada", NOW.date(), "run-2", 0.7)
    with pytest.raises(QuotaSpentError, match=r"\$1\.00 is spent"):
        limited.check(ExploreRequest(idea="Tea"), "ada", NOW)
    limited.check(ExploreRequest(idea="Tea"), "bob", NOW)


def test_files_are_for_the_assistant_and_must_be_there(tmp_path: Path) -> None:
    uploads = LocalUploads(tmp_path)
    mine = uploads.add("ada", "notes.md", b"x")
    checked = terms(uploads=uploads)
    checked.check(ExploreRequest(idea="Tea", toolset="assistant", files=(mine,)), "ada", NOW)
    for owner, request in (
        ("ada", ExploreRequest(idea="Tea", files=(mine,))),
        ("ada", ExploreRequest(idea="Tea", toolset="assistant", files=("file-1",))),
        ("eve", ExploreRequest(idea="Tea", toolset="assistant", files=(mine,))),
    ):
        with pytest.raises(InvalidRequestError) as refused:
            checked.check(request, owner, NOW)
        assert set(refused.value.fields) == {"files"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n", "is a PNG image;"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
    ],
)
def test_a_file_that_nothing_can_be_read_of_is_refused(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    uploads = LocalUploads(tmp_path)
    file = uploads.add("ada", "notes.txt", content)
    request = ExploreRequest(idea="Tea", toolset="assistant", files=(file,))
    with pytest.raises(InvalidRequestError) as refused:
        terms(uploads=uploads).check(request, "ada", NOW)
    assert refused.value.fields["files"].startswith(f"notes.txt {reason}")


@pytest.mark.parametrize(
    ("toolset", "fields", "told"),
    [
        ("assistant", {"mode": "nonsense"}, {"mode": "only the research toolset has modes"}),
        ("discover", {"mode": "exploration"}, {"mode": "only the research toolset has modes"}),
        (
            "code",
            {"if_exists": "reuse"},
            {"if_exists": "only the research toolset has something to reuse"},
        ),
        (
            "research",
            {"repository": "acme/tea", "ref": "main"},
            {
                "repository": "only the code toolset reads a repository",
                "ref": "only the code toolset reads a repository",
            },
        ),
        (
            "assistant",
            {"mode": "nonsense", "ref": "main", "if_exists": "reuse"},
            {
                "mode": "only the research toolset has modes",
                "if_exists": "only the research toolset has something to reuse",
                "ref": "only the code toolset reads a repository",
            },
        ),
        (
            "research",
            {"callback_secret": "hush", "ref": "main"},
            {
                "ref": "only the code toolset reads a repository",
                "callback_secret": "must come with 'webhook_url': it signs what is sent there",
            },
        ),
    ],
)
def test_a_field_that_would_change_nothing_is_refused(
    toolset: str, fields: dict[str, str], told: dict[str, str]
) -> None:
    request = ExploreRequest.model_validate({"idea": "Tea", "toolset": toolset, **fields})
    with pytest.raises(InvalidRequestError) as refused:
        terms(code_repositories=("acme/tea",)).check(request, "ada", NOW)
    assert refused.value.fields == told


@pytest.mark.parametrize(
    ("toolset", "fields"),
    [
        ("assistant", {"mode": "business", "if_exists": "run"}),
        ("research", {"mode": "exploration", "if_exists": "reuse"}),
        ("code", {"repository": "acme/tea", "ref": "main"}),
        ("code", {"webhook_url": "https://hooks.example", "callback_secret": "hush"}),
        ("code", {"webhook_url": "https://hooks.example"}),
    ],
)
def test_a_field_of_the_toolset_or_as_it_is_anyway_is_taken(
    toolset: str, fields: dict[str, str]
) -> None:
    request = ExploreRequest.model_validate({"idea": "Tea", "toolset": toolset, **fields})
    terms(code_repositories=("acme/tea",)).check(request, "ada", NOW)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "api.localhost", "LOCALHOST.", "[::1]", "10.1.2.3", "0x7f000001",
     "169.254.169.254:8443", "[::ffff:127.0.0.1]"],
)  # fmt: skip
def test_a_webhook_to_an_address_that_is_not_public_is_refused_without_a_look_up(host: str) -> None:
    request = ExploreRequest(idea="Tea", webhook_url=f"https://{host}/hook")

    with pytest.raises(InvalidRequestError) as caught:
        terms().check(request, "ada", NOW)
    assert caught.value.fields == {"webhook_url": "must be a public address"}


@pytest.mark.parametrize("who", ["ada:secret@", "ada@", "@"])
def test_a_webhook_with_credentials_is_refused_and_none_is_repeated(who: str) -> None:
    request = ExploreRequest(idea="Tea", webhook_url=f"https://{who}hooks.example/")

    with pytest.raises(
        InvalidRequestError, match="'webhook_url': must not contain a user name"
    ) as caught:
        terms().check(request, "ada", NOW)
    assert "ada" not in caught.value.sentence


@pytest.mark.parametrize("host", ["8.8.8.8", "hooks.example:8443", "[2606:4700:4700::1111]"])
def test_a_webhook_to_a_name_or_a_public_address_is_taken(host: str) -> None:
    terms().check(ExploreRequest(idea="Tea", webhook_url=f"https://{host}/hook"), "ada", NOW)
