"""Questions to the assistant, from the command line to the answer."""

import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.domain.request import ResumeRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.resume import resume
from idea_explorer.wiring import local
from idea_explorer.wiring.deps import local_deps
from tests.fakes import anthropic_faults as faults
from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    answer,
    citation,
    search_result,
    text,
    thinking,
    tool_use,
    web_search,
)
from tests.fakes.command import Done, idea, log_lines

ROOT = Path(__file__).parents[3]
Script = Sequence[Entry] | Callable[[Any, int], Turn]

REGULATIONS = "Research the health department regulations for selling food that is made at home."
COUNTY = "https://health.example.gov/cottage-food"
STATE = "https://agriculture.example.gov/labels"
USE_WEB_SEARCH = (
    "file_search requires 'query' parameter (non-empty search string)."
    " Note: Use web_search for internet research, not file_search."
)
CHECKLIST = {
    "Permits": "Register the kitchen with the county.",
    "Food categories": "Only foods that keep without cooling.",
    "Facility": "A kitchen without pets.",
    "Equipment and sanitation": "Hot water and a thermometer.",
    "Labelling": "Name the ingredients and allergens.",
    "Process controls": "Write down how each batch was heated.",
    "Inspection": "The county may visit once a year.",
    "Recordkeeping": "Keep batch records for two years.",
    "Renewal": "Renew every January.",
}


def ask(
    script: Script, folder: Path, *arguments: str, plain: bool = False
) -> tuple[Done, FakeAnthropic]:
    with FakeAnthropic(script, expected_key="test-key", force_json=plain) as server:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}
        done = idea("explore", "--toolset", "assistant", *arguments, env=env, folder=folder)
    assert server.violations == server.rejections == []
    return done, server


def results_of(request: Any) -> list[Any]:
    """What the tools said, as the model reads it: search results, or JSON."""
    blocks = request["messages"][-1]["content"]
    said = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [json.loads(content) if isinstance(content, str) else content for content in said]


def does_as_it_is_told(request: Any, _: int) -> Turn:
    """A model that takes the wrong tool first, and then the one that it is told to take."""
    if len(request["messages"]) == 1:
        return answer(tool_use("file_search", {}))
    (told,) = results_of(request)
    if "Use web_search for internet research" not in told["message"]:
        return answer(text("# No idea"))
    pages = [search_result(COUNTY, "Cottage food"), search_result(STATE, "Labels")]
    points = [
        (text(f"\n## {name}\n\n- [ ] "), text(rule, citations=[citation(source, "T", rule)]))
        for (name, rule), source in zip(CHECKLIST.items(), [COUNTY, STATE] * 5, strict=False)
    ]
    checklist = [block for point in points for block in point]
    return answer(
        web_search("county rules food made at home", pages), text("# Rules\n"), *checklist
    )


@pytest.mark.parametrize("plain", [False, True], ids=["sse", "json"])
def test_asked_for_regulations_it_is_sent_from_the_files_to_the_web(
    plain: bool, tmp_path: Path
) -> None:
    flags = [REGULATIONS, "--json", "--collect-tool-stats"]
    done, server = ask(does_as_it_is_told, tmp_path, *flags, plain=plain)
    assert done.returncode == 0, done.stderr
    (told,) = results_of(server.requests[1].body)
    assert (told["error_type"], told["message"]) == ("invalid_arguments", USE_WEB_SEARCH)
    outcome = json.loads(done.stdout)
    for name, rule in CHECKLIST.items():
        assert f"## {name}\n\n- [ ] {rule} [[" in outcome["content"]
    sources = outcome["content"].split("## Sources")[1]
    assert f"1. [Cottage food]({COUNTY})" in sources
    assert f"2. [Labels]({STATE})" in sources
    assert outcome["stats"]["citations"] == len(CHECKLIST)
    assert outcome["stats"]["unmatched_citations"] == 0
    assert outcome["stats"]["searches"] == 1
    made = [(call["name"], call.get("errorType")) for call in outcome["stats"]["tool_calls"]]
    assert made == [("file_search", "invalid_arguments"), ("web_search", None)]
    (refused,) = log_lines(done.stderr, "Tool argument validation failed")
    assert (refused["toolName"], refused["args"]) == ("file_search", {})


