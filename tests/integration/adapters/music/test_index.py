"""The promises of TrackIndex, kept alike by the embedded index and by Qdrant."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import httpx
import pytest

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.domain.errors import (
    ConfigurationError,
    ExternalError,
    RejectedError,
    UnavailableError,
)
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.music import IndexedTrack, album_key
from idea_explorer.ports.music import Embedder, TrackIndex, Vector
from tests.fakes.qdrant_server import FakeQdrant

Opening: TypeAlias = Callable[[Embedder | None], TrackIndex]
LEXICON = LexiconEmbedder()

RAIN = IndexedTrack(
    isrc="ZZTST1900001",
    title="Wet Asphalt",
    artist="Harrow Lane",
    album="Wipers on Low",
    description="A man drives home through the storm after the parting. Sorrowful and slow.",
)
PARTY = IndexedTrack(
    isrc="ZZTST1900002",
    title="Skylight",
    artist="Neon Orchard",
    album="Glass Summer",
    description="A rooftop celebration that nobody wants to leave. Handclaps and laughter.",
)
LULLABY = IndexedTrack(
    isrc="ZZTST1900003",
    title="For Astrid",
    artist="Ilse Brandvold",
    album="Fjordlight",
    description="Two chords rock a cradle. Written beside a cot, for an infant's bedtime.",
)
TRACKS = [RAIN, PARTY, LULLABY]


@pytest.fixture(params=["sqlite", "qdrant"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    """Opens the same index again and again, each time as a new process would."""
    if request.param == "sqlite":
        yield lambda embedder: SqliteTrackIndex(tmp_path / "music.db", embedder)
        return
    with FakeQdrant(api_key="k") as qdrant:
        yield lambda embedder: QdrantTrackIndex(qdrant.url, "tracks", embedder, api_key="k")


@pytest.fixture
def index(opening: Opening) -> TrackIndex:
    opened = opening(LEXICON)
    opened.add(TRACKS)
    return opened


def isrcs_of(index: TrackIndex, query: str, limit: int = 10) -> list[str]:
    return [hit.track.isrc for hit in index.search(query, limit).hits]


def test_a_track_is_found_by_its_words(index: TrackIndex) -> None:
    assert isrcs_of(index, "rooftop handclaps") == [PARTY.isrc]


def test_a_track_is_found_by_what_it_means_without_a_word_in_common(index: TrackIndex) -> None:
    assert isrcs_of(index, "melancholic")[0] == RAIN.isrc
    assert isrcs_of(index, "newborn")[0] == LULLABY.isrc


def test_a_track_that_both_words_and_meaning_find_comes_first(index: TrackIndex) -> None:
    found = index.search("sad storm", 10)
    assert found.hits[0].track == RAIN
    assert found.hits[0].score == 1.0
    assert found.by_meaning


@pytest.mark.parametrize(
    "query",
    ["xqzv blorp fnord", "asdfghjkl", "the of and", "songs", "?!", " ", "\0", '" OR "', "🎵" * 50],
)
def test_nonsense_finds_nothing(index: TrackIndex, query: str) -> None:
    found = index.search(query, 10)
    assert (list(found.hits), found.total, found.index_is_empty) == ([], 0, False)


def test_one_word_in_common_among_many_is_an_accident(opening: Opening) -> None:
    index = opening(None)
    index.add(TRACKS)
    assert isrcs_of(index, "quarterly spreadsheet migration checklist for storm") == []
    assert isrcs_of(index, "storm checklist") == [RAIN.isrc]


@pytest.mark.parametrize(
    "query", ["storm*", "NEAR(storm home)", "title:storm", "storm AND NOT", "'; DROP TABLE tracks"]
)
def test_any_text_is_a_valid_query(index: TrackIndex, query: str) -> None:
    assert index.search(query, 10).total <= len(TRACKS)


def test_without_an_embedder_words_decide_and_the_answer_says_so(opening: Opening) -> None:
    index = opening(None)
    index.add(TRACKS)
    found = index.search("rooftop", 10)
    assert [hit.track for hit in found.hits] == [PARTY]
    assert not found.by_meaning
    assert isrcs_of(index, "melancholic") == []


def test_a_limit_cuts_the_hits_and_not_the_count(index: TrackIndex) -> None:
    everything = "storm rooftop cradle"
    found = index.search(everything, 2)
    assert len(found.hits) == 2
    assert found.total == 3


def test_fifty_results_come_where_there_are_fifty(opening: Opening) -> None:
    index = opening(LEXICON)
    index.add([RAIN.model_copy(update={"isrc": f"ZZTST20{number:05}"}) for number in range(60)])
    assert len(isrcs_of(index, "storm", 50)) == 50


def test_scores_fall_and_stay_between_zero_and_one(index: TrackIndex) -> None:
    scores = [hit.score for hit in index.search("storm rooftop cradle", 10).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_a_hit_is_the_whole_track_as_it_was_added(index: TrackIndex) -> None:
    (hit,) = index.search("rooftop handclaps", 1).hits
    assert hit.track == PARTY
    assert hit.track.short_description == PARTY.description


def test_tracks_are_got_by_isrc(index: TrackIndex) -> None:
    got = index.get([LULLABY.isrc, "ZZTST0000000", RAIN.isrc])
    assert {track.isrc: track for track in got} == {RAIN.isrc: RAIN, LULLABY.isrc: LULLABY}
    assert index.get([]) == []


def test_a_hundred_isrcs_are_looked_up_at_once(index: TrackIndex) -> None:
    asked = [RAIN.isrc, *(f"ZZTST00{number:05}" for number in range(99))]
    assert index.known_isrcs(asked) == {RAIN.isrc}
    assert [track.isrc for track in index.get(asked)] == [RAIN.isrc]


def test_albums_are_known_by_artist_and_title_however_they_are_spelled(index: TrackIndex) -> None:
    asked = [album_key("HARROW LANE", "Wipers, on low!"), album_key("Harrow Lane", "Other")]
    assert index.known_albums(asked) == {RAIN.album_key}
    assert index.known_albums([]) == frozenset()


def test_adding_a_track_again_replaces_it(index: TrackIndex) -> None:
    index.add([PARTY.model_copy(update={"description": "A quiet afternoon with a kettle."})])
    assert isrcs_of(index, "rooftop handclaps") == []
    assert isrcs_of(index, "kettle") == [PARTY.isrc]
    assert len(index.get([track.isrc for track in TRACKS])) == 3


def test_what_was_added_is_there_for_the_next_process(opening: Opening) -> None:
    before = opening(LEXICON)
    opening(LEXICON).add(TRACKS)
    assert isrcs_of(opening(LEXICON), "melancholic")[0] == RAIN.isrc
    assert isrcs_of(before, "melancholic")[0] == RAIN.isrc


def test_an_empty_index_finds_nothing_and_says_that_it_is_empty(opening: Opening) -> None:
    index = opening(LEXICON)
    found = index.search("melancholic storm", 10)
    assert (list(found.hits), found.total, found.index_is_empty) == ([], 0, True)
    assert index.get([RAIN.isrc]) == []
    assert index.known_isrcs([RAIN.isrc]) == frozenset()
    assert index.known_albums([RAIN.album_key]) == frozenset()


class Unable:
    """An embedder that is out of order, and one that speaks of something else."""

    weight = 1.0

    def __init__(self, name: str = "unable", dimensions: int = LEXICON.dimensions) -> None:
        self.name = name
        self.dimensions = dimensions
        self.floor = 0.3
        self.broken = False

    def embed(
        self, texts: Sequence[str], purpose: Literal["document", "query"]
    ) -> Sequence[Vector]:
        if self.broken:
            raise UnavailableError("The model is not available.")
        return [array("f", [1.0] + [0.0] * (self.dimensions - 1)) for _ in texts]


def test_vectors_of_another_embedder_are_never_compared(opening: Opening) -> None:
    opening(LEXICON).add(TRACKS)
    assert isrcs_of(opening(Unable()), "anything whatever") == []


def test_an_embedder_that_fails_is_an_error_and_not_an_empty_result(opening: Opening) -> None:
    embedder = Unable()
    index = opening(embedder)
    index.add(TRACKS)
    embedder.broken = True
    with pytest.raises(UnavailableError):
        index.search("storm", 10)


def test_a_batch_that_cannot_be_embedded_is_not_added(opening: Opening) -> None:
    embedder = Unable()
    index = opening(embedder)
    embedder.broken = True
    with pytest.raises(UnavailableError):
        index.add(TRACKS)
    assert index.get([track.isrc for track in TRACKS]) == []


# What only one of them can do


def test_qdrant_is_asked_once_for_a_search_and_once_for_each_look_up() -> None:
    with FakeQdrant() as qdrant:
        index = QdrantTrackIndex(qdrant.url, "tracks", LEXICON)
        index.add(TRACKS)
        index.search("storm", 10)
        qdrant.requests.clear()
        index.search("sad storm", 50)
        index.known_isrcs([f"ZZTST00{number:05}" for number in range(100)])
        index.known_albums([track.album_key for track in TRACKS])
        assert [request.path for request in qdrant.requests] == [
            "/collections/tracks/points/query/batch",
            "/collections/tracks/points",
            "/collections/tracks/facet",
        ]


def test_every_filtered_field_has_an_index_also_in_a_collection_of_an_earlier_version() -> None:
    with FakeQdrant() as qdrant:
        QdrantTrackIndex(qdrant.url, "tracks", LEXICON).add(TRACKS)
        collection = qdrant.collections["tracks"]
        assert collection.indexed == {"model", "album_key"}
        collection.indexed.discard("model")
        with pytest.raises(RejectedError, match='Index required but not found for "model"'):
            QdrantTrackIndex(qdrant.url, "tracks", LEXICON).search("storm", 10)
        QdrantTrackIndex(qdrant.url, "tracks", LEXICON).add([RAIN])
        assert QdrantTrackIndex(qdrant.url, "tracks", LEXICON).search("storm", 10).total


@pytest.mark.long
def test_three_hundred_requests_break_no_rule_of_qdrant_s_description() -> None:
    queries = ["sad storm", "rooftop", "newborn", "ümlaut", '" OR "', "x" * 2_000, "melancholic"]
    with FakeQdrant() as qdrant:
        index = QdrantTrackIndex(qdrant.url, "tracks", LEXICON)
        index.add(TRACKS)
        words = QdrantTrackIndex(qdrant.url, "tracks")
        for number in range(85):
            index.search(queries[number % len(queries)], 10)
            words.search(queries[number % len(queries)], 50)
            index.known_isrcs([f"ZZTST19{number:05}"])
            index.known_albums([RAIN.album_key, "x|y"])
        print(
            f"{qdrant.contract.requests} requests to Qdrant,"
            f" {len(qdrant.contract.violations)} violations"
        )
        assert qdrant.contract.requests >= 300
        assert qdrant.contract.violations == []


@pytest.mark.parametrize(
    "body",
    [
        {"searches": [{"query": {"fusion": "best"}, "limit": 5}]},
        {"searches": [{"query": {"rrf": {"smoothing": 60}}, "limit": 5}]},
        {"searches": [{"vector": [1.0], "limit": 5}]},
        {"searches": [{"query": [1.0], "using": "meaning", "limit": 5000}]},
        {"searches": [{"query": [1.0], "using": "meaning", "limit": 5}]},
        {},
    ],
)
def test_the_test_qdrant_refuses_what_the_real_one_refuses(body: JsonObject) -> None:
    with FakeQdrant() as qdrant:
        QdrantTrackIndex(qdrant.url, "tracks", LEXICON).add(TRACKS)
        url = f"{qdrant.url}/collections/tracks/points/query/batch"
        assert httpx.post(url, json=body, trust_env=False).status_code == 400


def test_a_collection_of_another_size_is_not_written_to() -> None:
    with FakeQdrant() as qdrant:
        QdrantTrackIndex(qdrant.url, "tracks", LEXICON).add(TRACKS)
        other = QdrantTrackIndex(qdrant.url, "tracks", Unable(dimensions=8))
        with pytest.raises(ConfigurationError, match="another embedder"):
            other.add(TRACKS)


def test_a_collection_made_without_meaning_is_searched_by_words() -> None:
    with FakeQdrant() as qdrant:
        QdrantTrackIndex(qdrant.url, "tracks").add(TRACKS)
        found = QdrantTrackIndex(qdrant.url, "tracks", LEXICON).search("storm", 10)
        assert [hit.track for hit in found.hits] == [RAIN]
        assert not found.by_meaning


def test_a_wrong_qdrant_key_is_an_error_that_trying_again_does_not_cure() -> None:
    with FakeQdrant(api_key="right") as qdrant:
        index = QdrantTrackIndex(qdrant.url, "tracks", api_key="wrong")
        with pytest.raises(ExternalError, match="401") as caught:
            index.search("storm", 10)
        assert not caught.value.retryable


def test_a_broken_file_is_an_error_and_not_an_empty_result(tmp_path: Path) -> None:
    (tmp_path / "music.db").write_bytes(b"no database at all, but long enough to look at")
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        SqliteTrackIndex(tmp_path / "music.db")
