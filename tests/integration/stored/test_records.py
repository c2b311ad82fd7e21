"""What an earlier version stored, sent and logged is read by this one, with nothing lost.

The files in tests/fixtures/stored were written before the classes behind them changed. They are loaded here
as users and operators do: by the API, the command line and the deployed functions.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pydantic_core import to_json

from idea_explorer.cli.output import name_status
from idea_explorer.domain.transcript_json import parse_entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Usage, answer, text
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.github_server import FakeGitHub
from tests.fakes.in_process import Idea
from tests.fakes.reports import business
from tests.fakes.stored import (
    STORED,
    DeployedApi,
    EmbeddedApi,
    committed,
    leaves,
    restore_folder,
    rows,
)

Before: TypeAlias = EmbeddedApi | DeployedApi
IDEA = "A subscription box for urban beekeepers"
# Fields that have another name now, as {before: now}; the old one is still read.
RENAMED = {"run": "number", "go_on_usd": "min_resume_usd"}
NAMES = {
    "embedded": list(committed("explorations.json")),
    "deployment": list(committed("deployment.json")["explorations"]),
}
EVERY = [(kind, name) for kind, names in NAMES.items() for name in names]
RAN = [name for name in NAMES["embedded"] if name not in {"reused", "queued"}]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Before]]:
    """Both kinds of store, to be read only."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        with fake_aws() as settings:
            yield {
                "embedded": EmbeddedApi(tmp_path_factory.mktemp("api")),
                "deployment": DeployedApi(settings, monkeypatch),
            }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return restore_folder(tmp_path_factory.mktemp("research"))


@pytest.fixture
def idea(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Idea:
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "IDEA_API_URL", "TABLE_NAME"):
        monkeypatch.delenv(name, raising=False)
    return Idea(capsys)


def without_new_fields(details: dict[str, Any]) -> dict[str, Any]:
    """Depth and applied limit are newer than what is stored, where every exploration was as a quick one is
    now and a deployment's limit was $5. The model that was asked for stood there, also where none ran."""
    details["model"] = details["model"].replace("offline", "sonnet")
    assert details.pop("cost_limit_usd") in {details["max_cost_usd"], 5.0}
    depth = details.pop("depth")
    assert depth == ("quick" if details["toolset"] == "research" else None)
    return details


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_the_api_answers_as_it_did(stored: dict[str, Before], kind: str, name: str) -> None:
    before = stored[kind]
    own, expected = f"/explorations/{before.ids[name]}", before.answers[name]

    status, details = before.get(own)
    assert (status, without_new_fields(details)) == (200, expected["details"])
    status, approvals = before.get(f"{own}/approvals")
    for approval in approvals["approvals"]:  # newer than what is stored
        assert bool(approval.pop("approved_diff", "")) == approval["edited"]
    assert (status, approvals) == (200, expected["approvals"])
    history = {"events": before.stored_events(before.ids[name]), **expected["events"]}
    status, page = before.get(f"{own}/events")
    assert page.pop("retry_ms") > 0  # newer than what is stored
    assert (status, page) == (200, history)
    status, report = before.get(f"{own}/report", markdown=True)
    assert status == expected["report"]
    if status == 200:
        assert report == before.stored_report(before.ids[name])


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("wanted", ["", "status=partial", "mode=exploration", "toolset=code"])
def test_the_api_lists_them_newest_first_page_by_page(
    stored: dict[str, Before], kind: str, wanted: str
) -> None:
    before = stored[kind]
    field, _, value = wanted.partition("=")
    details = [
        given["details"]
        for name, given in before.answers.items()
        if name != "queue-message" and (not wanted or given["details"][field] == value)
    ]
    found, cursor = [], ""
    while True:
        _, page = before.get(f"/explorations?limit=7&{wanted}{cursor}")
        found += page["explorations"]
        if not page["cursor"]:
            break
        cursor = f"&cursor={page['cursor']}"

    assert len(found) == len(details) > 0
    created = [line["created_at"] for line in found]
    assert created == sorted(created, reverse=True)
    by_id = {shown["id"]: shown for shown in details}
    for line in found:
        line["model"] = line["model"].replace("offline", "sonnet")  # which was asked for
        assert line == {name: by_id[line["id"]][name] for name in line}


def assert_nothing_lost(before: object, now: object) -> None:
    kept = set(leaves(now))
    lost = set(leaves(before)) - kept
    assert {(RENAMED.get(name, name), value) for name, value in lost} <= kept


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_no_value_of_a_record_is_lost(stored: dict[str, Before], kind: str, name: str) -> None:
    before = stored[kind]
    exploration_id = before.ids[name]
    assert_nothing_lost(before.stored_record(exploration_id), before.record(exploration_id))