API_NOTES = "# Orders\n\nOur API endpoints are GET /orders and POST /orders.\n"
FOUND = [
    answer(tool_use("file_search", {"query": "API endpoints"})),
    answer(text("# Endpoints\n\nThere are two, says [api.md](api.md).")),
]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "api.md").write_text(API_NOTES)
    (folder / "team plan.txt").write_text("Holidays in August.")
    return folder


def test_asked_for_the_uploaded_documentation_it_finds_it(tmp_path: Path, notes: Path) -> None:
    files = [f for path in sorted(notes.iterdir()) for f in ("--file", f"docs/{path.name}")]
    question = "Search my uploaded documentation for API endpoints"
    done, server = ask(FOUND, tmp_path, question, *files, "--json")
    outcome = json.loads(done.stdout)
    first = server.requests[0].body["messages"][0]["content"][0]["text"]
    assert f"- api.md ({len(API_NOTES)} bytes)\n- team plan.txt (19 bytes)" in first
    ((found,),) = results_of(server.requests[1].body)
    assert (found["type"], found["source"]) == ("search_result", "api.md")
    assert "GET /orders and POST /orders" in found["content"][0]["text"]
    assert (outcome["status"], outcome["path"]) == ("completed", None)
    assert "says [api.md](api.md)." in outcome["content"]
    assert "unverified" not in outcome["content"]
    assert not (tmp_path / "ideas").exists()
    replayed = idea("replay", outcome["id"], env={}, folder=tmp_path)
    assert replayed.stdout.startswith("The same report (2 steps, 1 tool call")


def test_a_resumed_run_still_has_files_that_are_gone(tmp_path: Path, notes: Path) -> None:
    broken: list[Entry] = [
        answer(tool_use("calculator", {"expression": "1+1"})),
        faults.http_error(400),
        faults.http_error(400),
    ]
    with FakeAnthropic(broken) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        flags = ["--toolset", "assistant", "--file", "docs/api.md", "--json"]
        ended = json.loads(
            idea("explore", "Which endpoints?", *flags, env=env, folder=tmp_path).stdout
        )
    assert ended["status"] == "failed"
    (notes / "api.md").unlink()
    with FakeAnthropic(FOUND) as server:
        again = {**env, "ANTHROPIC_BASE_URL": server.url, "IDEA_RESEARCH_DIR": str(tmp_path)}
        settings = Settings.from_environment(again)
        deps = local_deps(settings, SilentLog())
        queued = resume(ended["id"], local.LOCAL_OWNER, ResumeRequest(), deps)
        done = explore(queued.id, queued.run.number, deps)
    ((found,),) = results_of(server.requests[1].body)
    assert "GET /orders" in found["content"][0]["text"]
    assert done.run.outcome == "completed"


def varied() -> list[Entry]:
    """Good calls, bad ones and unknown ones side by side, a search, and citations."""
    return [
        answer(
            thinking("Let me look."),
            text("Looking."),
            tool_use("file_search", {"query": "endpoints"}),
            tool_use("file_search", {"query": ""}),
            tool_use("calculator", {"expression": "1200 * (1 + 7.5%) ^ 3"}),
            tool_use("calculator", {"expression": ["1"]}),
            tool_use("http_fetch", {"url": "http://127.0.0.1/"}),
            tool_use("summon", {}),
        ),
        answer(
            web_search("orders", [search_result(COUNTY, "Orders")]),
            tool_use("calculator", {"expression": "2^100"}),
        ),
        answer(text("# Two\n\n"), text("So they say.", citations=[citation(COUNTY, "O", "say")])),
    ]


