"""How well music search finds: by words alone, by default, and with the extra `embedder`.

    python -m tests.performance.search_quality [--data folder]

Two sets (docs/discover.md says how they were made and which one the weights were chosen on):

- the sample in examples/music: nDCG@10 over 50 queries and 200 tracks, labelled by themes that are never
  indexed;
- 2,000 captions of MusicCaps (CC BY-SA 4.0, not part of this repository): P@10 over 40 queries, labelled by
  the aspects that its musicians listed apart from the caption, and over the names of AudioSet's classes,
  labelled by AudioSet's raters.
"""

import argparse
import ast
import csv
import hashlib
import io
import json
import math
import re
import statistics
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.adapters.music.word_model import LexiconAndModelEmbedder, WordModel
from idea_explorer.domain.errors import UpstreamTimeoutError
from idea_explorer.domain.music import IndexedTrack
from idea_explorer.ports.music import Embedder, FoundTracks, TrackIndex
from tests.fakes.qdrant_server import FakeQdrant

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "music"
QUERIES = ROOT / "tests" / "fixtures" / "music" / "caption_queries.jsonl"
URL = (
    "https://raw.githubusercontent.com/simonw/musiccaps-datasette/"
    "ecbb5a1f52e52cf09a38dd7698578ccca7cef353/data/"
)
CAPTION_FILE, CLASS_FILE = "musiccaps-public.csv", "yamnet_class_map.csv"
SHA256 = {
    CAPTION_FILE: "2f5e321c05ade97f827b58a7b01b75ffbff344fa91d08fa3df7b9dd2e67079bc",
    CLASS_FILE: "cdf24d193e196d9e95912a2667051ae203e92a2ba09449218ccb40ef787c6df2",
}
CAPTIONS = 2_000
MIN_RELEVANT = 10  # fewer could not fill ten places
ATTEMPTS = 5
EVERYTHING = {"Music", "Speech"}  # classes that say nothing about a clip
NONSENSE = ["xqzv blorp fnord", "asdfghjkl", "qwrtplk mnbvcx", "kubernetes ingress yaml", "!!! ???"]


Row: TypeAlias = Mapping[str, str]
Query: TypeAlias = tuple[str, Mapping[str, int]]


@dataclass(frozen=True)
class LabelledSet:
    """Queries with the grade of each relevant track."""

    name: str
    tracks: Sequence[IndexedTrack]
    queries: Sequence[Query]
    score: Callable[[Sequence[str], Mapping[str, int]], float]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help=f"folder with {' and '.join(SHA256)}")
    folder = parser.parse_args().data
    captions = pick_captions(read_rows(CAPTION_FILE, folder))
    sets = [
        load_sample(),
        load_captions(captions),
        load_classes(captions, read_rows(CLASS_FILE, folder)),
    ]
    report(sets)


def report(sets: Sequence[LabelledSet]) -> None:
    for each in sets:
        print(f"{each.name}: {len(each.queries)} queries over {len(each.tracks)} tracks")
    print()
    print(f"  {'':34} {'nDCG@10':>8} {'P@10':>9} {'P@10':>9} {'found':>7} {'nonsense':>9}")
    print(f"  {'':34} {'sample':>8} {'captions':>9} {'classes':>9} {'none':>7} {'found':>9}")
    with tempfile.TemporaryDirectory() as folder, FakeQdrant() as qdrant:
        for number, (name, embedder) in enumerate(embedders()):
            measure(
                f"{name}, embedded",
                [
                    SqliteTrackIndex(Path(folder) / f"{number}-{each.name}.db", embedder)
                    for each in sets
                ],
                sets,
            )
            measure(
                f"{name}, Qdrant's engine",
                [QdrantTrackIndex(qdrant.url, f"{number}-{each.name}", embedder) for each in sets],
                sets,
            )


def embedders() -> list[tuple[str, Embedder | None]]:
    lexicon = LexiconEmbedder()
    ways: list[tuple[str, Embedder | None]] = [("BM25", None), ("default", lexicon)]
    if find_spec("wordllama") is not None:
        ways.append(("with the extra", LexiconAndModelEmbedder(lexicon, WordModel())))
    return ways


