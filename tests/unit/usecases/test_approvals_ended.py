"""Runs that end while they wait for a person: they died, nobody decided, or somebody cancelled."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import ConflictError, UnavailableError
from idea_explorer.domain.events import ToolCallEnd, ToolCallError
from idea_explorer.domain.exploration import Exploration
from tests.fakes.approving import DONE, EDIT, World
from tests.fakes.dying import DyingTranscripts, KilledError
from tests.fakes.models import calls, tool_results


def test_a_run_that_dies_while_acting_writes_once(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")

    class Dies(FolderWriter):
        def write_change(self, exploration: Exploration, approval: Approval) -> Any:
            super().write_change(exploration, approval)
            raise KeyboardInterrupt

    whole = world.bench.engine
    world.bench.engine = replace(whole, writer_for=lambda _: Dies(world.code, tmp_path / "lock"))
    with pytest.raises(KeyboardInterrupt):
        world.go_on(waiting)
    world.bench.engine = whole
    assert world.go_on(waiting).run.outcome == "completed"
    assert (world.code / "a.txt").read_text() == "new a\n"


def test_a_change_that_is_written_again_until_the_next_succeeds_is_told_once(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")

    class Down(FolderWriter):
        def write_change(self, exploration: Exploration, approval: Approval) -> Any:
            if approval.proposal.path == "b.txt":
                raise UnavailableError("It is down.")
            return super().write_change(exploration, approval)

    whole = world.bench.engine
    world.bench.engine = replace(whole, writer_for=lambda _: Down(world.code, tmp_path / "lock"))
    for _ in range(2):
        with pytest.raises(UnavailableError):
            world.go_on(waiting)
    world.bench.engine = whole
    assert world.go_on(waiting).run.outcome == "completed"

    ends = [event for event in world.bench.seen.of(ToolCallEnd) if isinstance(event, ToolCallEnd)]
    told = [event.record for event in ends]
    assert [record.path for record in told if record.name == "edit_file"] == [
        "a.txt",
        "b.txt",
    ]


def test_a_run_that_dies_while_asking_writes_nothing_and_asks_again(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    whole = world.bench.deps
    dying = DyingTranscripts(world.bench.store, lambda e: e.status == "awaiting_approval")
    world.bench.deps = replace(whole, transcripts=dying)
    queued = world.bench.submit()
    with pytest.raises(KilledError):
        world.go_on(queued)
    world.bench.deps = whole

    waiting = world.go_on(queued)

    assert waiting.status == "awaiting_approval"
    assert len(world.asked(waiting)) == 2
    assert (world.code / "a.txt").read_text() == "old a\n"
    assert len(world.model.requests) == 1


def test_one_that_was_cancelled_while_it_waited_asks_again_when_resumed(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    first, _ = world.asked(waiting)
    world.decide(waiting, first, decision="approve")
    at = world.bench.clock.now()
    world.bench.store.take_over(waiting.id, lambda e: e.finished("cancelled", at=at))
    resumed = world.bench.store.take_over(
        waiting.id,
        lambda e: e.moved("queued", at=at, number=2, base_steps=1, awaiting_since=None),
    )

    again = world.go_on(resumed)

    assert again.status == "awaiting_approval"
    assert (world.code / "a.txt").read_text() == "old a\n"
    for approval in world.asked(again):
        world.decide(again, approval, decision="approve")
    assert world.go_on(again).run.outcome == "completed"
    assert (world.code / "b.txt").read_text() == "new b\n"


def test_a_change_that_nobody_decided_on_ends_the_run_partial(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    first, _ = world.asked(waiting)
    world.decide(waiting, first, decision="approve")
    world.bench.clock.pass_time(8 * 24 * 3_600)

    world.expire(waiting)
    ended = world.bench.publish(world.go_on(waiting))

    assert (ended.status, ended.run.stats.stop_reason) == ("partial", "approval_expired")
    assert ended.run.receipt is not None
    assert ended.run.receipt.message.startswith("Nobody decided in time; the work so far")
    assert ended.run.receipt.resume == f"idea resume {ended.id}"
    assert (world.code / "a.txt").read_text() == "new a\n"  # which was approved in time
    assert (world.code / "b.txt").read_text() == "old b\n"
    assert len(world.model.requests) == 1
    (told,) = world.bench.seen.of(ToolCallError)
    assert isinstance(told, ToolCallError)
    assert told.record is not None
    assert told.record.error_type == "approval_expired"


def test_a_change_that_nobody_decided_on_is_closed_in_the_live_view(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    first, second = world.asked(waiting)
    world.decide(waiting, first, decision="approve")

    world.expire(waiting)
    ended = world.bench.publish(world.go_on(waiting))
    world.bench.publish(world.go_on(waiting))

    stored = [json.loads(event.data) for event in world.bench.store.read(ended.id)]
    kinds = [event["type"] for event in stored]
    decided = [event for event in stored if event["type"] == "approval_decided"]
    assert [(event["approvalId"], event["decision"]) for event in decided] == [
        (first.id, "approve"),
        (second.id, "expire"),
    ]
    assert decided[1]["reason"] == "Nobody decided in time."
    closed = len(kinds) - 1 - kinds[::-1].index("approval_decided")
    assert closed < kinds.index("tool_call_error")


def test_what_the_model_had_written_before_an_expired_change_is_kept(tmp_path: Path) -> None:
    begun = calls(("edit_file", {"path": "a.txt", "content": "x\n"}), text="# Half\n\nSo far.")
    world = World(tmp_path, begun, DONE)
    waiting = world.bench.explore()

    world.expire(waiting)
    ended = world.go_on(waiting)

    assert ended.run.receipt is not None
    assert ended.run.receipt.has_partial_text
    assert world.bench.store.load_report(ended.id) == "# Half\n\nSo far."


def test_a_run_that_dies_after_an_expired_change_still_ends_partial(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting)
    whole = world.bench.deps
    dying = DyingTranscripts(world.bench.store, lambda e: e.run.outcome is not None)
    world.bench.deps = replace(whole, transcripts=dying)
    with pytest.raises(KilledError):
        world.go_on(waiting)
    world.bench.deps = whole

    ended = world.go_on(waiting)

    assert (ended.run.outcome, ended.run.stats.stop_reason) == ("partial", "approval_expired")
    assert len(world.model.requests) == 1


def test_one_whose_changes_expired_goes_on_when_resumed_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting)
    world.bench.publish(world.go_on(waiting))

    resumed = world.resume(waiting)
    done = world.go_on(resumed)

    assert (done.run.number, done.run.outcome) == (2, "completed")
    results = [str(block["content"]) for block in tool_results(world.model.requests[1])]
    assert [("approval_expired" in result) for result in results] == [True, False, True]
    assert (world.code / "a.txt").read_text() == "old a\n"


def test_a_decision_in_the_last_moment_stands(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")

    world.expire(waiting)

    assert world.go_on(waiting).run.outcome == "completed"
    assert (world.code / "b.txt").read_text() == "new b\n"


def test_one_that_goes_on_is_not_expired(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting.replace(number=2))
    assert [approval.decision for approval in world.asked(waiting)] == [None, None]


def test_cancelled_while_it_waits_it_keeps_what_it_has_and_writes_nothing(tmp_path: Path) -> None:
    begun = calls(("edit_file", {"path": "a.txt", "content": "x\n"}), text="# Half\n\nSo far.")
    world = World(tmp_path, begun, DONE)
    waiting = world.bench.explore()
    (approval,) = world.asked(waiting)
    world.cancel(waiting)
    assert world.woken == [waiting.id]
    with pytest.raises(ConflictError, match="is being cancelled"):
        world.decide(waiting, approval, decision="approve")

    ended = world.bench.publish(world.go_on(waiting))

    assert ended.status == "cancelled"
    assert ended.run.receipt is not None
    assert ended.run.receipt.has_partial_text
    assert world.bench.store.load_report(ended.id) == "# Half\n\nSo far."
    assert (world.code / "a.txt").read_text() == "old a\n"
    assert len(world.model.requests) == 1


def test_cancelled_after_a_decision_nothing_is_written_until_it_is_resumed(tmp_path: Path) -> None:
    world = World(tmp_path, calls(("edit_file", {"path": "a.txt", "content": "x\n"})), DONE)
    waiting = world.bench.explore()
    (approval,) = world.asked(waiting)
    world.decide(waiting, approval, decision="approve")
    world.cancel(waiting)

    ended = world.bench.publish(world.go_on(waiting))
    assert ended.status == "cancelled"
    assert (world.code / "a.txt").read_text() == "old a\n"

    assert world.go_on(world.resume(ended)).run.outcome == "completed"
    assert (world.code / "a.txt").read_text() == "x\n"
