"""Tracks, words and meanings: the pure rules of music discovery."""

import json
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.sqlite import Similarity
from idea_explorer.adapters.music.word_model import LexiconAndModelEmbedder, WordModel
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.music import (
    IndexedTrack,
    OwnedTrack,
    album_key,
    build_matcher,
    extract_words,
    fuse_rankings,
    normalize_isrc,
    shorten,
)
from idea_explorer.ports.music import Vector
from idea_explorer.settings import Settings
from idea_explorer.tools.discover.flags import Flag, any_of
from idea_explorer.wiring.music import embedder
from tests.performance.search_quality import find_relevant

SAMPLE = Path(__file__).parents[3] / "examples" / "music"


def a_track(**changes: Any) -> IndexedTrack:
    given = {
        "isrc": "ZZTST1900001",
        "title": "Song",
        "artist": "Artist",
        "album": "Album",
        "description": "One. Two.",
    }
    return IndexedTrack.model_validate(given | changes)


# ISRC and descriptions


def test_an_isrc_is_stored_in_upper_case() -> None:
    assert normalize_isrc("gbum71029604") == "GBUM71029604"
    assert a_track(isrc="zztst1900001").isrc == "ZZTST1900001"


@pytest.mark.parametrize(
    "wrong", ["", "GBUM7102960", "GBUM710296045", "GB-UM7-10-29", "GBUM7102960\n", "ＧBUM71029604"]
)
def test_what_cannot_be_an_isrc_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="invalid ISRC"):
        normalize_isrc(wrong)


def test_a_short_description_is_made_of_the_first_sentences() -> None:
    assert shorten("One two. Three! Four?") == "One two. Three! Four?"
    first = " ".join(["word"] * 30) + "."
    assert shorten(f"{first} {first}") == first


def test_a_first_sentence_beyond_fifty_words_is_cut() -> None:
    cut = shorten(" ".join(["word"] * 80) + ".")
    assert len(cut.split()) == 50
    assert cut.endswith(" …")


def test_a_given_short_description_is_kept_and_must_be_short() -> None:
    assert a_track(shortDescription=" Brief. ").short_description == "Brief."
    with pytest.raises(ValidationError, match="50 words"):
        a_track(shortDescription="word " * 51)


@pytest.mark.parametrize(
    "changes",
    [{"title": " "}, {"description": ""}, {"description": "x" * 1_501}, {"artist": "x" * 501}],
)
def test_a_track_needs_its_names_and_a_description_of_limited_length(
    changes: Mapping[str, str],
) -> None:
    with pytest.raises(ValidationError):
        a_track(**changes)


def test_an_album_has_one_key_however_it_is_spelled() -> None:
    assert album_key("Père Lachaise", "Absinthe, Logic") == album_key(
        "PERE LACHAISE", "absinthe logic!"
    )
    assert album_key("A", "B C") != album_key("A B", "C")


def test_a_library_line_without_names_knows_no_album() -> None:
    assert OwnedTrack(isrc="ZZTST1900001", artist="A").album_key is None


# Words and ranks


def test_words_that_say_nothing_are_left_out() -> None:
    assert extract_words("Find me some songs about the RAIN, the rain!") == ["rain"]
    assert extract_words("the of and") == []
    assert len(extract_words(" ".join(f"w{number}" for number in range(100)))) == 32


def test_a_text_covers_words_in_other_forms() -> None:
    enough = build_matcher(["driving", "rainy"])
    assert enough("A drive through the rain.")
    assert not enough("Nothing of the kind.")
    assert not build_matcher([])("anything")


def test_a_quarter_of_the_words_is_enough_and_less_is_not() -> None:
    words = ["alpha", "bravo", "charlie", "delta"]
    assert build_matcher(words)("bravo")
    assert not build_matcher([*words, "echo"])("bravo")


def test_ranks_add_up_and_the_best_of_both_comes_first() -> None:
    ranked = fuse_rankings([["a", "b", "c"], ["b", "d"]], [1, 1])
    assert [key for key, _ in ranked] == ["b", "a", "d", "c"]
    assert fuse_rankings([["a"], ["a"]], [1, 6]) == [("a", 1.0)]
    assert fuse_rankings([[], []], [1, 1]) == []


def test_with_a_weight_of_three_three_hits_come_for_one_of_the_other_ranking() -> None:
    ranked = fuse_rankings([["a", "b"], ["k", "l", "m", "n"]], [1, 3])
    order = [key for key, _ in ranked]
    assert order[:4] in (["k", "l", "a", "m"], ["k", "l", "m", "a"])
    assert fuse_rankings([["a"]], [1]) == [("a", 1.0)]


# The lexicon


@pytest.fixture(scope="module")
def lexicon() -> LexiconEmbedder:
    return LexiconEmbedder()


