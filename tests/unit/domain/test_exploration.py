"""Requests, ids, slugs, transitions, prices and reports: the rules that need nothing from outside."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from idea_explorer.domain.deadline import write_reserve
from idea_explorer.domain.documents import render_document
from idea_explorer.domain.errors import InvalidRequestError, InvalidTransitionError
from idea_explorer.domain.exploration import NEXT, Exploration
from idea_explorer.domain.ids import id_for_day, id_from_key, is_id, new_id
from idea_explorer.domain.publication import append_log_entry, new_folder
from idea_explorer.domain.report_text import find_title, find_verdict, strip_preamble
from idea_explorer.domain.request import ExploreRequest, invalid_request
from idea_explorer.domain.run import Status
from idea_explorer.domain.text import slug
from idea_explorer.domain.usage import ModelUsage, Usage, compute_cost
from idea_explorer.settings import PRICES

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def exploration(idea: str = "Tea", status: Status = "queued") -> Exploration:
    new = Exploration.new(ExploreRequest(idea=idea), "o", at=NOW)
    return new.replace(status=status)


def parse_request(body: str) -> ExploreRequest:
    try:
        return ExploreRequest.model_validate_json(body)
    except ValidationError as error:
        raise invalid_request(error) from error


def test_the_defaults_are_those_of_the_contract() -> None:
    request = parse_request('{"idea": "  Tea \\ufeff"}')
    assert (request.idea, request.toolset, request.mode, request.model) == (
        "Tea", "research", "business", "sonnet",
    )  # fmt: skip
    assert (request.seconds, request.steps, request.if_exists) == (120, 5, "run")
    assert parse_request('{"idea": "x", "toolset": "code"}').steps == 10


BAD = [
    ("[]", ""),
    ("{}", "idea"),
    ('{"idea": 7}', "idea"),
    ('{"idea": "x", "nope": 1}', "nope"),
    ('{"idea": "x", "toolset": "magic"}', "toolset"),
    ('{"idea": "x", "deadline_seconds": 841}', "deadline_seconds"),
    ('{"idea": "x", "deadline_seconds": "120"}', "deadline_seconds"),
    ('{"idea": "x", "max_steps": 0}', "max_steps"),
    ('{"idea": "x", "max_steps": true}', "max_steps"),
    ('{"idea": "x", "max_cost_usd": 0}', "max_cost_usd"),
    ('{"idea": "x", "continue_from": "../../etc"}', "continue_from"),
    ('{"idea": "x", "repository": "no-slash"}', "repository"),
    ('{"idea": "x", "ref": "--upload-pack"}', "ref"),
    ('{"idea": "\\ud800"}', ""),
    ('{"idea": "x", "files": ["' + '", "'.join("abcdefghijklmnopqrstu") + '"]}', "files"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
def test_a_bad_request_names_its_field_and_echoes_nothing(body: str, field: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_request(body)
    assert list(caught.value.fields) == [field]


def test_a_secret_is_not_in_the_repr() -> None:
    assert "hush" not in repr(ExploreRequest(idea="x", callback_secret="hush"))


@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_slug_is_a_short_safe_folder_name(idea: str) -> None:
    name = slug(idea)
    assert 1 <= len(name) <= 50
    assert name == slug(idea)
    assert all(c.isascii() and (c.isalnum() or c == "-") for c in name)
    assert not name.startswith("-")


def test_ids_sort_by_time_and_look_like_ids() -> None:
    ids = [new_id(ms) for ms in (1, 2, 1_763_000_000_000)]
    assert ids == sorted(ids)
    assert all(is_id(i) for i in ids)
    assert new_id(5) != new_id(5)
    assert is_id(id_from_key("queue", "k"))
    assert id_from_key("queue", "k") == id_from_key("queue", "k") != id_from_key("other", "k")


def test_an_id_for_a_key_and_a_day_sorts_by_the_day() -> None:
    days = [date(2026, 5, 1), date(2026, 5, 2), date(2026, 5, 3)]
    ids = [id_for_day("ada", "k", day) for day in days]

    assert all(is_id(known) for known in ids)
    assert sorted(ids) == ids == [id_for_day("ada", "k", day) for day in days]
    assert len({*ids, id_for_day("bob", "k", days[0]), id_for_day("ada", "l", days[0])}) == 5
    noon = int(datetime(2026, 5, 2, 12, tzinfo=UTC).timestamp() * 1_000)
    assert ids[1] < new_id(noon) < ids[2]
    assert not is_id("../etc/passwd")


def test_only_legal_transitions_are_possible() -> None:
    for status, allowed in NEXT.items():
        for to in NEXT:
            subject = exploration(status=status)
            if to in allowed:
                assert subject.moved(to, at=NOW).status == to
            else:
                with pytest.raises(InvalidTransitionError):
                    subject.moved(to, at=NOW)


def test_an_unknown_price_is_unknown() -> None:
    known = ModelUsage(model_id="claude-sonnet-5-5", usage=Usage(input_tokens=1_000_000))
    cheap = ModelUsage(model_id="claude-haiku-5-5", usage=Usage(output_tokens=1_000_000))
    unknown = ModelUsage(model_id="mystery", usage=Usage(input_tokens=1))
    assert compute_cost([known, cheap], PRICES) == 2.5
    assert compute_cost([known, unknown], PRICES) is None


@pytest.mark.parametrize(
    ("deadline", "reserve"), [(60, 36), (75, 45), (120, 48), (840, 336), (10, 6)]
)
def test_the_reserve_for_writing(deadline: float, reserve: float) -> None:
    assert write_reserve(deadline) == pytest.approx(reserve)


def test_the_verdict_is_read_from_its_own_section() -> None:
    text = (
        "# T\n\nThe earlier verdict was PASS.\n\n## Verdict\n\n**Verdict: STRONG YES**\n\nNot PASS."
    )
    assert find_verdict(text) == "STRONG YES"
    assert find_verdict("# T\n\nPASS") is None
    assert find_title(text, "idea") == "T"
    assert strip_preamble("Sure!\n\n## A\nb") == "## A\nb"


def test_a_document_cannot_break_out_of_its_front_matter() -> None:
    text = render_document(exploration("x\n---\nstatus: hacked"), "# R")
    head = text.split("\n---\n")[0]
    assert "\nstatus: hacked" not in head
    assert text.endswith("\n---\n\n# R\n")


def test_the_same_idea_on_the_same_day_gets_a_folder_of_its_own() -> None:
    subject = exploration("Tea room")
    first = new_folder(subject, set())
    second = new_folder(subject, {first.name})
    assert (first.name, second.name) == ("2026-11-16-tea-room", "2026-11-16-tea-room-2")


def test_the_log_has_one_entry_per_run() -> None:
    subject = exploration()
    once = append_log_entry(None, subject, "p", NOW, sha256="")
    assert append_log_entry(once, subject, "p", NOW, sha256="") == once
    assert append_log_entry(once, exploration(), "p", NOW, sha256="").count("jobId") == 2