def test_streamed_and_plain_answers_give_the_same_result(tmp_path: Path) -> None:
    outcomes, sent = [], []
    for plain in (False, True):
        folder = tmp_path / str(plain)
        folder.mkdir()
        (folder / "api.md").write_text(API_NOTES)
        flags = [
            "Which endpoints has http://127.0.0.1/ ?",
            "--file",
            "api.md",
            "--json",
            "--collect-tool-stats",
        ]
        done, server = ask(varied(), folder, *flags, plain=plain)
        outcome = json.loads(done.stdout)
        outcome.pop("id")
        outcome["stats"].pop("step_durations")
        for call in outcome["stats"]["tool_calls"]:
            call.pop("durationMs")
        outcomes.append(outcome)
        sent.append([request.body for request in server.requests])
    assert outcomes[0] == outcomes[1]
    assert sent[0] == sent[1]
    errors = [call.get("errorType") for call in outcomes[0]["stats"]["tool_calls"]]
    assert errors == [
        None, "invalid_arguments", None, "invalid_arguments", "blocked_address", "unknown_tool",
        None, None,
    ]  # fmt: skip


def test_the_answer_itself_is_printed_with_its_summary(tmp_path: Path, notes: Path) -> None:
    done, _ = ask(FOUND, tmp_path, "Which endpoints?", "--file", "docs/api.md")
    report, _, summary = done.stdout.rpartition("\n\n")
    assert report.startswith("# Endpoints\n\nThere are two, says [api.md](api.md).\n\n## Sources")
    assert summary.startswith("completed\n2 steps ·")


def test_a_tool_is_run_by_hand_over_named_files(tmp_path: Path, notes: Path) -> None:
    tool = ["tool", "--toolset", "assistant"]
    found = idea(
        *tool,
        "--file",
        "docs/api.md",
        "file_search",
        '{"query": "orders"}',
        env={},
        folder=tmp_path,
    )
    assert json.loads(found.stdout)["results"][0]["file"] == "api.md"
    sum_ = idea(*tool, "calculator", '{"expression": "15% * 80"}', env={}, folder=tmp_path)
    assert json.loads(sum_.stdout) == {"ok": True, "expression": "15% * 80", "result": 12}
    search = idea(*tool, "web_search", '{"query": "x"}', env={}, folder=tmp_path)
    assert json.loads(search.stdout)["error_type"] == "invalid_arguments"
    none = idea(*tool, "file_search", '{"query": "x"}', env={}, folder=tmp_path)
    assert json.loads(none.stdout)["error_type"] == "no_files"
    assert [done.returncode for done in (found, sum_, search, none)] == [0, 0, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_its_tools_are_shown(tmp_path: Path) -> None:
    shown = idea("tools", "--toolset", "assistant", "--json", env={}, folder=tmp_path)
    names = [definition["name"] for definition in json.loads(shown.stdout)]
    assert names == ["web_search", "http_fetch", "file_search", "calculator"]


FILE_ERRORS: list[tuple[Sequence[str], str]] = [
    (["--toolset", "assistant", "--file", "missing.md"], "idea: missing.md is not a file."),
    (["--toolset", "assistant", "--file", "docs"], "idea: docs is not a file."),
    (["--toolset", "assistant", *["--file", "docs/api.md"] * 21],
     "idea: At most 20 files can be given."),
    (["--toolset", "assistant", "--file", "docs/api.md", "--file", "large.txt"],
     "idea: large.txt is larger than 20 MB."),
    (["--file", "docs/api.md"], "idea: --file: only the assistant toolset searches files."),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "says"), FILE_ERRORS)
@pytest.mark.parametrize("command", [["explore", "x"], ["tool", "file_search", "{}"]])
def test_files_that_cannot_be_given_are_one_sentence_and_nothing_is_kept(
    command: list[str], flags: list[str], says: str, tmp_path: Path, notes: Path
) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(20 * 1024 * 1024 + 1)
    done = idea(*command, *flags, env={}, folder=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (2, says)
    assert {path.name for path in tmp_path.iterdir()} == {"docs", "large.txt"}


def test_the_documented_question_about_a_file_is_answered(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8").replace("\\\n", " ")
    command = next(line for line in page.splitlines() if "--toolset assistant --file" in line)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    program, *arguments = shlex.split(command)
    assert program == "idea"
    done = idea(*arguments, env={}, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "No model was called" in done.stdout
    assert "[urban-agriculture-notes.md](urban-agriculture-notes.md)" in done.stdout
    assert "`310 * 3600` = 1116000" in done.stdout
    assert "What failed" not in done.stdout