@pytest.mark.parametrize("name", RAN)
def test_a_stored_transcript_replays_to_the_stored_report_and_loses_no_value(
    folder: Path, idea: Idea, name: str, tmp_path: Path
) -> None:
    exploration_id = committed("explorations.json")[name]
    exported = tmp_path / "transcript.jsonl"
    at = ("--research", str(folder), "--export", str(exported), "--json")

    code, out, err = idea("replay", exploration_id, *at)

    replayed = json.loads(out)
    assert (code, replayed["same"], replayed["divergence"]) == (0, True, None), err
    report = rows("SELECT markdown FROM reports WHERE id = ?", exploration_id)
    if report:
        assert replayed["content"] == report[0][0]
    entries = [
        json.loads(data)
        for (data,) in rows("SELECT data FROM entries WHERE id = ? ORDER BY number", exploration_id)
    ]
    lines = exported.read_bytes().splitlines()
    written = [json.loads(to_json(parse_entry(line))) for line in lines]
    assert len(written) == len(entries) > 0
    for before, now in zip(entries, written, strict=True):
        assert_nothing_lost({**before, "kind": ""}, now)


def test_the_commands_read_them_on_this_machine(folder: Path, idea: Idea) -> None:
    ids, answers = committed("explorations.json"), committed("answers-embedded.json")
    at = ("--research", str(folder))

    assert idea("report", ids["completed"], *at)[1].rstrip("\n") == (
        rows("SELECT markdown FROM reports WHERE id = ?", ids["completed"])[0][0].rstrip("\n")
    )
    code, out, _ = idea("approve", ids["awaiting-approval"], "--list", "--json", *at)
    assert (code, json.loads(out)) == (0, answers["awaiting-approval"]["approvals"]["approvals"])
    code, _, err = idea("report", ids["timed-out"], *at)
    assert (code, "is timed out and has no report" in err) == (1, True)


