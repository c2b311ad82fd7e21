"""Whole conversations about code: rejections, failed look-ups, long files, and all steps used."""

import re
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.agent.moves import Say
from idea_explorer.agent.requests import write_instruction
from idea_explorer.agent.state import State
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.transcript import Instruction, ModelCallFinished, Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer
from tests.fakes.clock import ManualClock
from tests.fakes.editing import EditingWorld
from tests.fakes.models import calls, last_texts, says

DONE = says("# Done\n\nThe change is made.")
SPEED = 70.0  # tokens a second, of the models that are used


def edit(new: str, path: str = "a.txt", old: str = "old\n") -> ModelAnswer:
    replacements: list[Any] = [{"old": old, "new": new}]
    given: JsonObject = {
        "path": path,
        "replacements": replacements,
        "description": "Change it",
    }
    return calls(("edit_file", given))


def read(path: str) -> ModelAnswer:
    return calls(("read_file", {"path": path}))


def fill(world: EditingWorld, **files: str) -> EditingWorld:
    for name, content in files.items():
        (world.code / f"{name}.txt").write_text(content)
    return world


def test_two_rejections_with_reasons_and_a_third_proposal_that_is_approved(tmp_path: Path) -> None:
    world = fill(EditingWorld(tmp_path, edit("1\n"), edit("2\n"), edit("3\n"), DONE), a="old\n")
    run = world.explore()
    for reason in ("Not one.", "Not two either."):
        (approval,) = world.pending(run)
        world.decide(approval, decision="reject", reason=reason)
        run = world.go_on(run)
        assert run.status == "awaiting_approval"
        assert world.results()[0]["message"] == f"User rejected changes: {reason}"
    (approval,) = world.pending(run)
    world.decide(approval, decision="approve")
    run = world.go_on(run)

    assert (run.run.outcome, run.run.stats.stop_reason) == ("completed", "end_turn")
    assert (world.code / "a.txt").read_text() == "3\n"


def test_the_same_proposal_with_another_reason_is_new(tmp_path: Path) -> None:
    world = fill(EditingWorld(tmp_path, *[edit("1\n")] * 3, DONE), a="old\n")
    run = world.explore()
    for reason in ("Why?", "Still: why?", "No."):
        world.decide(world.pending(run)[0], decision="reject", reason=reason)
        run = world.go_on(run)

    assert run.run.outcome == "completed"


def test_the_same_proposal_against_the_same_reason_ends_the_run(tmp_path: Path) -> None:
    world = fill(EditingWorld(tmp_path, *[edit("1\n")] * 3, DONE), a="old\n")
    run = world.explore()
    for _ in range(3):
        world.decide(world.pending(run)[0], decision="reject", reason="No.")
        run = world.go_on(run)

    assert (run.run.outcome, run.run.stats.stop_reason) == ("partial", "no_progress")


def test_three_failed_reads_and_then_the_right_one(tmp_path: Path) -> None:
    steps = [read("x.txt"), read("y.txt"), read("z.txt"), read("a.txt")]
    world = fill(EditingWorld(tmp_path, *steps, DONE), a="old\n")
    run = world.explore()

    assert (run.run.outcome, run.run.stats.steps) == ("completed", 5)


def test_all_ten_steps_may_be_used(tmp_path: Path) -> None:
    world = EditingWorld(tmp_path, *[read(f"{n}.txt") for n in range(9)], DONE)
    run = fill(world, a="old\n").explore()

    assert (run.run.outcome, run.run.stats.stop_reason) == ("completed", "end_turn")
    assert run.run.stats.steps == 10
    assert not world.model.requests[9].writing


def test_work_that_is_open_after_ten_steps_is_partial(tmp_path: Path) -> None:
    world = EditingWorld(tmp_path, *[read(f"{n}.txt") for n in range(10)], says("# So far"))
    run = fill(world, a="old\n").explore()

    assert (run.run.outcome, run.run.stats.stop_reason) == ("partial", "max_steps")
    assert run.run.receipt is not None
    assert run.run.receipt.resume
    assert world.results()[0]["error_type"] == "not_run"


# 22 KB: test 3 of the specification asks for a comment at the top of such a file.
MAIN_JS = "".join(f"export function brew{n}(cup) {{ return cup + {n}; }}\n" for n in range(480))
COMMENT = "// Brews tea in many ways.\n"
FIRST_LINE = MAIN_JS.split("\n", 1)[0]


