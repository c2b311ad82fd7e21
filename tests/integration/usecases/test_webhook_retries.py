"""A webhook outlives a receiver that is down: it is tried again for a day, and the record tells."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.adapters.sqlite.queue import LocalQueue
from idea_explorer.domain.errors import UndeliveredError
from idea_explorer.domain.events import RunEvent, WebhookGivenUp
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.webhook import WAITS, WebhookTarget
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Job
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import deliver_due, notify, resend
from idea_explorer.usecases.workers import Workers
from idea_explorer.wiring.deps import local_deps
from tests.fakes.clock import ManualClock
from tests.fakes.explorations import NOW, an_exploration
from tests.fakes.receiver import LoopbackPosts, Receiver

URL = "https://hooks.example.com/ideas"
HOOKED = ExploreRequest(idea="Bees", webhook_url=URL, callback_secret="whsec_c2VjcmV0")


class World:
    """Explorations that have ended, a receiver that can be down, and a clock that is moved by hand."""

    def __init__(self, stores: Deps, receiver: Receiver) -> None:
        self.stores = stores
        self.receiver = receiver
        self.down = False
        self.clock = ManualClock()
        posts = LoopbackPosts(receiver)
        self.given_up: list[RunEvent] = []
        self.deps = replace(
            stores,
            webhooks=lambda: posts,
            clock=self.clock,
            retries_webhooks=True,
            sinks_for=lambda _: [self],
        )

    def emit(self, event: RunEvent) -> None:
        self.given_up.append(event)

    def ended(self, request: ExploreRequest = HOOKED, **changes: object) -> Exploration:
        new = Exploration.new(request, "ada", at=NOW)
        ended = new.replace(**({"status": "completed", "finished_at": NOW} | changes))
        assert self.stores.explorations.create(ended)
        return ended

    def load(self, exploration: Exploration) -> Exploration:
        return self.stores.explorations.load(exploration.id)

    def tell(self, exploration: Exploration) -> bool:
        """What the workflow does: True where it has to come again."""
        try:
            notify(exploration.id, exploration.run.number, self.deps)
        except UndeliveredError:
            return True
        return False

    def due(self) -> list[ExplorationId]:
        return [e.id for e in self.stores.explorations.due_deliveries(self.clock.now())]


@pytest.fixture
def status() -> int:
    return 500


@pytest.fixture
def world(stores: Deps, status: int) -> Iterator[World]:
    worlds: list[World] = []
    with Receiver(lambda: worlds[0].down, status) as receiver:
        worlds.append(World(stores, receiver))
        yield worlds[0]


def test_a_receiver_that_is_down_is_tried_for_a_day_and_the_record_tells(world: World) -> None:
    world.down = True
    ended = world.ended()
    began = world.clock.now()

    waits: list[float] = []
    while world.tell(ended):
        delivery = world.load(ended).delivery
        assert (delivery.status, delivery.last_error) == ("pending", "The server answered 500.")
        assert delivery.attempts == 3 * (len(waits) + 1)
        assert delivery.next_try is not None
        waits.append((delivery.next_try - world.clock.now()).total_seconds())
        world.clock.pass_time(waits[-1])

    assert waits == list(WAITS)
    assert timedelta(hours=24) < world.clock.now() - began < timedelta(hours=25)
    final = world.load(ended)
    assert (final.delivery.status, final.delivery.next_try) == ("failed", None)
    assert final.delivery.attempts == 3 * (len(WAITS) + 1) == len(world.receiver.received)
    assert len({(message.id, message.body) for message in world.receiver.received}) == 1
    assert final.replace(delivery=ended.delivery, lease=ended.lease) == ended
    assert not world.tell(ended)  # what has failed is left alone
    assert world.given_up == [WebhookGivenUp(error="The server answered 500.")]
    assert len(world.receiver.received) == final.delivery.attempts


def test_a_receiver_that_comes_back_gets_it_once(world: World) -> None:
    world.down = True
    ended = world.ended()
    assert world.tell(ended)
    assert world.tell(ended)
    world.down = False

    assert not world.tell(ended)
    assert not world.tell(ended)

    (taken,) = world.receiver.taken
    assert {message.body for message in world.receiver.received} == {taken.body}
    assert {message.id for message in world.receiver.received} == {f"msg_{ended.id}_1"}
    delivery = world.load(ended).delivery
    assert (delivery.status, delivery.attempts, delivery.next_try) == ("delivered", 7, None)
    assert delivery.last_error is None


@pytest.mark.parametrize("status", [408, 425, 429, 500, 501, 502, 503, 504, 599])
def test_one_that_is_down_or_busy_is_tried_later(world: World) -> None:
    world.down = True
    ended = world.ended()

    assert world.tell(ended)
    assert world.load(ended).delivery.status == "pending"


@pytest.mark.parametrize(
    ("status", "attempts"),
    [(301, 3), (400, 3), (401, 3), (403, 3), (404, 3), (409, 3), (410, 1), (413, 3), (422, 3)],
)
def test_one_that_refuses_the_message_is_not_tried_for_a_day(world: World, attempts: int) -> None:
    world.down = True
    ended = world.ended()

    assert not world.tell(ended)

    delivery = world.load(ended).delivery
    assert (delivery.status, delivery.attempts) == ("failed", attempts)
    assert delivery.next_try is None
    world.clock.pass_time(100_000)
    assert world.due() == []


# Who tries again where no workflow does


def test_a_message_is_due_when_the_record_says(world: World) -> None:
    world.down = True
    ended, untold = world.ended(), world.ended(ExploreRequest(idea="Untold"))
    world.tell(ended)
    assert world.due() == []
    world.clock.pass_time(59)
    assert world.due() == []

    world.clock.pass_time(2)

    assert world.due() == [ended.id]
    assert untold.id not in world.due()


def test_a_message_that_nobody_sent_is_due_five_minutes_after_the_end(world: World) -> None:
    """Whoever was to send it was killed between the end and its message."""
    ended = world.ended()
    running = an_exploration(status="running", request=HOOKED)
    world.stores.explorations.create(running)
    world.clock.pass_time(299)
    assert world.due() == []
    world.clock.pass_time(2)
    assert world.due() == [ended.id]

    assert deliver_due(world.deps)
    assert not deliver_due(world.deps)

    assert world.load(ended).delivery.status == "delivered"
    assert len(world.receiver.taken) == 1


def test_the_longest_overdue_is_first_and_one_that_is_down_holds_up_no_other(world: World) -> None:
    first, second = world.ended(), world.ended()
    world.down = True
    world.tell(second)
    world.clock.pass_time(1)
    world.tell(first)
    world.clock.pass_time(100)
    assert world.due() == [second.id, first.id]

    assert deliver_due(world.deps)
    world.down = False
    assert deliver_due(world.deps)

    delivered = [world.load(e).delivery.status for e in (second, first)]
    assert delivered == ["pending", "delivered"]


def test_workers_at_once_send_a_message_once(world: World) -> None:
    ended = world.ended()
    world.clock.pass_time(600)
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        deliver_due(world.deps)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(world.receiver.received) == 1
    assert world.load(ended).delivery.status == "delivered"


def test_a_new_run_is_told_anew(world: World) -> None:
    ended = world.ended(status="partial")
    world.tell(ended)
    world.stores.explorations.take_over(
        ended.id,
        lambda e: e.moved("queued", at=NOW, number=2, delivery=e.new_delivery),
    )
    queued = world.load(ended)
    assert (queued.delivery.status, queued.delivery.attempts) == ("pending", 0)
    assert world.due() == []
    world.stores.explorations.take_over(
        ended.id, lambda e: e.started(at=NOW).finished("completed", at=NOW)
    )

    world.tell(world.load(ended))

    assert [message.id[-2:] for message in world.receiver.taken] == ["_1", "_2"]


# By hand


def test_a_resend_that_fails_leaves_the_timetable_as_it_is(world: World) -> None:
    world.down = True
    ended = world.ended()
    world.tell(ended)
    before = world.load(ended).delivery
    world.clock.pass_time(10)

    after = resend(ended.id, world.deps).delivery

    assert (after.status, after.next_try, after.rounds) == ("pending", before.next_try, 1)
    assert after.attempts == 6


def test_a_resend_of_what_has_failed_tells_how_it_went(world: World) -> None:
    world.down = True
    ended = world.ended()
    with suppress(UndeliveredError):
        notify(ended.id, 1, replace(world.deps, retries_webhooks=False))
    assert world.load(ended).delivery.status == "failed"

    assert resend(ended.id, world.deps).delivery.status == "failed"
    world.down = False
    assert resend(ended.id, world.deps).delivery.status == "delivered"


# The default


def test_the_default_is_told_where_a_request_names_nobody(world: World) -> None:
    new = Exploration.new(ExploreRequest(idea="Bees"), "ada", at=NOW, default_webhook=True)
    ended = new.replace(status="completed", finished_at=NOW)
    world.stores.explorations.create(ended)
    own = world.ended(ExploreRequest(idea="Own", webhook_url=URL))
    posts: list[str] = []

    class Posts(LoopbackPosts):
        def post(self, url: str, *given: object) -> int:
            posts.append(url)
            return super().post(url, *given)  # type: ignore[arg-type]

    target = WebhookTarget("https://default.example.com/hook", "s3cret")
    deps = replace(
        world.deps, webhooks=lambda: Posts(world.receiver), default_webhook=lambda: target
    )
    notify(ended.id, 1, deps)
    notify(own.id, 1, deps)

    assert posts == [target.url, URL]
    signed, unsigned = world.receiver.taken
    assert "x-signature" in signed.headers
    assert "x-signature" not in unsigned.headers  # the default's secret is not the request's


def test_a_default_that_was_taken_away_is_a_failed_delivery(world: World) -> None:
    new = Exploration.new(ExploreRequest(idea="Bees"), "ada", at=NOW, default_webhook=True)
    ended = new.replace(status="completed", finished_at=NOW)
    world.stores.explorations.create(ended)

    assert not world.tell(ended)

    delivery = world.load(ended).delivery
    assert (delivery.status, delivery.attempts) == ("failed", 0)
    assert "no webhook set here any more" in str(delivery.last_error)


# `idea serve`


class Machine:
    """The workers of `idea serve` over one folder, and how long they took for their jobs."""

    def __init__(self, folder: Path, world: World) -> None:
        self.store = local_deps(Settings(research_dir=folder), SilentLog())
        self.jobs = LocalQueue(folder / "queue.db", world.clock)
        self.done: list[ExplorationId] = []
        self.workers = Workers(
            self.jobs, self._work, lambda: None, 1, SilentLog(), lambda: deliver_due(world.deps)
        )

    def _work(self, job: Job) -> None:
        self.done.append(job.exploration_id)
        self.jobs.done(job)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


def test_a_served_machine_sends_what_is_due_survives_a_restart_and_goes_on_working(
    tmp_path: Path,
) -> None:
    worlds: list[World] = []
    with Receiver(lambda: worlds[0].down) as receiver:
        world = World(local_deps(Settings(research_dir=tmp_path), SilentLog()), receiver)
        worlds.append(world)
        world.down = True
        ended = world.ended()
        world.tell(ended)
        world.clock.pass_time(61)

        machine = Machine(tmp_path, world)
        with machine.workers:
            until(lambda: world.load(ended).delivery.rounds == 2)
            other = an_exploration()
            machine.jobs.send(other.id, 1)
            until(lambda: machine.done == [other.id])  # nobody waits for the receiver

        world.down = False
        world.clock.pass_time(121)
        with Machine(tmp_path, world).workers:
            until(lambda: world.load(ended).delivery.status == "delivered")

    assert len(receiver.taken) == 1
    assert world.load(ended).delivery.attempts == 7