def test_the_commands_read_them_at_a_server(
    stored: dict[str, Before], idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored["embedded"]
    assert isinstance(before, EmbeddedApi)
    with before.listening(monkeypatch):
        for name, expected in before.answers.items():
            code, out, _ = idea("status", before.ids[name], "--json")
            assert (code, without_new_fields(json.loads(out))) == (0, expected["details"])
            code, out, err = idea("status", before.ids[name])
            assert (code, err) == (0, "")
            assert name_status(expected["details"]["status"]) in out
        listed = json.loads(idea("list", "--limit", "100", "--json")[1])["explorations"]
        assert {line["id"] for line in listed} == set(before.ids.values())
        code, out, _ = idea("watch", before.ids["code-decided"], "--json")
        events = [json.loads(line)["type"] for line in out.splitlines() if '"type"' in line]
        assert code == 0
        assert {"approval_requested", "approval_decided", "message_end"} <= set(events)


REPORT = answer(
    text(business("Bees", verdict="PIVOT")), usage=Usage(input_tokens=1_000, output_tokens=500)
)
RESUMED: dict[str, Sequence[str]] = {
    "partial-budget": ("--max-cost-usd", "2"),
    "partial-deadline": (),
    "timed-out": ("--max-cost-usd", "2", "--max-steps", "2"),
    "failed-credit": (),
    "cancelled": ("--deadline-seconds", "60"),
    "awaiting-approval": (),
}


def said_before(request: Any) -> list[Any]:
    """The conversation up to the last answer and the results of its calls: what is ours to say next is
    not stored yet. Marks for the cache move on with each request."""
    messages = [
        {
            **m,
            "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]],
        }
        for m in request["messages"]
    ]
    answers = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    end = answers[-1] + 1 if answers else 0
    results = [b for m in messages[end:] for b in m["content"] if b["type"] == "tool_result"]
    if not answers:
        return messages[:1]
    return [*messages[:end], *([{"role": "user", "content": results}] if results else [])]


def resumed(name: str, tmp_path: Path, idea: Idea, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the model is sent first, and how the exploration stands then."""
    exploration_id = committed("explorations.json")[name]
    at = ("--research", str(restore_folder(tmp_path / "research")))
    with (
        FakeAnthropic([REPORT], repeat_last=True) as claude,
        FakeGitHub(tmp_path / "github", token="gh-token") as github,
    ):
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.url)
        if name == "awaiting-approval":
            github.create_repository("acme/tea", {"README.md": "# Tea room\n"})
            monkeypatch.setenv("GITHUB_TOKEN", "gh-token")
            monkeypatch.setenv("GITHUB_REPOSITORY", "acme/tea")
            monkeypatch.setenv("GITHUB_API_URL", github.url)
            assert idea("reject", exploration_id, "--reason", "Cold is fine.", *at)[0] == 0
        code, out, err = idea("resume", exploration_id, *RESUMED[name], *at, "--json")
    assert claude.violations == claude.rejections == [], err
    body, outcome = claude.requests[0].body, json.loads(out)
    opening = json.loads(
        rows("SELECT data FROM entries WHERE id = ? AND number = 0", exploration_id)[0][0]
    )
    assert [part["text"] for part in body["system"]] == [p["text"] for p in opening["system"]]
    assert [tool["name"] for tool in body["tools"]] == [tool["name"] for tool in opening["tools"]]
    assert (body["model"], body.get("thinking")) == (opening["model_id"], opening["thinking"])
    stats = {field: outcome["stats"][field] for field in ("steps", "cost_usd", "unconfirmed_usd")}
    return {
        "code": code, "id": outcome["id"], "status": outcome["status"], **stats,
        "messages": said_before(body),
    }  # fmt: skip


@pytest.mark.parametrize("name", RESUMED)
def test_a_resume_goes_on_from_what_was_said_and_spent(
    name: str, tmp_path: Path, idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resumed(name, tmp_path, idea, monkeypatch) == committed("conversations.json")[name]


def test_a_resume_knows_the_least_that_it_costs(
    tmp_path: Path, idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore_folder(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    exploration_id = committed("explorations.json")["partial-budget"]
    ((record,),) = rows("SELECT record FROM explorations WHERE id = ?", exploration_id)
    limit = ("--max-cost-usd", "0.11", "--research", str(tmp_path))

    code, _, err = idea("resume", exploration_id, *limit)

    stored = json.loads(record)
    spent = stored["stats"]["cost_usd"]
    least, known = (
        float(number) for number in re.findall(r"\d\.\d+", err.rpartition("must be")[2])
    )
    assert (code, known) == (2, round(spent, 3))
    assert least == pytest.approx(spent + stored["go_on_usd"], abs=0.001)


def test_a_run_that_was_killed_and_is_past_its_deadline_is_closed(
    tmp_path: Path, idea: Idea
) -> None:
    exploration_id = committed("explorations.json")["running-paused"]
    at = ("--research", str(restore_folder(tmp_path)), "--json")

    code, out, _ = idea("resume", exploration_id, *at)

    outcome = json.loads(out)
    assert (code, outcome["status"], outcome["error"]["code"]) == (3, "timed_out", "TIMEOUT")
    assert outcome["stats"]["steps"] == 1


def test_a_report_that_was_not_published_is_published_by_a_resume(
    tmp_path: Path, idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    exploration_id = committed("explorations.json")["failed-publish"]
    at = ("--research", str(restore_folder(tmp_path / "research")))
    with FakeGitHub(tmp_path / "github", token="gh-token") as github:
        repository = github.create_repository("acme/ideas", {"README.md": "# Ideas\n"})
        monkeypatch.setenv("GITHUB_TOKEN", "gh-token")
        monkeypatch.setenv("GITHUB_REPOSITORY", "acme/ideas")
        monkeypatch.setenv("GITHUB_API_URL", github.url)
        code, out, err = idea("resume", exploration_id, *at, "--json")
        assert code == 0, err
        document = repository.read_text(json.loads(out)["path"])

    report = rows("SELECT markdown FROM reports WHERE id = ?", exploration_id)[0][0]
    assert document.rstrip().endswith(report.rstrip())


def test_a_question_goes_on_from_a_stored_conversation(
    tmp_path: Path, idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore_folder(tmp_path)
    first = committed("explorations.json")["assistant-first"]
    with FakeAnthropic([answer(text("# Again\n\nStill 42."))]) as claude:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.url)
        flags = ("--toolset", "assistant", "--continue-from", first, "--research", str(tmp_path))
        code, _, err = idea("explore", "And now?", *flags, "--json")

    assert (code, claude.violations, claude.rejections) == (0, [], []), err
    opening = rows(
        "SELECT data FROM entries WHERE number = 0 AND id = ?",
        committed("explorations.json")["assistant-continued"],
    )
    assert said_before(claude.requests[0].body) == json.loads(opening[0][0])["turns"]


def test_research_is_updated_followed_and_reused_where_it_lies(tmp_path: Path, idea: Idea) -> None:
    restore_folder(tmp_path)
    at = ("--research", str(tmp_path), "--json")
    ids = committed("explorations.json")
    (document,) = STORED.glob("ideas/*/research.md")
    log = json.loads(document.with_name("exploration-log.json").read_text("utf-8"))
    own = tmp_path / "ideas" / document.parent.name

    code, out, _ = idea("explore", IDEA, "--if-exists", "reuse", *at)
    assert (code, json.loads(out)["path"]) == (0, str(own / "research.md"))
    code, out, err = idea("explore", IDEA, "--update", *at)
    assert (code, json.loads(out)["path"]) == (0, str(own / "research.md")), err

    now = (own / "research.md").read_text("utf-8")
    assert now.startswith(document.read_text("utf-8").rstrip("\n"))
    logged = json.loads((own / "exploration-log.json").read_text("utf-8"))
    assert logged[: len(log)] == log
    newer = {"verification", "depth"}
    assert [entry.keys() - newer for entry in logged[len(log) :]] == [log[-1].keys()]
    code, out, err = idea("explore", "And the roof?", "--continue-from", ids["completed"], *at)
    assert (code, json.loads(out)["status"]) == (0, "completed"), err
