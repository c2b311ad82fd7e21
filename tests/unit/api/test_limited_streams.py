"""Streams of a deployment, where each occupies an execution: few, short, and none for a run that waits."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.app import build_handler
from idea_explorer.api.events import MARGIN_SECONDS, STREAM_SECONDS
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Pause
from tests.fakes.api import Api, Reply
from tests.unit.api.test_events import numbers, with_texts


@dataclass
class Slots:
    """`taken` are the seconds for which each slot was taken."""

    free: int = 1
    taken: list[float] = field(default_factory=list)
    is_broken: bool = False

    def take(self, *, seconds: float) -> str | None:
        if not self.free:
            return None
        self.free -= 1
        self.taken.append(seconds)
        return "slot"

    def release(self, slot: str) -> None:
        if self.is_broken:
            raise UnavailableError("DynamoDB does not answer.")
        self.free += 1


@dataclass
class StreamingContext:
    seconds: float = 75.0
    streams: bool = True

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


@pytest.fixture
def slots() -> Slots:
    return Slots()


@pytest.fixture
def api(tmp_path: Path, slots: Slots) -> Api:
    api = Api(tmp_path)
    deps = replace(api.deps, events_wait_seconds=0.0, events_poll_seconds=0.25, stream_slots=slots)
    api.handle = build_handler(deps)
    return api


def ask(
    api: Api, exploration: Exploration, after: int = 0, seconds: float = 75.0, **headers: str
) -> Any:
    """The body of a response: a stream, or a text where there is none."""
    sent = {"accept": "text/event-stream", "last-event-id": str(after), **headers}
    event = build_gateway_event("GET", f"/explorations/{exploration.id}/events", sent, b"", "ada")
    answer = api.handle(event, StreamingContext(seconds))
    assert answer["statusCode"] == 200
    return answer["body"]


def stream(
    api: Api, exploration: Exploration, after: int = 0, seconds: float = 75.0
) -> Iterator[str]:
    body = ask(api, exploration, after, seconds)
    assert isinstance(body, Iterator)
    return body


def test_a_stream_ends_after_a_minute_and_the_next_one_goes_on(api: Api, slots: Slots) -> None:
    running = with_texts(api, "a")

    first = stream(api, running, 1)
    parts = [next(first)]
    api.emit(running, TextDelta(content="b"))
    parts += first
    api.emit(running, TextDelta(content="c"))
    second = next(stream(api, running, 3))

    assert [number for part in parts for number in numbers(Reply(200, {}, part))] == [2, 3]
    assert parts[-1] == "retry: 100\n\n"
    assert api.clock.elapsed == pytest.approx(STREAM_SECONDS, abs=1)
    assert slots.taken[0] == STREAM_SECONDS + MARGIN_SECONDS
    assert numbers(Reply(200, {}, second)) == [4]


def test_a_stream_ends_before_the_function_runs_out_of_time(api: Api) -> None:
    list(stream(api, with_texts(api, "a"), 2, seconds=20))

    assert api.clock.elapsed == pytest.approx(20 - MARGIN_SECONDS)


def test_without_a_free_slot_events_are_polled(api: Api, slots: Slots) -> None:
    running = with_texts(api, "a")
    first = stream(api, running)
    next(first)

    assert ask(api, running, 1).endswith("retry: 1000\n\n")
    assert ask(api, running, 2) == "retry: 2000\n\n"
    assert api.clock.slept == []

    first.close()  # type: ignore[attr-defined]  # it is a generator
    assert slots.free == 1
    assert isinstance(ask(api, running, 1), Iterator)


def test_a_run_that_waits_is_polled(api: Api, slots: Slots) -> None:
    queued = api.submitted()
    running = with_texts(api, "a")
    pause = Pause(sentence="Overloaded.", until=api.clock.now() + timedelta(seconds=60))
    api.store.save(running.replace(pause=pause))

    assert ask(api, queued) == "retry: 1000\n\n"
    assert ask(api, running, 2) == ": Overloaded.\n\nretry: 1000\n\n"
    assert slots.taken == []


def test_a_stream_ends_when_the_run_has_to_wait(api: Api, slots: Slots) -> None:
    running = with_texts(api, "a")
    parts = stream(api, running, 1)
    next(parts)
    pause = Pause(sentence="Overloaded.", until=api.clock.now() + timedelta(seconds=60))
    api.store.save(running.replace(pause=pause))

    assert [*parts] == [": Overloaded.\n\nretry: 100\n\n"]
    assert api.clock.elapsed < 2
    assert slots.free == 1


def test_json_takes_no_slot(api: Api, slots: Slots) -> None:
    body = ask(api, with_texts(api, "a"), 1, accept="application/json")

    assert '"last_event_id":2' in body
    assert slots.taken == []


def test_a_slot_that_cannot_be_released_spoils_no_stream(api: Api, slots: Slots) -> None:
    slots.is_broken = True

    assert len([*stream(api, with_texts(api, "a"), 1)]) > 1
