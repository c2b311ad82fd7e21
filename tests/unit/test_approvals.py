"""A run that waits for a person: asked once, decided once, written once."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.folder_writer import FolderWriter
from idea_explorer.adapters.local_queue import LocalQueue
from idea_explorer.adapters.sqlite import SqliteStore
from idea_explorer.adapters.sqlite_approvals import SqliteApprovals
from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import ConflictError, MissingError, UnavailableError
from idea_explorer.domain.events import ToolCallEnd, ToolCallError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.proposals import propose
from idea_explorer.domain.request import ResumeRequest
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.usecases.approvals import expire
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.decide import DecisionRequest, decide
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.settle import settle
from idea_explorer.usecases.terms import Terms
from idea_explorer.usecases.work import books_of
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted, tool_results


class Edit(Arguments):
    path: str
    content: str


class Read(Arguments):
    path: str


class World:
    """A folder of code, and a model that reads one file and proposes to change others."""

    def __init__(self, tmp_path: Path, *replies: Any) -> None:
        self.code = tmp_path / "code"
        self.code.mkdir()
        (self.code / "a.txt").write_text("old a\n")
        (self.code / "b.txt").write_text("old b\n")
        self.model = scripted(replies)
        self.bench = Bench(tmp_path / "bench", self.model, toolset=self._tools())
        self.approvals = SqliteApprovals(tmp_path / "approvals.db")
        self.bench.engine = replace(
            self.bench.engine,
            approvals=self.approvals,
            writer_for=lambda _: FolderWriter(self.code),
        )
        self.woken: list[str] = []

    def _tools(self) -> Toolset:
        return Toolset(
            [
                Tool("edit_file", "Edit.", Edit, self._edit, example={}, reads_only=False),
                Tool("read_file", "Read.", Read, self._read, example={}),
            ]
        )

    def _edit(self, arguments: Edit) -> ToolOutput:
        base = (self.code / arguments.path).read_bytes()
        proposal = propose(RepositoryPath(arguments.path), arguments.content, "Change it", base)
        return ToolOutput(fields={}, summary="proposed", proposal=proposal)

    def _read(self, arguments: Read) -> ToolOutput:
        return ToolOutput({"content": (self.code / arguments.path).read_text()}, "read")

    def decide(self, exploration: Exploration, approval: Approval, **fields: Any) -> Approval:
        return decide(
            exploration.id,
            approval.id,
            DecisionRequest.model_validate(fields),
            "tester",
            explorations=self.bench.store,
            approvals=self.approvals,
            events=self.bench.store,
            clock=self.bench.clock,
            wake=lambda e: self.woken.append(e.id),
        )

    def expire(self, exploration: Exploration) -> None:
        expire(
            exploration.id,
            exploration.run,
            explorations=self.bench.store,
            approvals=self.approvals,
            clock=self.bench.clock,
        )

    def cancel(self, exploration: Exploration) -> None:
        cancel(
            exploration.id,
            "tester",
            explorations=self.bench.store,
            events=self.bench.store,
            clock=self.bench.clock,
            wake=lambda e: self.woken.append(e.id),
        )

    def resume(self, exploration: Exploration) -> Exploration:
        return resume(
            exploration.id,
            "tester",
            ResumeRequest(),
            explorations=self.bench.store,
            events=self.bench.store,
            queue=LocalQueue(self.bench.root / "queue.db", self.bench.clock),
            clock=self.bench.clock,
            log=self.bench.log,
            terms=Terms(),
        )

    def asked(self, exploration: Exploration) -> Sequence[Approval]:
        return self.approvals.approvals(exploration.id)

    def go_on(self, exploration: Exploration) -> Exploration:
        return explore(exploration.id, exploration.run, self.bench.engine)


EDIT = calls(
    ("edit_file", {"path": "a.txt", "content": "new a\n"}),
    ("read_file", {"path": "b.txt"}),
    ("edit_file", {"path": "b.txt", "content": "new b\n"}),
)
DONE = says("# Done")


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
    assert done.outcome == "completed"
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
    assert world.go_on(waiting).outcome == "completed"


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
    assert world.go_on(waiting).outcome == "completed"
    assert (world.code / "a.txt").read_text() == "somebody was here\n"
    results = [str(block["content"]) for block in tool_results(world.model.requests[1])]
    assert "base_moved" in results[0]


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
    world.bench.engine = replace(whole, writer_for=lambda _: Dies(world.code))
    with pytest.raises(KeyboardInterrupt):
        world.go_on(waiting)
    world.bench.engine = whole
    assert world.go_on(waiting).outcome == "completed"
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
    world.bench.engine = replace(whole, writer_for=lambda _: Down(world.code))
    for _ in range(2):
        with pytest.raises(UnavailableError):
            world.go_on(waiting)
    world.bench.engine = whole
    assert world.go_on(waiting).outcome == "completed"

    ends = [event for event in world.bench.seen.of(ToolCallEnd) if isinstance(event, ToolCallEnd)]
    told = [event.record for event in ends]
    assert [record.path for record in told if record.name == "edit_file"] == [
        "a.txt",
        "b.txt",
    ]


class DiesWhenAsking(SqliteStore):
    """A store whose worker dies after asking, before the record says that it waits."""

    def save(self, exploration: Exploration) -> None:
        if exploration.status == "awaiting_approval":
            raise KeyboardInterrupt
        super().save(exploration)


def test_a_run_that_dies_while_asking_writes_nothing_and_asks_again(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    whole = world.bench.engine
    dying = DiesWhenAsking(world.bench.root / "store.db")
    world.bench.engine = replace(whole, explorations=dying)
    queued = world.bench.submit()
    with pytest.raises(KeyboardInterrupt):
        world.go_on(queued)
    world.bench.engine = whole

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
        lambda e: e.moved("queued", at=at, run=2, base_steps=1, awaiting_since=None),
    )

    again = world.go_on(resumed)

    assert again.status == "awaiting_approval"
    assert (world.code / "a.txt").read_text() == "old a\n"
    for approval in world.asked(again):
        world.decide(again, approval, decision="approve")
    assert world.go_on(again).outcome == "completed"
    assert (world.code / "b.txt").read_text() == "new b\n"


def test_a_change_that_nobody_decided_on_ends_the_run_partial(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    first, _ = world.asked(waiting)
    world.decide(waiting, first, decision="approve")
    world.bench.clock.pass_time(8 * 24 * 3_600)

    world.expire(waiting)
    ended = world.bench.publish(world.go_on(waiting))

    assert (ended.status, ended.stats.stop_reason) == ("partial", "approval_expired")
    assert ended.receipt is not None
    assert ended.receipt.message.startswith("Nobody decided on the proposed changes in time")
    assert ended.receipt.resume == f"idea resume {ended.id}"
    assert (world.code / "a.txt").read_text() == "new a\n"  # which was approved in time
    assert (world.code / "b.txt").read_text() == "old b\n"
    assert len(world.model.requests) == 1
    (told,) = world.bench.seen.of(ToolCallError)
    assert isinstance(told, ToolCallError)
    assert told.record is not None
    assert told.record.error_type == "approval_expired"


def test_what_the_model_had_written_before_an_expired_change_is_kept(tmp_path: Path) -> None:
    begun = calls(("edit_file", {"path": "a.txt", "content": "x\n"}), text="# Half\n\nSo far.")
    world = World(tmp_path, begun, DONE)
    waiting = world.bench.explore()

    world.expire(waiting)
    ended = world.go_on(waiting)

    assert ended.receipt is not None
    assert ended.receipt.has_partial_text
    assert world.bench.store.load_report(ended.id) == "# Half\n\nSo far."


def test_a_run_that_dies_after_an_expired_change_still_ends_partial(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting)
    whole = world.bench.engine
    world.bench.engine = replace(
        whole, explorations=DiesWhenConcluding(world.bench.root / "store.db")
    )
    with pytest.raises(KeyboardInterrupt):
        world.go_on(waiting)
    world.bench.engine = whole

    ended = world.go_on(waiting)

    assert (ended.outcome, ended.stats.stop_reason) == ("partial", "approval_expired")
    assert len(world.model.requests) == 1


class DiesWhenConcluding(SqliteStore):
    """A store whose worker dies before the record says what the run has come to."""

    def save(self, exploration: Exploration) -> None:
        if exploration.outcome:
            raise KeyboardInterrupt
        super().save(exploration)


def test_one_whose_changes_expired_goes_on_when_resumed_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting)
    world.bench.publish(world.go_on(waiting))

    resumed = world.resume(waiting)
    done = world.go_on(resumed)

    assert (done.run, done.outcome) == (2, "completed")
    results = [str(block["content"]) for block in tool_results(world.model.requests[1])]
    assert [("approval_expired" in result) for result in results] == [True, False, True]
    assert (world.code / "a.txt").read_text() == "old a\n"


def test_a_decision_in_the_last_moment_stands(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    for approval in world.asked(waiting):
        world.decide(waiting, approval, decision="approve")

    world.expire(waiting)

    assert world.go_on(waiting).outcome == "completed"
    assert (world.code / "b.txt").read_text() == "new b\n"


def test_one_that_goes_on_is_not_expired(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore()
    world.expire(waiting.model_copy(update={"run": 2}))
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
    assert ended.receipt is not None
    assert ended.receipt.has_partial_text
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

    assert world.go_on(world.resume(ended)).outcome == "completed"
    assert (world.code / "a.txt").read_text() == "x\n"


def test_the_time_of_waiting_does_not_count_for_a_resumed_run(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    waiting = world.bench.explore(deadline_seconds=120)
    world.bench.clock.pass_time(3 * 24 * 3_600)
    books = books_of(world.bench.engine)
    settled = settle(waiting.id, 1, "timed_out", books)
    assert (settled.status, settled.stats.stop_reason) == ("partial", "approval_expired")

    again = world.go_on(world.resume(settled))

    assert again.deadline_at is not None
    assert (again.deadline_at - world.bench.clock.now()).total_seconds() <= 120


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
