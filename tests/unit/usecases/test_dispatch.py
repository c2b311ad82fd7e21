"""From a message to an exploration that waits for a slot: once, and never lost."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.ids import ExplorationId, id_from_key
from idea_explorer.domain.queue_messages import QUEUE_OWNER, QueueMessage
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.admission import admit
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.dispatch import dispatch
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.submit import submit
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps
from tests.fakes.service import FakeQueue, FakeWorkflow

HOOK = "https://hooks.example.com/ideas"
REQUEST = {"idea": "A subscription box for urban beekeepers", "deadline_seconds": 90}


class Service:
    """The dispatcher's dependencies, and what was asked of them."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / "store.db")
        self.queue = FakeQueue()
        self.workflow = FakeWorkflow()
        self.clock = ManualClock()
        self.deps = make_deps(
            folder,
            store=self.store,
            queue=lambda: self.queue,
            workflow=lambda: self.workflow,
            notices=lambda: self,
            clock=self.clock,
            max_running=2,
            policy=RequestPolicy(min_deadline_seconds=60, daily_cost_usd=1.0, spend=self.store),
        )
        self.asked: list[tuple[ExplorationId, int]] = []

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        self.asked.append((exploration_id, run))

    def spend_the_day(self) -> None:
        self.store.record(QUEUE_OWNER, self.clock.now().date(), "a-run", 1.0)

    def submitted(self, idea: str = "An idea", **request_fields: str) -> Exploration:
        request = ExploreRequest(idea=idea, **request_fields)  # type: ignore[arg-type]
        return submit(request, "ada", self.deps)

    def deliver(self, body: object, message_id: str = "m-1", receives: int = 1) -> str:
        """As the function does: handle the message, then start what waits."""
        text = body if isinstance(body, str) else json.dumps(body)
        result = dispatch(QueueMessage(message_id, text, receives), self.deps)
        admit(self.deps)
        return result

    def events(self, exploration_id: ExplorationId) -> list[str]:
        return [event.data for event in self.store.read(exploration_id)]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_a_stored_exploration_is_started_and_marked_running(service: Service) -> None:
    exploration = service.submitted()

    assert service.deliver({"id": exploration.id, "run": 1}) == "waiting"

    assert service.workflow.started == [(exploration.id, 1, 120)]
    assert service.store.load(exploration.id).status == "running"
    assert [json.loads(event) for event in service.events(exploration.id)] == [
        {"type": "status_changed", "from": "queued", "to": "running"}
    ]


def test_a_raw_request_becomes_an_exploration_of_the_queue(service: Service) -> None:
    assert service.deliver(REQUEST, message_id="m-7") == "waiting"

    stored = service.store.load(id_from_key("queue", "m-7"))
    assert (stored.owner, stored.request.idea) == ("queue", REQUEST["idea"])
    assert service.workflow.started == [(stored.id, 1, 90)]


def test_a_dedup_key_is_the_same_exploration_whatever_the_message(service: Service) -> None:
    assert service.deliver({**REQUEST, "dedup_key": "bees"}, message_id="m-1") == "waiting"
    assert service.deliver({**REQUEST, "dedup_key": "bees"}, message_id="m-2") == "known"

    assert len(service.workflow.started) == 1
    assert "dedup_key" not in service.store.load(id_from_key("queue", "bees")).request.model_dump()


def test_a_second_delivery_starts_nothing(service: Service) -> None:
    results = [service.deliver(REQUEST) for _ in range(5)]

    assert results == ["waiting", "known", "known", "known", "known"]
    assert len(service.workflow.started) == 1


def test_a_second_delivery_launches_what_was_only_marked(service: Service) -> None:
    exploration = service.submitted()
    service.workflow.failure = UnavailableError("Step Functions is not available.")
    service.deliver({"id": exploration.id})
    assert service.store.load(exploration.id).status == "running"
    assert service.workflow.started == []
    service.workflow.failure = None

    service.deliver({"id": exploration.id}, receives=2)

    assert service.workflow.started == [(exploration.id, 1, 120)]


def test_without_a_free_slot_it_waits_and_no_message_is_sent(service: Service) -> None:
    for n in range(service.deps.max_running):
        service.deliver({"id": service.submitted(f"Running {n}").id})
    service.workflow.started.clear()
    waiting = service.submitted("Waiting")

    assert service.deliver({"id": waiting.id}) == "waiting"

    assert service.queue.sent == []
    assert service.workflow.started == []
    assert service.store.load(waiting.id).status == "queued"