def closeness(embedder: LexiconEmbedder, first: str, second: str) -> float:
    one, two = embedder.embed([first, second], "document")
    return sum(a * b for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("melancholic", "sorrowful"),
        ("a lullaby", "for the newborn in the cradle"),
        ("can't sleep", "insomnia"),
        ("furious", "full of rage"),
        ("getting sober", "addiction and recovery"),
    ],
)
def test_words_of_one_meaning_are_close(lexicon: LexiconEmbedder, first: str, second: str) -> None:
    assert closeness(lexicon, first, second) >= lexicon.floor


@pytest.mark.parametrize(
    ("first", "second"),
    [("melancholic", "dancefloor"), ("rage", "lullaby"), ("xqzv blorp", "melancholic")],
)
def test_words_of_other_meanings_are_not(lexicon: LexiconEmbedder, first: str, second: str) -> None:
    assert closeness(lexicon, first, second) < lexicon.floor


def test_a_text_without_a_known_word_means_nothing(lexicon: LexiconEmbedder) -> None:
    for vector in lexicon.embed(["xqzv blorp fnord", "", "kubernetes yaml"], "query"):
        assert len(vector) == lexicon.dimensions
        assert not any(vector)


def test_a_text_with_known_words_has_length_one(lexicon: LexiconEmbedder) -> None:
    (vector,) = lexicon.embed(["A sad rainy night drive, full of longing."], "document")
    assert sum(value * value for value in vector) == pytest.approx(1.0)


def test_repeating_a_word_makes_a_description_little_more_about_it(
    lexicon: LexiconEmbedder,
) -> None:
    (asked,) = lexicon.embed(["sad winter"], "query")
    once, often = lexicon.embed(["sad winter", "sad sad sad sad sad winter"], "document")
    plain = lexicon.embed(["sad sad sad sad sad winter"], "query")[0]

    def close(vector: Vector) -> float:
        return sum(a * b for a, b in zip(asked, vector, strict=True))

    assert close(once) > close(often) > close(plain)


# The lexicon and a model together


class TwoWords:
    """In place of the model: `north` and `south` are opposite, everything else is in between."""

    name, dimensions = "two-words", 2

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        known = {"north": vector(1, 0), "south": vector(-1, 0), "": vector(0, 0)}
        return [known.get(text, vector(0, 1)) for text in texts]


@pytest.fixture
def combined(lexicon: LexiconEmbedder) -> LexiconAndModelEmbedder:
    return LexiconAndModelEmbedder(lexicon, TwoWords(), share=0.2)


def test_similarities_of_both_add_up_by_their_share(
    lexicon: LexiconEmbedder, combined: LexiconAndModelEmbedder
) -> None:
    (asked,) = combined.embed(["sad"], "query")
    (found,) = combined.embed(["sorrowful and lonely"], "document")
    by_concept = sum(
        a * b
        for a, b in zip(
            lexicon.embed(["sad"], "query")[0],
            lexicon.embed(["sorrowful and lonely"], "document")[0],
            strict=True,
        )
    )
    both = sum(a * b for a, b in zip(asked, found, strict=True))
    assert both == pytest.approx(0.8 * by_concept + 0.2 * 1.0, abs=1e-5)


def test_vectors_have_length_one_and_no_concept_is_nothing_in_common(
    combined: LexiconAndModelEmbedder,
) -> None:
    (asked,) = combined.embed(["north"], "query")
    (found,) = combined.embed(["south"], "document")
    for each in (asked, found):
        assert len(each) == combined.dimensions
        assert sum(value * value for value in each) == pytest.approx(1.0)
    assert sum(a * b for a, b in zip(asked, found, strict=True)) == pytest.approx(-0.2)


def test_what_the_model_alone_finds_alike_stays_at_the_floor(
    combined: LexiconAndModelEmbedder,
) -> None:
    """A model finds some likeness in nonsense; without a concept in common it never passes the floor."""
    (asked,) = combined.embed(["xqzv blorp"], "query")
    (found,) = combined.embed(["melancholic"], "document")
    likeness = sum(a * b for a, b in zip(asked, found, strict=True))
    assert likeness <= combined.floor + 1e-6


def test_a_text_without_tokens_means_nothing(combined: LexiconAndModelEmbedder) -> None:
    assert not any(combined.embed([""], "query")[0])


def test_a_model_that_is_not_installed_is_a_sentence_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("idea_explorer.adapters.music.word_model.PACKAGE", "not_installed_here")
    with pytest.raises(ConfigurationError, match="not installed") as raised:
        WordModel()
    assert "embedder" in (raised.value.hint or "")


