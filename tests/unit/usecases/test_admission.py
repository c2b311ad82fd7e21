"""Who is started next, and that never more run than may."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import AuthFailedError, NoFreeSlotError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Slots, WaitingExploration
from idea_explorer.usecases.admission import MAX_STARTS, admit, admit_or_log, choose
from idea_explorer.usecases.approvals.wait import expire, go_on, still_waits, wait
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.settle import settle
from idea_explorer.usecases.submit import submit
from idea_explorer.usecases.sweep import sweep
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps
from tests.fakes.explorations import NOW, an_approval
from tests.fakes.service import FakeQueue, FakeWorkflow

SLOTS = 2


class Service:
    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / "store.db")
        self.clock = ManualClock()
        self.queue = FakeQueue()
        self.workflow = FakeWorkflow()
        self.woken: list[ExplorationId] = []
        self.deps = make_deps(
            folder,
            store=self.store,
            clock=self.clock,
            queue=lambda: self.queue,
            workflow=lambda: self.workflow,
            wake=lambda exploration: self.woken.append(exploration.id),
            notices=lambda: self,
            has_slots=True,
            max_running=SLOTS,
        )

    def ask(self, exploration_id: ExplorationId, run: int) -> None: ...

    def submitted(self, owner: str = "ada") -> Exploration:
        self.clock.pass_time(1)
        return submit(ExploreRequest(idea="An idea"), owner, self.deps)

    def begin(self, exploration_id: ExplorationId) -> Exploration:
        """What the explore function does first."""
        return self.store.take_over(
            exploration_id, lambda e: e.replace(deadline_at=NOW, awaiting_since=None)
        )

    def write_report(self, exploration_id: ExplorationId) -> None:
        self.store.save(self.begin(exploration_id).replace(outcome="completed"))

    def await_approval(self, exploration_id: ExplorationId) -> Exploration:
        now = self.clock.now()
        running = self.begin(exploration_id)
        waiting = running.moved("awaiting_approval", at=now, awaiting_since=now)
        self.store.save(waiting)
        return waiting

    @property
    def started(self) -> list[ExplorationId]:
        return [started for started, _, _ in self.workflow.started]

    @property
    def holders(self) -> set[ExplorationId]:
        return set(self.store.slots().holders)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def waiting(owner: str, seconds: int) -> WaitingExploration:
    name = ExplorationId(f"{owner}-{seconds}")
    return WaitingExploration(name, owner, NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("running", "chosen"),
    [
        ([], "ada-1"),
        (["ada"], "bob-2"),
        (["bob"], "ada-1"),
        (["ada", "bob"], "eve-3"),
        (["ada", "bob", "eve"], "ada-1"),
        (["ada", "ada", "bob", "eve", "eve"], "bob-2"),
    ],
)
def test_the_owner_with_the_fewest_running_is_next_then_the_oldest(
    running: list[str], chosen: str
) -> None:
    slots = Slots({ExplorationId(str(n)): owner for n, owner in enumerate(running)})

    found = choose([waiting("eve", 3), waiting("bob", 2), waiting("ada", 1)], slots)

    assert found is not None
    assert found.id == chosen


def test_owners_with_as_many_running_take_turns(service: Service) -> None:
    many = [service.submitted(owner).id for owner in ("ada", "bob") * 3]
    admit(service.deps)  # one of each
    single = service.submitted("eve").id

    service.clock.pass_time(1)
    service.write_report(many[0])

    assert admit(service.deps) == [single]  # ada has none running either, and waited longer


def test_as_many_start_as_there_are_slots_the_oldest_first(service: Service) -> None:
    submitted = [service.submitted().id for _ in range(4)]

    assert admit(service.deps) == submitted[:SLOTS]
    assert admit(service.deps) == []

    assert service.started == submitted[:SLOTS]
    assert service.holders == {*submitted[:SLOTS]}


def test_a_run_that_wrote_its_report_makes_room_before_it_is_published(service: Service) -> None:
    first, second, third = (service.submitted().id for _ in range(3))
    admit(service.deps)

    service.write_report(first)

    assert service.store.load(first).status == "running"
    assert admit(service.deps) == [third]
    assert service.holders == {second, third}


def test_one_owners_thousands_do_not_delay_anothers_first(service: Service) -> None:
    many = [service.submitted("ada").id for _ in range(5)]
    admit(service.deps)
    single = service.submitted("bob").id

    service.write_report(many[0])

    assert admit(service.deps) == [single]


def test_a_resumed_run_that_only_publishes_needs_no_slot(service: Service) -> None:
    exploration = service.submitted()
    service.store.take_over(exploration.id, lambda e: e.replace(outcome="completed"))

    assert admit(service.deps) == [exploration.id]

    assert service.holders == set()


def test_while_it_is_paused_nothing_starts(service: Service) -> None:
    exploration = service.submitted()
    service.store.set_paused(True)

    assert admit(service.deps) == []
    assert sweep(service.deps).started == 0

    service.store.set_paused(False)
    assert admit(service.deps) == [exploration.id]


def test_one_that_was_cancelled_while_it_waited_is_not_started(service: Service) -> None:
    cancelled, next_one = service.submitted(), service.submitted()
    cancel(cancelled.id, "ada", service.deps)

    assert admit(service.deps) == [next_one.id]


def test_an_entry_of_one_that_does_not_wait_is_dropped(service: Service) -> None:
    ended = service.submitted()
    cancel(ended.id, "ada", service.deps)
    service.store.add_waiting([ended])
    waits = service.submitted()

    assert admit(service.deps) == [waits.id]
    assert service.store.count_waiting() == 0


def test_one_call_starts_only_so_many(service: Service) -> None:
    deps = make_deps(
        None,
        store=service.store,
        clock=service.clock,
        workflow=lambda: service.workflow,
        max_running=1_000,
    )
    for _ in range(MAX_STARTS + 1):
        service.submitted()

    assert len(admit(deps)) == MAX_STARTS
    assert len(admit(deps)) == 1


def test_what_could_not_be_launched_is_launched_by_a_later_sweep(service: Service) -> None:
    exploration = service.submitted()
    service.workflow.failure = UnavailableError("AWS Step Functions is not available.")
    assert admit(service.deps) == []
    service.workflow.failure = None

    assert sweep(service.deps).launched_again == 0  # whoever marked it may be about to launch it
    service.clock.pass_time(61)
    assert sweep(service.deps).launched_again == 1

    assert service.started == [exploration.id]
    service.clock.pass_time(61)
    assert sweep(service.deps).launched_again == 0


def test_what_can_never_be_launched_fails_and_frees_its_slot(service: Service) -> None:
    exploration = service.submitted()
    service.workflow.failure = AuthFailedError("AWS Step Functions refused the role.")

    assert admit(service.deps) == []

    failed = service.store.load(exploration.id)
    assert failed.status == "failed"
    assert failed.run.receipt is not None
    assert failed.run.receipt.message == "AWS Step Functions refused the role."
    assert service.holders == set()


def test_one_whose_execution_has_ended_fails_at_once_and_frees_its_slot(service: Service) -> None:
    """As a table that was restored from a backup has it."""
    exploration, next_one = service.submitted(), service.submitted()
    service.workflow.start(exploration.id, 1, 120)
    service.workflow.ended.add(exploration.id)

    assert admit(service.deps) == [next_one.id]

    failed = service.store.load(exploration.id)
    assert failed.status == "failed"
    assert failed.run.receipt is not None
    assert failed.run.receipt.message == "The execution of run 1 has ended. Resume it."
    assert service.holders == {next_one.id}


def test_a_record_that_cannot_be_read_delays_nobody(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable, next_one = service.submitted("ada"), service.submitted("ada")
    other = service.submitted("bob")
    take_over = service.store.take_over

    def fails(exploration_id: ExplorationId, *given: Any, **named: Any) -> Exploration:
        if exploration_id == unreadable.id:
            raise ValueError("written by another release")
        return take_over(exploration_id, *given, **named)

    monkeypatch.setattr(service.store, "take_over", fails)

    assert set(admit(service.deps)) == {next_one.id, other.id}


def test_a_store_that_fails_is_no_reason_to_deliver_messages_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    exploration = service.submitted()

    def fails(*_: object, **__: object) -> None:
        raise UnavailableError("AWS DynamoDB is not available.")

    monkeypatch.setattr(service.store, "take_over", fails)

    admit_or_log(service.deps)

    assert service.store.load(exploration.id).status == "queued"
    assert service.store.count_waiting() == 1


def test_one_run_that_cannot_be_settled_does_not_stop_the_sweep(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = service.submitted().id
    admit(service.deps)
    service.begin(lost)
    service.clock.pass_time(service.deps.running_too_long_seconds + 1)
    waits = service.submitted().id

    def fails(*_: object) -> None:
        raise ValueError("not a transcript")

    monkeypatch.setattr(service.store, "open", fails)

    swept = sweep(service.deps)

    assert (swept.settled, swept.started) == (0, 1)
    assert service.started[-1] == waits


def test_a_sweep_starts_what_no_message_announced(service: Service) -> None:
    exploration = service.submitted()

    swept = sweep(service.deps)

    assert (swept.started, swept.waiting, swept.running) == (1, 0, 1)
    assert service.started == [exploration.id]


def test_a_sweep_lists_what_an_earlier_version_queued(service: Service) -> None:
    exploration = service.submitted()
    (listed,) = service.store.longest_waiting()
    service.store.forget(listed)
    assert sweep(service.deps).started == 0
    service.clock.pass_time(service.deps.queued_too_long_seconds + 1)

    assert sweep(service.deps).started == 1
    assert service.started == [exploration.id]


def test_a_sweep_continues_what_was_decided_by_a_call_that_died(service: Service) -> None:
    decided, undecided = (service.submitted(owner) for owner in ("ada", "bob"))
    admit(service.deps)
    for exploration in (decided, undecided):
        waiting = service.await_approval(exploration.id)
        approval = an_approval(waiting, "a.md", "Tea", None)
        asked = approval.model_copy(update={"decision": None})
        service.deps.approvals.request_approval(asked)
    service.deps.approvals.decide(an_approval(decided, "a.md", "Tea", None))
    service.clock.pass_time(61)

    assert sweep(service.deps).started == 1
    assert service.woken == [decided.id]
    assert service.store.load(decided.id).status == "running"
    assert service.store.load(undecided.id).status == "awaiting_approval"


def test_a_sweep_wakes_a_waiting_run_that_a_dead_call_cancelled(service: Service) -> None:
    exploration = service.submitted()
    admit(service.deps)
    service.await_approval(exploration.id)
    service.store.request_cancel(exploration.id)
    service.clock.pass_time(61)

    sweep(service.deps)
    assert service.woken == [exploration.id]


def test_a_sweep_tells_the_backlog(service: Service) -> None:
    for _ in range(SLOTS + 3):
        service.submitted()
    admit(service.deps)
    service.clock.pass_time(59)

    swept = sweep(service.deps)

    assert (swept.waiting, swept.running) == (3, SLOTS)
    assert swept.oldest_waiting_seconds == 59 + 2


def test_a_slot_that_is_held_for_nothing_is_freed_by_the_sweep(service: Service) -> None:
    holder = service.submitted()
    admit(service.deps)
    before = service.store.load(holder.id)
    service.store.save(before.finished("failed", at=service.clock.now()))
    # as if a restored backup had the record's end but not that of its slot
    with service.store._db.transaction() as db:
        db.execute("INSERT INTO slots VALUES (?, ?)", (holder.id, holder.owner))

    assert sweep(service.deps).slots_freed == 1
    assert service.holders == set()


# Runs that wait for a person


def test_a_run_that_awaits_approval_holds_no_slot(service: Service) -> None:
    asking, other, third = (service.submitted().id for _ in range(3))
    admit(service.deps)

    service.await_approval(asking)

    assert admit(service.deps) == [third]
    assert service.holders == {other, third}


def test_after_the_last_decision_it_waits_for_a_slot_like_any_other(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    awaiting = service.await_approval(asking)
    others = [service.submitted().id for _ in range(SLOTS)]
    admit(service.deps)

    go_on(awaiting, service.deps)

    assert service.queue.sent == [(asking, 1, 0)]
    assert admit(service.deps) == []
    assert service.woken == []
    service.write_report(others[0])
    assert admit(service.deps) == [asking]
    assert service.woken == [asking]
    assert service.store.load(asking).status == "running"
    assert service.holders == {others[1], asking}


def test_a_wake_up_that_was_lost_is_repeated_until_a_worker_has_begun(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    go_on(service.await_approval(asking), service.deps)
    admit(service.deps)
    service.clock.pass_time(61)

    assert sweep(service.deps).launched_again == 1
    assert service.woken == [asking, asking]
    service.begin(asking)
    service.clock.pass_time(61)
    assert sweep(service.deps).launched_again == 0


def test_one_that_got_its_slot_before_the_workflow_waits_goes_on_at_once(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    go_on(service.await_approval(asking), service.deps)
    admit(service.deps)
    service.woken.clear()

    wait(asking, "a-token", service.deps)

    assert service.woken == [asking]


def test_a_cancelled_one_ends_without_waiting_for_a_slot(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    service.await_approval(asking)

    cancel(asking, "ada", service.deps)

    assert service.woken == [asking]
    assert service.store.count_waiting() == 0


def test_what_was_decided_in_time_needs_a_slot_after_the_time_is_over(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    awaiting = service.await_approval(asking)
    service.deps.approvals.request_approval(an_approval(awaiting, "a.md", "text", None))
    others = [service.submitted().id for _ in range(SLOTS)]
    admit(service.deps)

    with pytest.raises(NoFreeSlotError):
        expire(asking, 1, service.deps)

    service.write_report(others[0])
    expire(asking, 1, service.deps)
    assert asking in service.holders


def test_a_decided_run_that_is_tried_again_still_waits_for_its_slot(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    awaiting = service.await_approval(asking)
    service.deps.approvals.request_approval(an_approval(awaiting, "a.md", "text", None))
    go_on(awaiting, service.deps)

    assert still_waits(service.store.load(asking), service.deps)
    assert not still_waits(service.store.load(asking).replace(cancel_requested=True), service.deps)


def test_a_decided_run_that_is_settled_no_longer_waits(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    go_on(service.await_approval(asking), service.deps)
    assert service.store.count_waiting() == 1

    settle(asking, 1, "stopped", service.deps)

    assert service.store.count_waiting() == 0


def test_what_nobody_decided_ends_without_a_slot(service: Service) -> None:
    asking = service.submitted().id
    admit(service.deps)
    awaiting = service.await_approval(asking)
    undecided = an_approval(awaiting, "a.md", "text", None).model_copy(update={"decision": None})
    service.deps.approvals.request_approval(undecided)
    for _ in range(SLOTS):
        service.submitted()
    admit(service.deps)

    expire(asking, 1, service.deps)

    assert service.deps.approvals.approvals(asking)[0].decision == "expire"
    assert asking not in service.holders
