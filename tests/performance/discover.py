"""How fast music discovery is. `tests.performance.search_quality` measures how well it finds.

    python -m tests.performance.discover [--tracks 100000]

A synthetic collection made of the sample's sentences, on this machine, in this process; the
catalogue is a server on the loopback interface.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.adapters.music.sqlite_library import SqliteLibrary
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.domain.tools import ToolCall
from idea_explorer.ports.music import TrackIndex
from idea_explorer.tools.discover import TARGET_SECONDS, discover_tools
from tests.fakes.discovering import catalogue_of
from tests.fakes.engine import RecordedLog
from tests.fakes.tidal_server import FakeTidal

SAMPLE = Path(__file__).parents[2] / "examples" / "music"
ROUNDS = 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracks", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        speed(Path(folder), arguments.tracks)


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (SAMPLE / name).read_text("utf-8").splitlines()]


def speed(folder: Path, count: int) -> None:
    print(f"Speed: {count:,} synthetic tracks")
    print(f"  importing numpy            {numpy_import():8.0f} ms (once, above 5,000 tracks)")
    path = folder / "large.db"
    index, library = SqliteTrackIndex(path, LexiconEmbedder()), SqliteLibrary(path)
    tracks = synthetic(count)
    began = time.perf_counter()
    index.add(tracks)
    library.add([OwnedTrack(isrc=track.isrc) for track in tracks[::3]])
    print(f"  build                      {time.perf_counter() - began:8.1f} s")
    size = sum(file.stat().st_size for file in folder.glob("large.db*"))
    print(f"  size                       {size / 1e6:8.1f} MB")
    queries = [query["query"] for query in lines("queries.jsonl")]
    began = time.perf_counter()
    index.search(queries[0], 20)
    print(f"  first query (loads all)    {(time.perf_counter() - began) * 1_000:8.0f} ms")
    warm = timed([partial(index.search, query, 20) for query in queries] * 4)
    print(
        f"  warm query p50 / p99       {percentile(warm, 50):8.1f} / {percentile(warm, 99):.1f} ms"
    )
    words = SqliteTrackIndex(path)
    alone = timed([partial(words.search, query, 20) for query in queries] * 4)
    print(
        f"  by words p50 / p99         {percentile(alone, 50):8.1f} / {percentile(alone, 99):.1f} ms"
    )
    print()
    tool_calls(index, library, tracks)


def tool_calls(index: TrackIndex, library: SqliteLibrary, tracks: Sequence[IndexedTrack]) -> None:
    clock, log = SystemClock(), RecordedLog()
    with FakeTidal() as server:
        for number in range(100):
            listed = [(track.isrc, track.title) for track in tracks[number * 20 : number * 20 + 20]]
            server.add_album(str(number), f"Record {number}", "Marathon", listed)
        catalogue = catalogue_of(server, clock)
        tools = discover_tools(index, library, catalogue, clock, log)
        caller = ArgumentValidator(
            tools, ToolLimiter(ToolRetrier(ToolExecutor(log), clock, log)), log
        )
        isrcs = [track.isrc for track in tracks[:100]]
        suggestions: list[Any] = [
            {"isrc": track.isrc, "title": track.title, "artist": track.artist, "reasoning": "Fits."}
            for track in tracks[:50]
        ]
        queries = [query["query"] for query in lines("queries.jsonl")]
        calls: list[tuple[str, Callable[[int], JsonObject], int]] = [
            ("semanticSearch", lambda n: {"query": queries[n % 50], "limit": 50}, 0),
            ("tidalSearch", lambda _: {"query": "marathon", "limit": 100}, 0),
            ("albumTracks", lambda n: {"albumId": str(n)}, 0),
            ("batchMetadata", lambda _: {"isrcs": [*isrcs]}, 0),
            ("suggestPlaylist", lambda _: {"title": "Fifty", "tracks": suggestions}, 0),
            ("tidalSearch", lambda _: {"query": "marathon", "limit": 20}, 503),
            ("albumTracks", lambda n: {"albumId": str(n)}, 429),
        ]
        print(f"Tool calls at their limits, target {TARGET_SECONDS:g} s")
        print(f"  {'tool':34} {'p50 ms':>8} {'p95 ms':>8}  within")
        for name, given, fault in calls:

            def call(number: int, name: str = name, given: Any = given, fault: int = fault) -> None:
                if fault:
                    server.fail(fault, path="/v2")
                result = caller.call(ToolCall(id="b", name=name, input=given(number)))
                assert result.ok, result.payload

            took = timed([partial(call, number) for number in range(5 if fault else ROUNDS)])
            title = f"{name}, after one {fault}" if fault else name
            within = "yes" if percentile(took, 95) <= TARGET_SECONDS * 1_000 else "NO"
            print(f"  {title:34} {percentile(took, 50):8.0f} {percentile(took, 95):8.0f}  {within}")


def synthetic(count: int) -> list[IndexedTrack]:
    """Tracks of four or five sentences each, drawn from those of the sample."""
    chance = random.Random(1)
    sentences = [
        sentence
        for line in lines("tracks.jsonl")
        for sentence in line["description"].replace("; ", ". ").split(". ")
    ]
    return [
        IndexedTrack(
            isrc=f"ZZSYN{number:07}",
            title=f"Number {number}",
            artist=f"Artist {number % 5_000}",
            album=f"Album {number % 20_000}",
            description=". ".join(chance.sample(sentences, chance.choice([4, 5])))[:1_500],
        )
        for number in range(count)
    ]


def numpy_import() -> float:
    code = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return statistics.median(runs) * 1_000


def timed(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Milliseconds of each."""
    took = []
    for call in calls:
        began = time.perf_counter()
        call()
        took.append((time.perf_counter() - began) * 1_000)
    return took


def percentile(values: Sequence[float], share: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * share / 100) - 1)]


if __name__ == "__main__":
    main()