def test_a_message_of_an_earlier_run_starts_the_current_one_once(service: Service) -> None:
    exploration = service.submitted()
    service.store.take_over(exploration.id, lambda e: e.replace(number=2))

    assert service.deliver({"id": exploration.id, "run": 1}) == "waiting"
    assert service.deliver({"id": exploration.id}) == "known"
    assert service.workflow.started == [(exploration.id, 2, 120)]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "not json",
        "[]",
        "null",
        '"text"',
        '{"idea": "\\ud800"}',
        {},
        {"idea": ""},
        {"idea": "x", "unknown": 1},
        {"idea": "x", "deadline_seconds": 59},
        {"idea": "x", "mode": "missing"},
        {"idea": "x", "callback_secret": "hush"},
        {"idea": "x", "dedup_key": ""},
        {"idea": "x", "dedup_key": 7},
        {"idea": "x", "update": True, "continue_from": "018f0000-0000-7000-8000-000000000000"},
        {"id": 7},
        {"id": "../x"},
        {"id": "018f0000-0000-7000-8000-000000000000"},
    ],
    ids=str,
)
def test_a_poison_message_is_set_aside_and_stores_nothing(service: Service, body: object) -> None:
    assert service.deliver(body) == "dead_lettered"

    text = body if isinstance(body, str) else json.dumps(body)
    assert [dead for dead, _ in service.queue.dead] == [text]
    assert service.queue.dead[0][1]
    assert service.workflow.started == []
    assert service.store.unchanged_since("queued", service.clock.now().replace(year=9999)) == []


@pytest.mark.parametrize("extra", [{"run": 9}, {"run": "1"}, {"idea": "also"}], ids=str)
def test_a_poison_message_fails_the_exploration_it_names(
    service: Service, extra: dict[str, object]
) -> None:
    exploration = service.submitted()

    assert service.deliver({"id": exploration.id, **extra}) == "dead_lettered"

    failed = service.store.load(exploration.id)
    assert failed.status == "failed"
    assert failed.run.receipt is not None
    assert failed.run.receipt.resume == f"idea resume {exploration.id}"
    assert json.loads(service.events(exploration.id)[-1])["to"] == "failed"


def test_a_request_on_a_spent_day_is_stored_as_failed_with_the_reason(service: Service) -> None:
    service.spend_the_day()

    assert service.deliver({**REQUEST, "dedup_key": "bees"}) == "dead_lettered"

    [(_, reason)] = service.queue.dead
    failed = service.store.load(id_from_key(QUEUE_OWNER, "bees"))
    assert failed.run.receipt is not None
    assert (failed.status, failed.run.receipt.code) == ("failed", "BUDGET_EXCEEDED")
    assert failed.run.receipt.message == reason
    assert reason.startswith("Today's budget of $1.00 is spent")
    assert service.workflow.started == []


def test_what_a_spent_day_cannot_pay_for_is_started_by_no_other_dispatcher(
    service: Service,
) -> None:
    service.spend_the_day()
    create = service.store.create

    def create_while_another_admits(
        exploration: Exploration, events: Sequence[AnyEvent] = ()
    ) -> bool:
        created = create(exploration, events)
        admit(service.deps)
        return created

    service.store.create = create_while_another_admits  # type: ignore[method-assign]

    assert service.deliver({**REQUEST, "dedup_key": "bees", "webhook_url": HOOK}) == "dead_lettered"

    failed = service.store.load(id_from_key(QUEUE_OWNER, "bees"))
    assert (failed.status, service.workflow.started) == ("failed", [])
    assert json.loads(service.events(failed.id)[-1])["to"] == "failed"
    assert service.asked == [(failed.id, 1)]


def test_a_second_delivery_on_a_spent_day_leaves_what_was_started_alone(service: Service) -> None:
    service.deliver({**REQUEST, "dedup_key": "bees"})
    service.spend_the_day()

    assert service.deliver({**REQUEST, "dedup_key": "bees"}) == "known"

    assert service.store.load(id_from_key(QUEUE_OWNER, "bees")).status == "running"
    assert service.queue.dead == []


def test_whoever_asked_is_told_of_what_a_poison_message_failed(service: Service) -> None:
    told, untold = service.submitted(webhook_url=HOOK), service.submitted()

    service.deliver({"id": told.id, "run": 9})
    service.deliver({"id": untold.id, "run": 9})

    assert service.asked == [(told.id, 1)]


def test_whoever_asked_is_told_of_what_was_cancelled_in_the_queue(service: Service) -> None:
    exploration = service.submitted(webhook_url=HOOK)
    cancel(exploration.id, "ada", service.deps)

    assert service.deliver({"id": exploration.id}) == "known"

    assert service.asked == [(exploration.id, 1)]


def test_what_was_tried_already_is_not_asked_for_again(service: Service) -> None:
    exploration = service.submitted(webhook_url=HOOK)
    tried = Delivery(status="failed", run=1, attempts=3)
    service.store.take_over(exploration.id, lambda e: e.replace(delivery=tried))

    service.deliver({"id": exploration.id, "run": 9})

    assert service.asked == []


def test_a_poison_message_leaves_an_exploration_that_runs_alone(service: Service) -> None:
    exploration = service.submitted()
    service.deliver({"id": exploration.id})
    at = service.clock.now()
    service.store.take_over(exploration.id, lambda e: e.replace(deadline_at=at))

    assert service.deliver({"id": exploration.id, "run": 9}) == "dead_lettered"

    assert service.store.load(exploration.id).status == "running"


def test_an_error_leaves_the_message_to_the_queue_and_the_exploration_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    exploration = service.submitted()

    def fails(_: ExplorationId) -> Exploration:
        raise UnavailableError("AWS DynamoDB is not available.")

    with monkeypatch.context() as broken:
        broken.setattr(service.store, "load", fails)
        with pytest.raises(UnavailableError):
            service.deliver({"id": exploration.id}, receives=20)

    assert service.store.load(exploration.id).status == "queued"
    assert service.queue.dead == []
