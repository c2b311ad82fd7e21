"""Services as slow as they are: results in about three seconds, and what is not known said to be so."""

import io
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import OwnedTrack
from idea_explorer.domain.tools import ToolCall
from idea_explorer.tools.discover import TARGET_SECONDS, discover_tools
from idea_explorer.usecases.import_music import index_tracks
from tests.fakes.discovering import OWNED, RAINY, SAMPLE, catalogue_of, playlist
from tests.fakes.engine import RecordedLog
from tests.fakes.qdrant_server import FakeQdrant
from tests.fakes.tidal_server import FakeTidal

ROUNDS = 12


class Down:
    """A library that does not answer."""

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        raise UnavailableError("The library is down.")

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        raise UnavailableError("The library is down.")

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        raise NotImplementedError

    def tracks(self) -> Sequence[OwnedTrack]:
        raise NotImplementedError

    def remove(self, isrcs: Collection[str]) -> None:
        raise NotImplementedError


@pytest.mark.slow
def test_slow_services_give_results_and_flags_that_are_true(tidal: FakeTidal) -> None:
    clock, log = SystemClock(), RecordedLog()
    with FakeQdrant() as qdrant:
        index = QdrantTrackIndex(qdrant.url, "tracks", LexiconEmbedder())
        index_tracks(io.BytesIO((SAMPLE / "tracks.jsonl").read_bytes()), index)
        qdrant.delays["/"] = 0.9
        tidal.delays |= {"/auth": 0.6, "/v2": 1.5}
        tools = discover_tools(index, Down(), catalogue_of(tidal, clock), clock, log)
        caller = ArgumentValidator(
            tools, ToolLimiter(ToolRetrier(ToolExecutor(log), clock, log)), log
        )
        time.sleep(1.0)  # the model thinks before its first call
        calls: list[tuple[str, JsonObject]] = [
            ("tidalSearch", {"query": "harrow", "limit": 50}),
            ("albumTracks", {"albumId": "11"}),
            ("semanticSearch", {"query": RAINY}),
            ("batchMetadata", {"isrcs": [OWNED]}),
            ("suggestPlaylist", playlist()),
        ]

        def run(number: int) -> tuple[str, float, JsonObject]:
            name, given = calls[number % len(calls)]
            began = time.monotonic()
            result = caller.call(ToolCall(id=str(number), name=name, input=given))
            return name, time.monotonic() - began, result.payload

        with ThreadPoolExecutor(4) as executor:
            done = list(executor.map(run, range(ROUNDS * len(calls))))
        assert qdrant.contract.violations == []
    assert tidal.contract.violations == []
    took = sorted(seconds for _, seconds, _ in done)
    p95 = took[round(0.95 * len(took)) - 1]
    print(f"{len(took)} calls of slow services: p50 {took[len(took) // 2]:.2f} s, p95 {p95:.2f} s")
    for name, _, payload in done:
        assert payload["ok"] is True, (name, payload)
        tracks = payload["tracks"]
        assert isinstance(tracks, list)
        assert tracks
        for track in tracks:
            assert isinstance(track, dict)
            assert track["inLibrary"] is None
            assert track["isIndexed"] is (
                track["isrc"] != "ZZHRR1900099" if track["isrc"] else None
            )
        assert "inLibrary is not known" in str(payload["summary"])
    assert p95 <= TARGET_SECONDS
