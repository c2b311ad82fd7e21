"""`idea explore` as a program, against servers that speak Anthropic's and GitHub's APIs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.fakes import anthropic_faults as faults
from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    answer,
    citation,
    pending_web_search,
    search_result,
    text,
    tool_use,
    web_search,
    web_search_result,
)
from tests.fakes.anthropic_wire import tools_are_off
from tests.fakes.command import Done, idea, log_lines
from tests.fakes.github_server import FakeGitHub
from tests.fakes.reports import business

REPORT = text(business("Urban bees", verdict="CONDITIONAL YES"))
RESEARCH = {
    "ideas/2026-01-05-bees/research.md": "# Bees\n\nHives in towns do well.",
    "ideas/market/honey.md": "# Honey\n\nHoney sells.",
}


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path / "github", token="gh-token") as server:
        server.create_repository("acme/ideas", RESEARCH)
        yield server


def run(
    script: Sequence[Entry], tmp_path: Path, *flags: str, github: FakeGitHub | None = None
) -> tuple[Done, FakeAnthropic]:
    env = {"ANTHROPIC_API_KEY": "test-key"}
    if github:
        env |= {
            "GITHUB_TOKEN": "gh-token",
            "GITHUB_REPOSITORY": "acme/ideas",
            "GITHUB_API_URL": github.url,
        }
    with FakeAnthropic(script, expected_key="test-key") as server:
        env["ANTHROPIC_BASE_URL"] = server.url
        done = idea("explore", "Bees in towns", *flags, env=env, folder=tmp_path)
    assert server.violations == []
    assert server.rejections == []
    return done, server


def test_the_whole_loop_over_the_wire(tmp_path: Path, github: FakeGitHub) -> None:
    script = [
        answer(
            text("Looking."),
            tool_use("read_research", {"path": "market/honey.md"}),
            tool_use("read_research", {"path": "../secrets"}),
            tool_use("read_research", {}),
            tool_use("summon", {"what": "bees"}),
            tool_use("list_research", {}),
        ),
        answer(pending_web_search("bee market"), stop_reason="pause_turn"),
        answer(
            web_search_result([search_result("https://example.org/bees", "Bees")]),
            tool_use("search_research", {"query": "hives"}),
        ),
        answer(tool_use("read_research", {"path": "2026-01-05-bees/research.md"})),
        answer(REPORT),
    ]
    done, server = run(script, tmp_path, "--json", "--collect-tool-stats", github=github)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert set(outcome) == {"id", "status", "content", "path", "stats", "error"}
    assert outcome["status"] == "completed"
    assert outcome["content"].startswith("# Urban bees")
    assert outcome["stats"]["steps"] == 5
    assert not any(tools_are_off(r.body) for r in server.requests)
    last = server.requests[-1].body["messages"]
    assert last[-1] == {"role": "system", "content": [], "output_config": {"effort": "low"}}
    assert "this is the last step" in last[-2]["content"][-1]["text"]
    names = [(c["name"], c["ok"], c.get("errorType")) for c in outcome["stats"]["tool_calls"]]
    assert names == [
        ("read_research", True, None),
        ("read_research", False, "path_validation"),
        ("read_research", False, "invalid_arguments"),
        ("summon", False, "unknown_tool"),
        ("list_research", True, None),
        ("web_search", True, None),
        ("search_research", True, None),
        ("read_research", True, None),
    ]
    logged = log_lines(done.stderr, "tool_call")
    assert all({"name", "durationMs", "ok", "explorationId"} <= set(c) for c in logged)
    steps = [(c["step"], c["name"]) for c in logged]
    assert sorted(steps[:5]) == [
        (1, "list_research"),
        *[(1, "read_research")] * 3,
        (1, "summon"),
    ]
    assert steps[5:] == [(3, "web_search"), (3, "search_research"), (4, "read_research")]
    (finished,) = log_lines(done.stderr, "exploration_finished")
    assert (finished["steps"], finished["status"]) == (5, "completed")
    assert finished["tools"]["read_research"] == 4
    assert finished["tools"]["unknown"] == 1  # a made-up name is not repeated
    assert "test-key" not in done.stderr + done.stdout
    assert "gh-token" not in done.stderr + done.stdout


def test_a_run_that_searches_the_web_cites_what_it_found(tmp_path: Path) -> None:
    found = search_result("https://example.org/bees", "Bees")
    cited = text(
        "\n\nBees pay.", citations=[citation("https://example.org/bees", "Bees", "Bees pay")]
    )
    script = [answer(web_search("bee market", [found]), text(business("Bees")), cited)]
    done, server = run(script, tmp_path, "--json")
    outcome = json.loads(done.stdout)
    assert "https://example.org/bees" in outcome["content"]
    assert outcome["stats"]["searches"] == 1
    assert server.requests[0].body["tools"][0]["type"] == "web_search_20260318"
    assert [t["name"] for t in server.requests[0].body["tools"]] == ["web_search", "web_fetch"]
    assert "tool_calls" not in outcome["stats"]


def test_the_report_stands_in_the_folder_with_front_matter_and_log(tmp_path: Path) -> None:
    done, _ = run([answer(REPORT)], tmp_path, "--context", "We have a roof.")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "ideas").iterdir()
    document = (folder / "research.md").read_text("utf-8")
    assert document.startswith("---\nidea: Bees in towns\nmode: business\nmodel: sonnet\n")
    assert "# Urban bees" in document
    (entry,) = json.loads((folder / "exploration-log.json").read_text("utf-8"))
    assert entry["context"] == "We have a roof."
    assert set(entry) >= {
        "jobId", "idea", "mode", "model", "context", "isUpdate", "continueFrom", "startedAt",
        "completedAt", "durationMs", "steps", "toolCalls", "tokens", "cost", "outputPath",
    }  # fmt: skip
    assert entry["depth"] == "quick"
    assert "Exploring: Bees in towns" in done.stderr
    assert str(folder.name) in done.stdout


BAD: list[tuple[Sequence[Entry], int, str]] = [
    ([faults.http_error(401)], 1, "Check ANTHROPIC_API_KEY."),
    ([faults.http_error(429, retry_after=600)], 1, "rate limit"),
    ([faults.http_error(413)], 1, "too large"),
]


@pytest.mark.parametrize(("script", "code", "says"), BAD)
def test_a_failure_is_one_sentence_and_a_code(
    script: Sequence[Entry], code: int, says: str, tmp_path: Path
) -> None:
    done, _ = run(script, tmp_path, "--quiet")
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_key_that_is_refused_is_a_matter_of_the_model(tmp_path: Path) -> None:
    done, _ = run([faults.http_error(401)], tmp_path, "--json")
    assert json.loads(done.stdout)["error"]["code"] == "AI_SERVICE_UNAVAILABLE"


def test_text_of_a_run_that_broke_is_kept(tmp_path: Path) -> None:
    script: Sequence[Entry] = [
        answer(text("# Bees so far"), stop_reason="max_tokens"),
        faults.http_error(400),
        faults.http_error(400),
    ]
    done, _ = run(script, tmp_path, "--quiet")
    assert done.returncode == 3
    (document,) = (tmp_path / "ideas").glob("*/research.md")
    assert "# Bees so far" in document.read_text("utf-8")
    assert "status: partial" in document.read_text("utf-8")


def test_a_cut_stream_is_taken_up_again(tmp_path: Path) -> None:
    done, server = run([answer(REPORT, fault=faults.cut(4)), answer(REPORT)], tmp_path, "--json")
    assert json.loads(done.stdout)["status"] == "completed"
    assert len(server.requests) == 2


def test_github_down_is_said_to_the_model_and_the_run_goes_on(
    tmp_path: Path, github: FakeGitHub
) -> None:
    github.faults.fail(500, "contents", times=None)
    script = [answer(tool_use("read_research", {"path": "market/honey.md"})), answer(REPORT)]
    done, _ = run(script, tmp_path, "--json", "--collect-tool-stats", github=github)
    outcome = json.loads(done.stdout)
    assert outcome["status"] == "completed"
    assert outcome["stats"]["tool_calls"][0]["errorType"] == "api_error"


USAGE: list[tuple[Sequence[str], str]] = [
    (["explore", ""], "blank"),
    (["explore", "  \n"], "blank"),
    (["explore", "x" * 10_001], "10,000"),
    (["explore", "x", "--mode", "poetry"], "Choose one of: business, exploration."),
    (["explore", "x", "--toolset", "magic"], "toolset"),
    (["explore", "x", "--research", "no/such/folder"], "does not exist"),
    (["explore", "x", "--deadline-seconds", "5"], "at least 60"),
    (["explore", "x", "--max-steps", "21"], "--max-steps must be"),
    (["explore", "x", "--max-cost-usd", "-1"], "--max-cost-usd must be"),
    (["explore", "x", "--max-cost-usd", "nan"], "--max-cost-usd must be"),
    (["explore", "x", "--webhook-url", "http://example.org"], "https"),
    (["tool"], "Name a tool."),
    (["tool", "read_research", "{"], "not JSON"),
    (["tools", "--toolset", "magic"], "magic"),
]


@pytest.mark.parametrize(("arguments", "says"), USAGE)
def test_bad_usage_is_one_sentence_and_exit_code_2(
    arguments: Sequence[str], says: str, tmp_path: Path
) -> None:
    done = idea(*arguments, env={}, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_update_and_continue_from_do_not_go_together(tmp_path: Path) -> None:
    flags = ["--update", "--continue-from", "01890000-0000-7000-8000-000000000000"]
    done = idea("explore", "x", *flags, env={}, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == "idea: Cannot use both --update and --continue-from."
