"""When a run makes no more progress: the same calls with the same results, step after step."""

from pathlib import Path

import pytest

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.run import RESUMABLE
from idea_explorer.ports import ModelAnswer
from tests.fakes.engine import Bench
from tests.fakes.models import calls, raw, says, scripted

REPORT = says("# Tea\n\nEnough.")


def read(*paths: str) -> ModelAnswer:
    given: list[tuple[str, JsonObject]] = [("read_research", {"path": path}) for path in paths]
    return calls(*given)


def bench(tmp_path: Path, *replies: ModelAnswer) -> Bench:
    made = Bench(tmp_path, scripted(replies))
    for name in "abc":
        made.write(f"{name}.md", name)
    return made


def test_the_same_step_again_and_again_ends_in_a_partial_report(tmp_path: Path) -> None:
    b = bench(tmp_path, *[read("a.md")] * 3, REPORT)
    done = b.run(max_steps=10)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "no_progress")
    assert done.run.stats.steps == 4
    assert done.run.receipt is not None
    assert "repeated calls whose results were known" in done.run.receipt.message
    assert done.run.receipt.resume == f"idea resume {done.id}"
    assert done.status in RESUMABLE


def test_after_a_resume_the_tools_are_on_again(tmp_path: Path) -> None:
    b = bench(tmp_path, *[read("a.md")] * 3, REPORT, read("b.md"), REPORT)
    done = b.run(max_steps=10)

    again = b.resume(done, max_steps=10)

    assert (again.run.outcome, again.run.stats.stop_reason) == ("completed", "end_turn")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([read("a.md"), read("a.md"), read("b.md")], id="repeated once"),
        pytest.param([read("a.md"), read("a.md", "b.md"), read("b.md", "c.md")], id="beside new"),
        pytest.param(
            [read("x.md"), read("y.md"), read("z.md"), read("a.md")], id="failed look-ups"
        ),
        pytest.param([read("x.md"), read("x.md"), read("y.md")], id="one failure twice"),
    ],
)
def test_anything_new_keeps_the_tools_on(tmp_path: Path, steps: list[ModelAnswer]) -> None:
    done = bench(tmp_path, *steps, REPORT).run(max_steps=10)

    assert (done.status, done.run.stats.stop_reason) == ("completed", "end_turn")
    assert done.run.stats.steps == len(steps) + 1


def test_the_same_invalid_call_is_new_once_however_it_is_answered(tmp_path: Path) -> None:
    done = bench(tmp_path, *[calls(("read_research", {}))] * 3, REPORT).run(max_steps=10)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "no_progress")


def searching(query: str, url: str, number: int) -> ModelAnswer:
    use: JsonObject = {
        "type": "server_tool_use",
        "id": f"s{number}",
        "name": "web_search",
        "input": {"query": query},
    }
    found: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": f"s{number}",
        "content": [{"type": "web_search_result", "url": url, "encrypted_content": url}],
    }
    call: JsonObject = {
        "type": "tool_use",
        "id": f"t{number}",
        "name": "list_research",
        "input": {},
    }
    return raw(use, found, call, stop_reason="tool_use")


def test_a_new_question_is_new_even_if_it_finds_the_same_page(tmp_path: Path) -> None:
    steps = [searching(f"tea {n}", "https://tea.example", n) for n in range(4)]
    done = bench(tmp_path, *steps, REPORT).run(max_steps=10)

    assert (done.status, done.run.stats.steps) == ("completed", 5)


def test_the_same_question_again_and_again_is_not(tmp_path: Path) -> None:
    steps = [searching("tea", "https://tea.example", n) for n in range(3)]
    done = bench(tmp_path, *steps, REPORT).run(max_steps=10)

    assert (done.status, done.run.stats.stop_reason) == ("partial", "no_progress")
