"""What is in the library and in the index, told even where a look-up fails or is slow: as not known."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.events import ToolCallEnd
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from tests.fakes.discovering import (
    OWNED,
    RAINY,
    Bench,
    Music,
    catalogue_of,
    playlist,
)
from tests.fakes.qdrant_server import FakeQdrant
from tests.fakes.tidal_server import FakeTidal


@dataclass
class Shaky:
    """A library that can be told to fail or to hang; counts what it is asked."""

    failure: Exception | None = None
    hanging: threading.Event | None = None
    asked: list[str] = field(default_factory=list)

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._answer("isrcs")

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._answer("albums")

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        raise NotImplementedError

    def tracks(self) -> Sequence[OwnedTrack]:
        raise NotImplementedError

    def remove(self, isrcs: Collection[str]) -> None:
        raise NotImplementedError

    def _answer(self, what: str) -> frozenset[str]:
        self.asked.append(what)
        if self.failure:
            raise self.failure
        if self.hanging:
            self.hanging.wait(5)
        return frozenset()


def flags_of(found: Any, name: str) -> set[bool | None]:
    return {track[name] for track in found["tracks"]}


@pytest.mark.parametrize("failure", [UnavailableError("down"), RuntimeError("bug")])
def test_a_library_that_is_down_makes_flags_unknown_and_never_false(
    music: Music, tidal: FakeTidal, failure: Exception
) -> None:
    bench = Bench(music[0], Shaky(failure), catalogue_of(tidal))
    calls: list[tuple[str, JsonObject]] = [
        ("semanticSearch", {"query": RAINY}),
        ("tidalSearch", {"query": "harrow"}),
        ("albumTracks", {"albumId": "11"}),
        ("batchMetadata", {"isrcs": [OWNED]}),
        ("suggestPlaylist", playlist()),
    ]
    for name, given in calls:
        found = bench.call(name, **given)
        assert found["ok"] is True
        assert flags_of(found, "inLibrary") == {None}
        assert True in flags_of(found, "isIndexed")
        assert "library look-up failed: inLibrary is not known" in found["summary"]
    assert bench.call("tidalSearch", query="harrow")["albums"][0]["inLibrary"] is None
    assert bench.call("albumTracks", albumId="11")["album"]["inLibrary"] is None
    endings = [
        event.summary for event in bench.seen.of(ToolCallEnd) if isinstance(event, ToolCallEnd)
    ]
    assert all("inLibrary is not known" in summary for summary in endings)
    assert bench.log.of("flag_lookup_failed")[0]["source"] == "library"


def test_a_library_that_hangs_is_not_waited_for(
    music: Music,
) -> None:
    released = threading.Event()
    try:
        bench = Bench(music[0], Shaky(hanging=released), lookup_seconds=0.05)
        found = bench.call("semanticSearch", query=RAINY)
    finally:
        released.set()
    assert flags_of(found, "inLibrary") == {None}


def test_an_index_that_is_down_makes_the_catalogue_s_flags_unknown(
    music: Music, tidal: FakeTidal
) -> None:
    with FakeQdrant() as qdrant:
        index = QdrantTrackIndex(qdrant.url, "tracks")
    found = Bench(index, music[1], catalogue_of(tidal)).call("tidalSearch", query="harrow")
    assert flags_of(found, "isIndexed") == {None}
    assert True in flags_of(found, "inLibrary")
    assert "index look-up failed: isIndexed is not known" in found["summary"]


def test_flags_of_a_hundred_tracks_cost_one_request_for_each_source_and_result_set() -> None:
    with FakeQdrant() as qdrant, FakeTidal() as tidal:
        for number in range(100):
            tidal.add_album(
                str(number), f"Disc {number}", "Marathon", [(f"ZZMRT20{number:05}", "Lap")]
            )
        index = QdrantTrackIndex(qdrant.url, "tracks")
        index.add(
            [
                IndexedTrack(
                    isrc="ZZMRT2000007",
                    title="Lap",
                    artist="Marathon",
                    album="Disc 7",
                    description="Round and round.",
                )
            ]
        )
        qdrant.requests.clear()
        library = Shaky()
        bench = Bench(index, library, catalogue_of(tidal))
        found = bench.call("tidalSearch", query="marathon", limit=100)
        assert (len(found["tracks"]), len(found["albums"])) == (100, 100)
        assert sum(track["isIndexed"] for track in found["tracks"]) == 1
        assert sum(album["isIndexed"] for album in found["albums"]) == 1
        assert sorted(library.asked) == ["albums", "isrcs"]
        assert sorted(request.path for request in qdrant.requests) == [
            "/collections/tracks/facet",
            "/collections/tracks/points",
        ]