def comment_on(size: int, *, whole: bool) -> tuple[str, ModelAnswer]:
    source = (MAIN_JS * (size // len(MAIN_JS) + 1))[:size].rpartition("\n")[0] + "\n"
    source = source.replace(FIRST_LINE, "/* first */", 1)
    change: dict[str, Any] = {"content": COMMENT + source}
    if not whole:
        change = {"replacements": [{"old": "/* first */", "new": f"{COMMENT}/* first */"}]}
    given = {"path": "main.js", "description": "Say what it is for", **change}
    return source, calls(("edit_file", given))


@pytest.mark.parametrize(
    ("size", "whole"), [(22_000, True), (22_000, False), (400_000, False)], ids=str
)
def test_a_comment_is_added_within_the_default_deadline(
    tmp_path: Path, size: int, whole: bool
) -> None:
    source, proposal = comment_on(size, whole=whole)
    world = EditingWorld(tmp_path, read("main.js"), proposal, DONE, speed=SPEED)
    (world.code / "main.js").write_text(source)
    run = world.explore()
    (approval,) = world.pending(run)
    assert approval.proposal.diff.count("\n+") == 2  # the comment, and the name of the file
    world.decide(approval, decision="approve")
    run = world.go_on(run)

    assert (run.run.outcome, run.run.stats.stop_reason) == ("completed", "end_turn")
    assert (world.code / "main.js").read_text() == COMMENT + source
    assert run.request.seconds == 300


def test_a_call_that_was_cut_off_is_sent_again_as_replacements(tmp_path: Path) -> None:
    source, whole = comment_on(400_000, whole=True)
    _, short = comment_on(400_000, whole=False)
    world = EditingWorld(tmp_path, read("main.js"), whole, short, DONE, speed=SPEED)
    (world.code / "main.js").write_text(source)
    run = world.explore()

    (said,) = last_texts(world.model.requests[2])[-1:]
    assert "in the middle of a call of `edit_file`" in said
    assert "Send it again as `replacements`" in said
    assert "in the middle of the sentence" not in said
    world.decide(world.pending(run)[0], decision="approve")
    run = world.go_on(run)
    assert (run.run.outcome, (world.code / "main.js").read_text()) == (
        "completed",
        COMMENT + source,
    )


def test_a_first_call_that_is_cut_off_is_asked_for_again_also_after_a_step_with_nothing_new(
    tmp_path: Path,
) -> None:
    source, whole = comment_on(400_000, whole=True)
    _, short = comment_on(400_000, whole=False)
    again = read("main.js")
    world = EditingWorld(tmp_path, again, again, whole, short, DONE, speed=SPEED)
    (world.code / "main.js").write_text(source)
    run = world.explore()

    assert "Send it again as `replacements`" in last_texts(world.model.requests[3])[-1]
    world.decide(world.pending(run)[0], decision="approve")
    assert world.go_on(run).run.outcome == "completed"


def test_replacements_are_named_only_where_there_are_edits() -> None:
    cut = ModelCallFinished(
        step=1,
        content=[{"type": "tool_use", "id": "1", "name": "write_plan", "input": {}}],
        stop_reason="max_tokens",
        usage=Usage(),
        duration_ms=0,
    )
    opening = Opening(model_id="m", system=[], tools=[{"name": "write_plan"}], content=[])
    deadline = Deadline(ManualClock(), 60.0, 0.0)
    said = write_instruction(
        Say("continue", again="cut_call"), State([opening, cut]), deadline
    ).text

    assert "in the middle of a call of `write_plan`" in said
    assert not re.search("replacements|edit_file", said)


def test_calls_that_are_cut_off_again_and_again_end_the_run(tmp_path: Path) -> None:
    source, whole = comment_on(400_000, whole=True)
    world = EditingWorld(tmp_path, whole, whole, says("# Too long"))
    (world.code / "main.js").write_text(source)
    run = world.explore()

    assert (run.run.outcome, run.run.stats.stop_reason) == ("partial", "cut_calls")
    assert run.run.receipt is not None
    assert "longer than an answer may be" in run.run.receipt.message
    purposes = [e.purpose for e in world.bench.entries(run) if isinstance(e, Instruction)]
    assert purposes == ["continue", "write"]