def test_the_model_is_chosen_by_a_setting_and_never_in_a_deployment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("idea_explorer.adapters.music.word_model.PACKAGE", "not_installed_here")
    assert isinstance(embedder(Settings.from_environment({})), LexiconEmbedder)
    chosen = {"IDEA_EMBEDDER": "wordllama"}
    with pytest.raises(ConfigurationError):
        embedder(Settings.from_environment(chosen))
    deployed = Settings.from_environment({**chosen, "TABLE_NAME": "explorations"})
    assert isinstance(embedder(deployed), LexiconEmbedder)


def test_a_caption_is_relevant_if_an_aspect_of_it_has_a_word_of_every_group() -> None:
    aspects = {"a": ["sad mood", "slow piano"], "b": ["sad"], "c": ["saddle", "piano"]}
    assert find_relevant([["sad", "gloomy"]], aspects) == {"a": 1, "b": 1}
    assert find_relevant([["sad"], ["piano"]], aspects) == {"a": 1}


# Comparing vectors


def vector(*values: float) -> Vector:
    return array("f", values)


def rows(*vectors: Vector) -> list[tuple[int, bytes]]:
    return [(number * 10, each.tobytes()) for number, each in enumerate(vectors, start=1)]


@pytest.mark.parametrize("few", [0, 100])
def test_few_and_many_vectors_are_ranked_alike(few: int) -> None:
    similarity = Similarity(
        rows(vector(0, 1), vector(1, 0), vector(0.6, 0.8), vector(-1, 0), vector(1, 0)), few=few
    )
    assert similarity.available
    assert similarity.best(vector(1, 0), 0.1, 10) == [20, 50, 30]
    assert similarity.best(vector(1, 0), 0.1, 1) == [20]
    assert similarity.best(vector(1, 0), 0.99, 10) == [20, 50]
    assert similarity.best(vector(1, 0), 1.5, 10) == []


def test_without_vectors_nothing_can_be_compared() -> None:
    assert not Similarity([]).available


def test_many_vectors_need_numpy() -> None:
    answer = printed_by(
        "import sys; sys.modules['numpy'] = None\n"
        "from idea_explorer.adapters.music.sqlite import Similarity\n"
        "rows = [(1, bytes(8)), (2, bytes(8))]\n"
        "print(Similarity(rows, few=2).available, Similarity(rows, few=1).available)"
    )
    assert answer == "True False"


def test_a_small_index_is_searched_without_loading_numpy_or_a_client(tmp_path: Path) -> None:
    answer = printed_by(
        "import sys; from pathlib import Path\n"
        "from idea_explorer.adapters.music.embedders import LexiconEmbedder\n"
        "from idea_explorer.adapters.music.sqlite import SqliteTrackIndex\n"
        "from idea_explorer.tools.discover import discover_tools\n"
        "from idea_explorer.usecases.import_music import index_tracks\n"
        f"index = SqliteTrackIndex(Path({str(tmp_path)!r}) / 'm.db', LexiconEmbedder())\n"
        f"index_tracks(open({str(SAMPLE)!r} + '/tracks.jsonl', 'rb'), index)\n"
        "assert index.search('melancholic', 5).by_meaning\n"
        "print({'numpy', 'httpx2', 'boto3'} & set(sys.modules))"
    )
    assert answer == "set()"


def printed_by(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# Three-valued flags of an album


@pytest.mark.parametrize(
    ("flags", "together"),
    [
        ([True, False, None], True),
        ([False, None], None),
        ([False, False], False),
        ([None], None),
        ([], None),
    ],
)
def test_an_album_is_not_there_only_if_every_track_is_known_not_to_be(
    flags: list[Flag], together: Flag
) -> None:
    assert any_of(flags) is together


# The sample


def lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (SAMPLE / name).read_text("utf-8").splitlines()]


def test_the_sample_is_what_it_says() -> None:
    tracks = [IndexedTrack.model_validate(line) for line in lines("tracks.jsonl")]
    assert len({track.isrc for track in tracks}) == len(tracks) == 200
    assert len({track.description for track in tracks}) == 200
    for track in tracks:
        assert 60 <= len(track.description.split()) <= 120
        assert 5 <= len(track.short_description.split()) <= 50
    owned = {OwnedTrack.model_validate(line).isrc for line in lines("library.jsonl")}
    indexed = {track.isrc for track in tracks}
    assert owned & indexed
    assert owned - indexed
    assert indexed - owned


def test_the_labels_follow_from_the_themes_and_from_nothing_else() -> None:
    themes = {line["isrc"]: set(line["tags"]) for line in lines("themes.jsonl")}
    assert set(themes) == {line["isrc"] for line in lines("tracks.jsonl")}
    queries = lines("queries.jsonl")
    assert len({query["query"] for query in queries}) == 50
    for query in queries:
        grades = {}
        for isrc, tags in themes.items():
            met = [bool(tags & set(group)) for group in query["wants"]]
            if met[0]:
                grades[isrc] = 3 if all(met) else 2 if sum(met) > 1 else 1
        assert query["relevant"] == grades
