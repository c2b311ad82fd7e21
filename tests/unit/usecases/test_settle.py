"""Closing what ended without saying so, from its last checkpoint."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import LeaseLostError, MissingError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Receipt
from idea_explorer.domain.transcript import ModelCallFinished, ModelCallStarted, Opening
from idea_explorer.domain.usage import Usage
from idea_explorer.usecases.settle import Cause, settle
from idea_explorer.usecases.submit import submit
from idea_explorer.usecases.sweep import (
    UNDELIVERED_TOO_LONG,
    sweep,
)
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps
from tests.fakes.service import FakeQueue

MODEL = "claude-sonnet-5-5"
TEXT = "Let me look.\n\n# Bees\n\nA market of 200 hives."


class World:
    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / "store.db")
        self.clock = ManualClock()
        self.queue = FakeQueue()
        self.deps = make_deps(
            folder,
            store=self.store,
            queue=lambda: self.queue,
            notices=lambda: self,
            clock=self.clock,
        )
        self.asked: list[ExplorationId] = []

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        self.asked.append(exploration_id)

    def queued(self) -> Exploration:
        request = ExploreRequest(idea="Urban bees")
        return submit(request, "ada", self.deps)

    def running(self) -> Exploration:
        at = self.clock.now()
        return self.store.take_over(self.queued().id, lambda e: e.started(at=at))

    def with_checkpoint(self, text: str = TEXT) -> Exploration:
        """A run that asked twice and was answered once."""
        exploration = self.running()
        transcript = self.store.open(exploration.id, exploration.lease)
        asked = ModelCallStarted(
            step=1, tools_off=False, max_tokens=9, reserved=Usage(output_tokens=9)
        )
        transcript.append(Opening(model_id=MODEL, system=[], tools=[], content=[]))
        transcript.append(asked)
        transcript.append(
            ModelCallFinished(
                step=1,
                content=[{"type": "text", "text": text}],
                stop_reason="tool_use",
                usage=Usage(input_tokens=1_000, output_tokens=100),
                duration_ms=5,
            )
        )
        transcript.append(replace(asked, step=2))
        return exploration

    def with_report(self) -> Exploration:
        """A run whose report is whole, but not published."""
        exploration = self.with_checkpoint()
        self.store.save_report(exploration.id, exploration.lease, "# Whole")
        self.store.save(exploration.replace(outcome="completed"))
        return exploration

    def events(self, exploration: Exploration) -> list[dict[str, object]]:
        return [json.loads(event.data) for event in self.store.read(exploration.id)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_timed_out_run_keeps_its_text_and_says_how_to_go_on(world: World) -> None:
    exploration = world.with_checkpoint()
    world.clock.pass_time(120)

    settled = settle(exploration.id, 1, "timed_out", world.deps)

    assert settled.status == "timed_out"
    assert settled.run.finished_at == world.clock.now()
    assert settled.run.stats.steps == 1
    assert settled.run.stats.usage.output_tokens == 109  # the unanswered call counts in full
    assert settled.run.receipt == Receipt(
        code="TIMEOUT",
        message="The deadline passed before the report was complete.",
        step=1,
        cost_usd=settled.run.stats.cost_usd,
        has_partial_text=True,
        resume=f"idea resume {exploration.id}",
    )
    assert world.store.load(exploration.id) == settled
    assert world.store.load_report(exploration.id) == "# Bees\n\nA market of 200 hives."
    assert [event["type"] for event in world.events(exploration)] == ["error", "status_changed"]


def test_the_worker_that_goes_on_writes_nothing_more(world: World) -> None:
    zombie = world.with_checkpoint()
    transcript = world.store.open(zombie.id, zombie.lease)

    settled = settle(zombie.id, 1, "timed_out", world.deps)

    with pytest.raises(LeaseLostError):
        transcript.append(Opening(model_id=MODEL, system=[], tools=[], content=[]))
    with pytest.raises(LeaseLostError):
        world.store.save(zombie)
    with pytest.raises(LeaseLostError):
        world.store.save_report(zombie.id, zombie.lease, "late")
    assert world.store.load(zombie.id) == settled


@pytest.mark.parametrize(
    ("cause", "status"),
    [("timed_out", "timed_out"), ("stopped", "cancelled"), ("broken", "failed")],
)
def test_a_run_that_never_said_a_word_is_closed_too(world: World, cause: str, status: str) -> None:
    exploration = world.queued()

    settled = settle(exploration.id, 1, cause, world.deps)  # type: ignore[arg-type]

    assert settled.status == status
    assert settled.run.stats.stop_reason == cause
    assert settled.run.receipt is not None
    assert settled.run.receipt.has_partial_text is False
    with pytest.raises(MissingError):
        world.store.load_report(exploration.id)


def test_a_run_that_was_asked_to_stop_is_cancelled_however_it_ended(world: World) -> None:
    exploration = world.with_checkpoint()
    world.store.request_cancel(exploration.id)

    assert settle(exploration.id, 1, "broken", world.deps).status == "cancelled"


def test_settling_twice_changes_nothing(world: World) -> None:
    exploration = world.with_checkpoint()
    settled = settle(exploration.id, 1, "timed_out", world.deps)
    told = world.events(exploration)

    assert settle(exploration.id, 1, "broken", world.deps) == settled
    assert world.events(exploration) == told


def test_a_later_run_is_not_settled_by_the_end_of_an_earlier_one(world: World) -> None:
    exploration = world.with_checkpoint()
    world.store.take_over(exploration.id, lambda e: e.replace(number=2))

    assert settle(exploration.id, 1, "broken", world.deps).status == "running"


def test_a_report_that_could_not_be_published_says_why(world: World) -> None:
    down = UnavailableError("GitHub does not answer.", hint="Try again later.")

    settled = settle(world.with_report().id, 1, "broken", world.deps, error=down)

    assert settled.run.receipt is not None
    assert settled.run.receipt.stage == "publish"
    assert settled.run.receipt.message == (
        "The report was written but not published: GitHub does not answer. Try again later."
    )


def test_a_report_that_could_not_be_published_is_kept(world: World) -> None:
    exploration = world.with_report()

    settled = settle(exploration.id, 1, "broken", world.deps)

    assert settled.status == "failed"
    assert settled.run.receipt is not None
    assert settled.run.receipt.message == "The report was written but not published."
    assert settled.run.receipt.stage == "publish"
    assert world.store.load_report(exploration.id) == "# Whole"


def test_a_report_whose_publishing_was_stopped_by_hand_is_cancelled_and_kept(world: World) -> None:
    exploration = world.with_report()

    settled = settle(exploration.id, 1, "stopped", world.deps)

    assert settled.status == "cancelled"
    assert settled.run.receipt is not None
    assert settled.run.receipt.has_partial_text


def test_an_outcome_without_a_text_becomes_the_status(world: World) -> None:
    exploration = world.with_checkpoint()
    receipt = Receipt(
        code="RATE_LIMITED",
        message="Busy.",
        step=0,
        cost_usd=None,
        has_partial_text=False,
        resume=None,
    )
    world.store.save(exploration.replace(outcome="failed", receipt=receipt))

    settled = settle(exploration.id, 1, "timed_out", world.deps)

    assert (settled.status, settled.run.receipt) == ("failed", receipt)


@pytest.mark.parametrize("cause", ["broken", "stopped", "timed_out"])
def test_a_failed_outcome_stays_failed_with_its_own_receipt(world: World, cause: Cause) -> None:
    exploration = world.with_report()
    receipt = Receipt(
        code="INTERNAL_ERROR",
        message="The model declined.",
        step=1,
        cost_usd=None,
        has_partial_text=True,
        resume=None,
    )
    world.store.save(exploration.replace(outcome="failed", receipt=receipt))

    settled = settle(exploration.id, 1, cause, world.deps)

    assert (settled.status, settled.run.receipt) == ("failed", receipt)


def test_a_run_that_nothing_works_on_any_more_is_settled(world: World) -> None:
    forgotten = world.with_checkpoint()
    world.clock.pass_time(world.deps.running_too_long_seconds + 1)
    busy = world.running()

    assert sweep(world.deps).settled == 1
    assert world.store.load(forgotten.id).status == "failed"
    assert world.store.load(busy.id).status == "running"


def test_one_sweep_settles_only_so_many(world: World) -> None:
    for _ in range(101):
        world.running()
    world.clock.elapsed += timedelta(days=1).total_seconds()

    assert sweep(world.deps).settled == 100
    assert sweep(world.deps).settled == 1


def test_a_sweep_has_overdue_webhooks_sent_and_no_others(world: World) -> None:
    hook = ExploreRequest(idea="Urban bees", webhook_url="https://hooks.example.com/x")
    at = world.clock.now()
    ended = Exploration.new(hook, "ada", at=at)
    later = {"status": "failed", "finished_at": at}
    tried = {"status": "pending", "run": 1, "rounds": 4, "next_try": at + timedelta(hours=2)}
    for exploration in (
        ended.replace(**later),
        Exploration.new(hook, "ada", at=at).replace(
            **later, delivery=ended.delivery.model_copy(update=tried)
        ),
        Exploration.new(ExploreRequest(idea="Untold"), "ada", at=at).replace(**later),
    ):
        world.store.create(exploration)

    sweep(world.deps)
    assert world.asked == []  # its workflow has just begun to
    world.clock.pass_time(300 + UNDELIVERED_TOO_LONG.total_seconds() + 1)
    assert sweep(world.deps).webhooks_requested == 1

    assert world.asked == [ended.id]
