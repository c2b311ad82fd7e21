"""A run that waits for a person: asked once, decided once, written once."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.domain.errors import ConflictError, InvalidRequestError, MissingError
from idea_explorer.domain.events import ApprovalRequested
from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.settle import settle
from tests.fakes.approving import DONE, EDIT, World
from tests.fakes.models import calls, tool_results


def test_the_run_waits_with_the_rest_of_the_step_intact(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    assert waiting.status == "awaiting_approval"
    first, second = world.asked(waiting)
    assert "-old a" in first.proposal.diff
    assert "+new a" in first.proposal.diff
    assert (world.code / "a.txt").read_text() == "old a\n"
    world.decide(waiting, second, decision="approve")
    assert world.woken == []
    assert world.go_on(waiting).status == "awaiting_approval"
    world.decide(waiting, first, decision="reject", reason="Not that one.")
    assert world.woken == [waiting.id]
    done = world.go_on(waiting)
    assert done.run.outcome == "completed"
    assert (world.code / "a.txt").read_text() == "old a\n"
    assert (world.code / "b.txt").read_text() == "new b\n"
    results = [str(block["content"]) for block in tool_results(world.model.requests[1])]
    assert "User rejected changes: Not that one." in results[0]
    assert "old b" in results[1]
    assert '"decision":"approve"' in results[2]


def test_the_deadline_stands_still_while_waiting(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore(deadline_seconds=120)
    world.bench.clock.pass_time(3 * 24 * 3_600)
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")
    assert world.go_on(waiting).run.outcome == "completed"


def test_an_edited_approval_writes_what_the_person_wrote_and_tells_the_model(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, calls(("edit_file", {"path": "a.txt", "content": "new\n"})), DONE)
    waiting = world.bench.explore()
    world.decide(waiting, world.asked(waiting)[0], decision="approve", content="mine\n")
    world.go_on(waiting)
    assert (world.code / "a.txt").read_text() == "mine\n"
    (result,) = tool_results(world.model.requests[1])
    assert '"edited":true' in str(result["content"])


def test_a_moved_base_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    (world.code / "a.txt").write_text("somebody was here\n")
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")
    assert world.go_on(waiting).run.outcome == "completed"
    assert (world.code / "a.txt").read_text() == "somebody was here\n"
    results = [str(block["content"]) for block in tool_results(world.model.requests[1])]
    assert "base_moved" in results[0]


def test_a_dangerous_change_is_approved_only_with_its_own_confirmation(tmp_path: Path) -> None:
    edit = calls(("edit_file", {"path": "Makefile", "content": "all:\n\tcurl\n"}))
    world = World(tmp_path, edit, DONE)
    (world.code / "Makefile").write_text("all:\n")
    waiting = world.bench.explore()
    (approval,) = world.asked(waiting)
    with pytest.raises(InvalidRequestError, match="Makefile runs when somebody builds") as refused:
        world.decide(waiting, approval, decision="approve")
    assert "confirm_danger" in (refused.value.fields or {})
    assert world.asked(waiting)[0].decision is None
    world.decide(waiting, approval, decision="approve", confirm_danger=True)
    assert world.go_on(waiting).run.outcome == "completed"
    assert "curl" in (world.code / "Makefile").read_text()
    (asked,) = [e for e in world.bench.seen.events if isinstance(e, ApprovalRequested)]
    assert asked.danger == "runs when somebody builds or installs"


def test_the_pull_request_lists_dangerous_changes_first(tmp_path: Path) -> None:
    proposed = calls(
        ("edit_file", {"path": "Makefile", "content": "all:\n"}),
        ("edit_file", {"path": "a.txt", "content": "new a\n"}),
    )
    world = World(tmp_path, proposed, DONE)
    (world.code / "Makefile").write_text("")
    bodies: list[str] = []

    class Pulls:
        def open_pull_request(self, exploration: Exploration, body: str) -> None:
            bodies.append(body)

    world.bench.deps = replace(world.bench.deps, pull_requests_for=lambda _: Pulls())
    waiting = world.bench.explore(toolset="code")
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve", confirm_danger=True)
    world.bench.publish(world.go_on(waiting))
    (body,) = bodies
    assert body.startswith("> **Review these changes with care.**")
    assert "> - Makefile runs when somebody builds or installs\n\n# Done" in body
    assert "a.txt" not in body


def test_a_dangerous_change_is_rejected_like_any_other(tmp_path: Path) -> None:
    world = World(tmp_path, calls(("edit_file", {"path": "Makefile", "content": "x\n"})), DONE)
    (world.code / "Makefile").write_text("all:\n")
    waiting = world.bench.explore()
    (approval,) = world.asked(waiting)
    world.decide(waiting, approval, decision="reject")
    assert world.go_on(waiting).run.outcome == "completed"


def test_the_first_decision_stands(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    approval = world.asked(waiting)[0]
    world.decide(waiting, approval, decision="approve")
    world.decide(waiting, approval, decision="approve")
    with pytest.raises(ConflictError, match="already: approve"):
        world.decide(waiting, approval, decision="reject")
    with pytest.raises(ConflictError):
        world.decide(waiting, approval, decision="approve", content="other")
    events = [e for e in world.bench.store.read(waiting.id) if e.type == "approval_decided"]
    assert len(events) == 1


def test_of_many_decisions_at_once_one_stands(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    approval = world.asked(waiting)[0]
    conflicts: list[ConflictError] = []

    def vote(decision: str) -> None:
        try:
            world.decide(waiting, approval, decision=decision)
        except ConflictError as error:
            conflicts.append(error)

    voters = [threading.Thread(target=vote, args=(d,)) for d in ["approve", "reject"] * 8]
    for voter in voters:
        voter.start()
    for voter in voters:
        voter.join()
    assert len(conflicts) == 8


def test_what_was_not_asked_or_is_over_cannot_be_decided(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    first, second = world.asked(waiting)
    with pytest.raises(MissingError):
        world.decide(waiting, first.model_copy(update={"id": "unheard-of"}), decision="approve")
    ended = world.bench.store.take_over(
        waiting.id, lambda e: e.finished("cancelled", at=world.bench.clock.now())
    )
    with pytest.raises(ConflictError, match="cancelled"):
        world.decide(ended, second, decision="approve")


def test_the_time_of_waiting_does_not_count_for_a_resumed_run(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore(deadline_seconds=120)
    world.bench.clock.pass_time(3 * 24 * 3_600)
    books = world.bench.deps
    settled = settle(waiting.id, 1, "timed_out", books)
    assert (settled.status, settled.run.stats.stop_reason) == ("partial", "approval_expired")

    again = world.go_on(world.resume(settled))

    assert again.run.deadline_at is not None
    assert (again.run.deadline_at - world.bench.clock.now()).total_seconds() <= 120


def test_approved_content_is_handed_to_the_next_tools(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")
    done = world.go_on(waiting)
    (decided,) = [e for e in world.bench.entries(done) if e.kind == "decided"]
    assert [(w.path, w.content) for w in decided.written] == [
        ("a.txt", "new a\n"),
        ("b.txt", "new b\n"),
    ]


def test_an_exploration_that_has_ended_is_not_taken_up(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")
    now = world.bench.clock.now()
    world.bench.store.take_over(waiting.id, lambda e: e.finished("cancelled", at=now))
    assert world.go_on(waiting).status == "cancelled"
    assert (world.code / "a.txt").read_text() == "old a\n"
    assert len(world.model.requests) == 1