def measure(name: str, indexes: Sequence[TrackIndex], sets: Sequence[LabelledSet]) -> None:
    scores, none, wrong = [], 0, 0
    for index, labelled in zip(indexes, sets, strict=True):
        index.add(labelled.tracks)
        found = [
            [hit.track.isrc for hit in search(index, query, 10).hits]
            for query, _ in labelled.queries
        ]
        each = [
            labelled.score(isrcs, relevant)
            for isrcs, (_, relevant) in zip(found, labelled.queries, strict=True)
        ]
        scores.append(statistics.mean(each))
        none += sum(not isrcs for isrcs in found)
        wrong += sum(search(index, query, 1).total > 0 for query in NONSENSE)
    sample, captions, classes = scores
    print(f"  {name:34} {sample:8.3f} {captions:9.3f} {classes:9.3f} {none:7} {wrong:9}")


def search(index: TrackIndex, query: str, limit: int) -> FoundTracks:
    """Ask again when a busy machine made the answer late: here only what is found counts."""
    for _ in range(ATTEMPTS - 1):
        with suppress(UpstreamTimeoutError):
            return index.search(query, limit)
    return index.search(query, limit)


def load_sample() -> LabelledSet:
    tracks = [IndexedTrack.model_validate(line) for line in lines(SAMPLE / "tracks.jsonl")]
    queries = [(line["query"], line["relevant"]) for line in lines(SAMPLE / "queries.jsonl")]
    return LabelledSet("Sample", tracks, queries, ndcg)


def pick_captions(rows: Sequence[Row]) -> dict[str, Row]:
    """By an ISRC of ours. Which ones is up to chance, and the same each time."""
    chosen = sorted(rows, key=lambda row: hashlib.sha256(row["ytid"].encode()).digest())[:CAPTIONS]
    return {f"ZZCAP{number:07}": row for number, row in enumerate(chosen)}


def load_captions(captions: Mapping[str, Row]) -> LabelledSet:
    aspects = {
        isrc: [str(aspect).strip().lower() for aspect in ast.literal_eval(row["aspect_list"])]
        for isrc, row in captions.items()
    }
    queries = [(line["query"], find_relevant(line["wants"], aspects)) for line in lines(QUERIES)]
    return LabelledSet("Captions", describe(captions), drop_rare(queries), precision)


def load_classes(captions: Mapping[str, Row], classes: Sequence[Row]) -> LabelledSet:
    """The name of a class is the query, and the clips that were put into the class are relevant."""
    members: dict[str, dict[str, int]] = {}
    for isrc, row in captions.items():
        for class_id in row["audioset_positive_labels"].split(","):
            members.setdefault(class_id, {})[isrc] = 1
    queries = [
        (row["display_name"], members.get(row["mid"], {}))
        for row in classes
        if row["display_name"] not in EVERYTHING
    ]
    return LabelledSet("Classes", describe(captions), drop_rare(queries), precision)


def describe(captions: Mapping[str, Row]) -> list[IndexedTrack]:
    return [
        IndexedTrack(
            isrc=isrc,
            title=f"Clip {number}",
            artist="MusicCaps",
            album="MusicCaps",
            description=row["caption"].strip()[:1_500],
        )
        for number, (isrc, row) in enumerate(captions.items())
    ]


def drop_rare(queries: Sequence[Query]) -> list[Query]:
    return [(query, relevant) for query, relevant in queries if len(relevant) >= MIN_RELEVANT]


def find_relevant(
    wants: Sequence[Sequence[str]], aspects: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """The clips with an aspect of every group: one that contains a word of the group."""
    groups = [
        re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, group))})(?![\w-])") for group in wants
    ]
    return {
        isrc: 1
        for isrc, listed in aspects.items()
        if all(any(group.search(aspect) for aspect in listed) for group in groups)
    }


def read_rows(name: str, folder: Path | None) -> list[Row]:
    if folder is not None:
        content = (folder / name).read_bytes()
    else:
        with urllib.request.urlopen(URL + name, timeout=30) as response:
            content = response.read()
    if hashlib.sha256(content).hexdigest() != SHA256[name]:
        raise SystemExit(f"{name} is not the file that the figures in docs/discover.md are of.")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"))))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def precision(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    return sum(isrc in relevant for isrc in found[:10]) / 10


def ndcg(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return _gain([relevant.get(isrc, 0) for isrc in found[:10]]) / _gain(ideal)


def _gain(grades: Sequence[int]) -> float:
    return math.fsum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


if __name__ == "__main__":
    main()
