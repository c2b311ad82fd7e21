"""What an open transcript stores together, and what becomes of it where a store fails."""

import zlib

import pytest

from idea_explorer.adapters.transcripts import MAX_DELTA, Batch, LeasedTranscript
from idea_explorer.domain.errors import ExplorerError, LeaseLostError, UnavailableError
from idea_explorer.domain.events import AnyEvent, StatusChanged, TextDelta, ThinkingDelta
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.transcript_json import parse_entry
from tests.fakes.explorations import an_exploration, said, words

LOST = LeaseLostError("Another worker has it.")
AWAY = UnavailableError("The store is not available.")
TURN = StatusChanged(from_="queued", to="running")


class Store:
    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.failures: list[ExplorerError] = []
        self.tried: list[Batch] = []

    def write(self, batch: Batch) -> None:
        self.tried.append(batch)
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(batch)

    @property
    def entries(self) -> list[AnyEntry]:
        stored: dict[int, bytes] = {}
        for batch in self.batches:
            stored |= dict(enumerate(batch.entries, start=batch.number))
        return [parse_entry(zlib.decompress(stored[number])) for number in range(len(stored))]

    @property
    def events(self) -> list[AnyEvent]:
        return [event for batch in self.batches for event in batch.events]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def transcript(store: Store) -> LeasedTranscript:
    return LeasedTranscript([], store.write)


def test_entries_events_and_the_record_go_to_the_store_in_one_write(
    store: Store, transcript: LeasedTranscript
) -> None:
    transcript.add(said("one"))
    transcript.add_event(TURN)
    transcript.set_record(an_exploration(title="early"))
    transcript.set_record(an_exploration(title="late"))
    assert list(transcript.entries) == [said("one")]
    assert store.batches == []

    transcript.append(said("two"))

    (batch,) = store.batches
    assert store.entries == [said("one"), said("two")]
    assert batch.events == [TURN]
    assert batch.record is not None
    assert batch.record.run.title == "late"
    transcript.flush()
    assert len(store.batches) == 1


def test_pieces_of_a_text_are_one_event_and_stay_in_order(
    store: Store, transcript: LeasedTranscript
) -> None:
    for event in (words("Bees "), words("are "), ThinkingDelta(content="Are they?"), TURN):
        transcript.add_event(event)
    transcript.add_event(words("small."))
    transcript.flush()

    assert store.events == [
        TextDelta(content="Bees are "),
        ThinkingDelta(content="Are they?"),
        TURN,
        TextDelta(content="small."),
    ]


def test_a_text_that_nobody_could_store_for_long_is_cut_into_events(
    store: Store, transcript: LeasedTranscript
) -> None:
    for _ in range(5):
        transcript.add_event(words("x" * MAX_DELTA))
    transcript.flush()

    assert len(store.events) == 5


def test_what_failed_to_be_stored_is_stored_first_and_as_it_was(
    store: Store, transcript: LeasedTranscript
) -> None:
    """A store can only tell that it has seen a write if it is the same one."""
    store.failures = [AWAY, AWAY]
    transcript.add(said("one"))
    transcript.add_event(words("Bees "))
    for _ in range(2):
        with pytest.raises(UnavailableError):
            transcript.flush()
        transcript.add_event(words("are small."))

    transcript.append(said("two"))

    assert store.tried[0] == store.tried[1] == store.batches[0]
    assert store.entries == [said("one"), said("two")]
    assert store.events == [words("Bees "), words("are small.are small.")]


def test_what_failed_to_be_appended_is_stored_first_and_as_it_was(
    store: Store, transcript: LeasedTranscript
) -> None:
    """It may be stored by now: then another write with the same entry or events would store them twice."""
    store.failures = [AWAY]
    transcript.add(said("results"))
    transcript.add_event(TURN)
    transcript.set_record(an_exploration(title="early"))
    with pytest.raises(UnavailableError):
        transcript.append(said("call"))
    assert list(transcript.entries) == [said("results"), said("call")]
    transcript.add_event(words("Bees"))

    transcript.append(said("answer"))

    assert store.tried[0] == store.tried[1] == store.batches[0]
    assert store.entries == [said("results"), said("call"), said("answer")]
    assert store.events == [TURN, words("Bees")]


def test_nothing_is_left_to_store_once_the_lease_is_lost(
    store: Store, transcript: LeasedTranscript
) -> None:
    transcript.append(said("one"))
    store.failures = [LOST]
    transcript.add(said("two"))
    transcript.add_event(TURN)
    with pytest.raises(LeaseLostError):
        transcript.append(said("three"))
    assert list(transcript.entries) == [said("one")]

    transcript.flush()

    assert store.entries == [said("one")]
    assert store.events == []


def test_what_is_being_written_is_not_stored_yet(store: Store) -> None:
    seen: list[bool] = []

    def is_stored() -> bool:
        return opened.unsaved is None

    def write(batch: Batch) -> None:
        seen.append(is_stored())
        store.write(batch)

    opened = LeasedTranscript([], write)
    opened.add_event(TURN)
    store.failures = [AWAY]
    with pytest.raises(UnavailableError):
        opened.flush()

    assert not is_stored()
    opened.flush()
    assert seen == [False, False]
    assert is_stored()
