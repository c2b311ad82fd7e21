"""Text on its way into the history of a run."""

import time

import pytest

from idea_explorer.domain.errors import LeaseLostError
from idea_explorer.domain.events import RunEvent, TextDelta, ThinkingDelta
from idea_explorer.usecases.run_events import GroupedText
from tests.fakes.clock import ManualClock


class Sink:
    def __init__(self, failure: Exception | None = None) -> None:
        self.events: list[RunEvent] = []
        self._failure = failure

    def emit(self, event: RunEvent) -> None:
        if self._failure:
            raise self._failure
        self.events.append(event)


def wait_for(sink: Sink) -> None:
    deadline = time.monotonic() + 20
    while not sink.events:
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.005)


def test_text_is_sent_in_groups_and_before_whatever_follows() -> None:
    sink, clock = Sink(), ManualClock()
    text = GroupedText(sink, clock, 60.0)
    for word in ("Bees ", "are "):
        text.emit(TextDelta(content=word))
    clock.pass_time(60)
    text.emit(TextDelta(content="small "))
    text.emit(ThinkingDelta(content="Are they?"))
    text.flush()

    assert sink.events == [
        TextDelta(content="Bees are small "),
        ThinkingDelta(content="Are they?"),
    ]


def test_the_last_word_before_a_pause_is_sent_in_time() -> None:
    sink = Sink()
    GroupedText(sink, ManualClock(), 0.02).emit(TextDelta(content="Bees"))

    wait_for(sink)

    assert sink.events == [TextDelta(content="Bees")]


def test_a_lease_that_is_lost_meanwhile_ends_the_run_at_its_next_event() -> None:
    text = GroupedText(Sink(LeaseLostError("Another worker has it.")), ManualClock(), 0.01)
    text.emit(TextDelta(content="Bees"))
    time.sleep(0.1)

    with pytest.raises(LeaseLostError):
        text.emit(TextDelta(content=" are small"))
