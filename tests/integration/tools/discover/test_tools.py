"""The five tools as the model calls them: real index, real library, a catalogue over the wire."""

import io
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.adapters.music.sqlite_library import SqliteLibrary
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.events import ToolCallEnd, ToolCallError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolRecord
from idea_explorer.domain.transcript import StoredResult, ToolsRan
from idea_explorer.usecases.import_music import index_tracks
from tests.fakes.discovering import (
    NOT_OWNED,
    OWNED,
    RAINY,
    SAMPLE,
    Bench,
    Music,
    catalogue_of,
    playlist,
)
from tests.fakes.json_server import Fault
from tests.fakes.tidal_server import FakeTidal


@pytest.fixture
def bench(music: Music, tidal: FakeTidal) -> Bench:
    return Bench(*music, catalogue_of(tidal))


TRACK = {"isrc", "title", "artist", "album", "inLibrary", "isIndexed"}
ALBUM = {"albumId", "title", "artist", "releaseDate", "trackCount", "inLibrary", "isIndexed"}
ALWAYS = {"ok", "summary", "durationMs"}


# semanticSearch


def test_a_search_by_mood_finds_short_descriptions_with_flags(bench: Bench) -> None:
    found = bench.call("semanticSearch", query=RAINY)
    assert set(found) == ALWAYS | {"query", "tracks", "totalFound"}
    assert len(found["tracks"]) == 20
    assert found["totalFound"] >= 20
    assert found["summary"] == f"Found {found['totalFound']} tracks matching '{RAINY}'"
    for track in found["tracks"]:
        assert set(track) == TRACK | {"score", "shortDescription"}
        assert track["isIndexed"] is True
        assert len(track["shortDescription"].split()) <= 50
    flags = {track["isrc"]: track["inLibrary"] for track in found["tracks"]}
    assert flags[OWNED] is True
    assert False in flags.values()


def test_the_event_of_a_search_carries_count_and_output(bench: Bench) -> None:
    bench.call("semanticSearch", query=RAINY, limit=7)
    (ended,) = bench.seen.of(ToolCallEnd)
    assert isinstance(ended, ToolCallEnd)
    assert ended.result_count == 7
    assert ended.output is not None
    assert ended.summary == ended.output["summary"]


def test_fifty_tracks_are_the_most(bench: Bench) -> None:
    assert (
        len(bench.call("semanticSearch", query="love night city family", limit=50)["tracks"]) == 50
    )


def test_nothing_found_is_an_answer(bench: Bench) -> None:
    found = bench.call("semanticSearch", query="xqzv blorp fnord")
    assert (found["ok"], found["tracks"], found["totalFound"]) == (True, [], 0)
    assert found["summary"] == "Found 0 tracks matching 'xqzv blorp fnord'"


def test_a_search_by_words_alone_says_so(tmp_path: Path) -> None:
    index = SqliteTrackIndex(tmp_path / "m.db")
    index_tracks(io.BytesIO((SAMPLE / "tracks.jsonl").read_bytes()), index)
    bench = Bench(index, SqliteLibrary(tmp_path / "m.db"))
    found = bench.call("semanticSearch", query="windscreen wipers")
    assert found["tracks"][0]["isrc"] == OWNED
    assert "by words only" in found["summary"]


def test_an_empty_index_says_how_to_fill_it(tmp_path: Path) -> None:
    index = SqliteTrackIndex(tmp_path / "m.db", LexiconEmbedder())
    found = Bench(index, SqliteLibrary(tmp_path / "m.db")).call("semanticSearch", query="rain")
    assert found["summary"] == (
        "Found 0 tracks matching 'rain' (the index is empty: add tracks with 'idea index FILE')"
    )


# tidalSearch and albumTracks


def test_the_catalogue_answers_with_tracks_and_albums(bench: Bench) -> None:
    found = bench.call("tidalSearch", query="harrow lane")
    assert set(found) == ALWAYS | {"query", "searchType", "tracks", "albums", "totalFound"}
    assert found["searchType"] == "both"
    assert found["totalFound"] == 4
    assert found["summary"] == "Found 3 tracks and 1 album matching 'harrow lane'"
    owned, bonus, hidden = found["tracks"]
    assert set(owned) == TRACK
    assert (owned["inLibrary"], owned["isIndexed"]) == (True, True)
    assert (bonus["inLibrary"], bonus["isIndexed"]) == (False, False)
    assert (hidden["isrc"], hidden["inLibrary"], hidden["isIndexed"]) == (None, None, None)
    (album,) = found["albums"]
    assert set(album) == ALBUM
    assert (album["inLibrary"], album["isIndexed"]) == (True, True)


def test_an_album_of_which_nothing_is_here_is_known_not_to_be(bench: Bench) -> None:
    (album,) = bench.call("tidalSearch", query="elsewhere", searchType="albums")["albums"]
    assert (album["inLibrary"], album["isIndexed"]) == (False, False)


@pytest.mark.parametrize(
    ("search_type", "tracks", "albums"), [("tracks", 3, 0), ("albums", 0, 1), ("both", 3, 1)]
)
def test_only_what_was_asked_for_is_searched(
    bench: Bench, search_type: str, tracks: int, albums: int
) -> None:
    found = bench.call("tidalSearch", query="harrow", searchType=search_type)
    assert (len(found["tracks"]), len(found["albums"])) == (tracks, albums)


def test_a_limit_counts_for_each_kind(bench: Bench) -> None:
    found = bench.call("tidalSearch", query="harrow", limit=1)
    assert (len(found["tracks"]), len(found["albums"])) == (1, 1)


def test_an_album_is_listed_and_flagged_by_its_tracks(bench: Bench) -> None:
    found = bench.call("albumTracks", albumId="11")
    assert set(found) == ALWAYS | {"album", "tracks"}
    assert set(found["album"]) == ALBUM
    assert (found["album"]["inLibrary"], found["album"]["isIndexed"]) == (True, True)
    assert [track["title"] for track in found["tracks"]] == [
        "Wet Asphalt Hymn",
        "Bonus",
        "Hidden Track",
    ]
    assert found["summary"] == "Found 3 tracks on 'Wipers on Low'"
    assert bench.call("albumTracks", albumId="22")["album"]["inLibrary"] is False


def test_an_unknown_album_is_not_found(bench: Bench) -> None:
    result = bench.result("albumTracks", albumId="99")
    assert result.payload == {
        "ok": False,
        "error_type": "not_found",
        "message": "Album not found: 99",
    }
    assert not result.was_retried


def test_without_a_catalogue_its_tools_say_what_is_missing(
    music: Music,
) -> None:
    bench = Bench(*music)
    for name, given in (("tidalSearch", {"query": "x"}), ("albumTracks", {"albumId": "1"})):
        result = bench.result(name, **given)
        assert result.error_type == "auth_failed"
        assert "TIDAL_CLIENT_ID" in result.summary
    assert len(bench.tools.definitions) == 5


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_once_more_after_a_second(
    bench: Bench, tidal: FakeTidal, status: int
) -> None:
    tidal.fail(status, path="/v2")
    result = bench.result("tidalSearch", query="harrow")
    assert result.ok
    assert result.was_retried
    assert bench.clock.slept == [1.0]
    assert bench.log.of("tidalSearch_retry_attempt")


@pytest.mark.parametrize(
    ("status", "error_type"),
    [(429, "rate_limited"), (503, "service_unavailable"), (504, "timeout")],
)
def test_a_failure_that_lasts_is_told_after_one_more_try(
    bench: Bench, tidal: FakeTidal, status: int, error_type: str
) -> None:
    tidal.fail(status, status, status, path="/v2")
    result = bench.result("tidalSearch", query="harrow")
    assert result.error_type == error_type
    assert len(tidal.asked("/v2")) == 2
    (ended,) = bench.seen.of(ToolCallError)
    assert isinstance(ended, ToolCallError)
    assert (ended.retryable, ended.was_retried) == (True, True)


def test_a_catalogue_that_hangs_is_a_timeout_that_another_call_may_overcome(
    bench: Bench, tidal: FakeTidal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idea_explorer.adapters.music.tidal.FIRST_PAGE_SECONDS", 0.2)
    tidal.broken = Fault("hang", path="/v2")
    result = bench.result("tidalSearch", query="harrow")
    assert (result.error_type, result.transient) == ("timeout", True)


@pytest.mark.parametrize(("status", "error_type"), [(403, "auth_failed"), (404, "internal_error")])
def test_a_lasting_failure_is_not_tried_again(
    bench: Bench, tidal: FakeTidal, status: int, error_type: str
) -> None:
    tidal.fail(status, path="/v2")
    result = bench.result("tidalSearch", query="harrow")
    assert (result.error_type, result.was_retried) == (error_type, False)
    assert len(tidal.asked("/v2")) == 1


# batchMetadata


def test_details_come_in_the_order_asked_for_and_name_what_is_missing(bench: Bench) -> None:
    found = bench.call(
        "batchMetadata", isrcs=[NOT_OWNED, "zzhrr1900001", "ZZTST0000000", NOT_OWNED]
    )
    assert set(found) == ALWAYS | {"tracks", "found", "notFound"}
    assert [track["isrc"] for track in found["tracks"]] == [NOT_OWNED, OWNED]
    assert (found["found"], found["notFound"]) == (2, ["ZZTST0000000"])
    assert all(set(track) == TRACK | {"description"} for track in found["tracks"])
    assert [track["inLibrary"] for track in found["tracks"]] == [False, True]
    assert len(found["tracks"][1]["description"].split()) > 50


def test_a_hundred_isrcs_fit_into_one_call(bench: Bench, music: Music) -> None:
    isrcs = sorted(hit.track.isrc for hit in music[0].search("love night city family", 50).hits)
    asked = [*isrcs, *(f"ZZTST20{number:05}" for number in range(50))]
    found = bench.call("batchMetadata", isrcs=asked)
    assert (found["found"], len(found["notFound"])) == (50, 50)


@pytest.mark.parametrize("wrong", ["US-RC1-76-07839", "ZZHRR190000", "ZZHRR19000012", "ÄÖÜ", ""])
def test_an_invalid_isrc_is_refused_and_nothing_runs(wrong: str) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} must not be called")

    untouchable: Any = Untouchable()
    bench = Bench(untouchable, untouchable)
    for name, given in (
        ("batchMetadata", {"isrcs": [OWNED, wrong]}),
        ("suggestPlaylist", playlist(isrc=wrong)),
    ):
        result = bench.result(name, **given)
        assert result.error_type == "invalid_arguments"
        assert "invalid ISRC" in result.summary
        assert not result.was_retried


# suggestPlaylist


def test_a_playlist_comes_back_with_albums_flags_and_reasons(bench: Bench) -> None:
    shown = bench.call("suggestPlaylist", **playlist(isrc=OWNED.lower()))
    assert set(shown) == ALWAYS | {"title", "tracks"}
    (track,) = shown["tracks"]
    assert track == {
        "isrc": OWNED,
        "title": "Wet Asphalt Hymn",
        "artist": "Harrow Lane",
        "album": "Wipers on Low",
        "inLibrary": True,
        "isIndexed": True,
        "tidalId": "11001",
        "durationSeconds": 185,
        "url": "https://tidal.com/browse/track/11001",
        "artworkUrl": "https://resources.tidal.com/images/art11/320x320.jpg",
        "reasoning": "It drives home in the rain.",
    }
    assert shown["summary"] == "Suggested 'Rain' with 1 track"


def test_a_playlist_names_the_album_of_a_track_that_the_catalogue_showed(bench: Bench) -> None:
    bench.call("tidalSearch", query="nobody yet")
    (track,) = bench.call("suggestPlaylist", **playlist(isrc="ZZNBD2000001"))["tracks"]
    assert (track["album"], track["isIndexed"], track["inLibrary"]) == ("Elsewhere", False, False)


def test_what_the_catalogue_showed_is_not_looked_up_again(bench: Bench, tidal: FakeTidal) -> None:
    bench.call("tidalSearch", query="nobody yet")
    (track,) = bench.call("suggestPlaylist", **playlist(isrc="ZZNBD2000001"))["tracks"]
    assert track["tidalId"] == "22001"
    assert tidal.asked("/v2/tracks") == []


def test_a_catalogue_that_fails_leaves_the_rest_of_the_playlist(
    bench: Bench, tidal: FakeTidal
) -> None:
    tidal.broken = Fault("reset", path="/v2/tracks")
    shown = bench.call("suggestPlaylist", **playlist())
    (track,) = shown["tracks"]
    assert (track["url"], track["durationSeconds"], track["inLibrary"]) == (None, None, True)
    assert "links, artwork and durations are missing" in shown["summary"]


def test_after_a_resume_the_transcript_names_the_albums(music: Music, tidal: FakeTidal) -> None:
    found = Bench(*music, catalogue_of(tidal)).result("tidalSearch", query="nobody yet")
    call = ToolCall(id="c", name="tidalSearch", input={})
    record = ToolRecord(name="tidalSearch", duration_ms=1, ok=True, bytes=1)
    stored = StoredResult.of(call, found, record)
    resumed = Bench(*music)
    resumed.tools.read_transcript([ToolsRan(step=1, results=(stored,))])
    (track,) = resumed.call("suggestPlaylist", **playlist(isrc="ZZNBD2000001"))["tracks"]
    assert track["album"] == "Elsewhere"


def test_a_track_that_nobody_knows_has_no_album(bench: Bench) -> None:
    (track,) = bench.call("suggestPlaylist", **playlist(isrc="ZZTST0000000"))["tracks"]
    assert track["album"] is None


# Limits of the arguments


@pytest.mark.parametrize(
    ("name", "given", "parameter"),
    [
        ("semanticSearch", {}, "query"),
        ("semanticSearch", {"query": "x" * 2_001}, "query"),
        ("semanticSearch", {"query": "x", "limit": 51}, "limit"),
        ("semanticSearch", {"query": "x", "limit": 0}, "limit"),
        ("semanticSearch", {"query": "x", "limit": "5"}, "limit"),
        ("tidalSearch", {"query": " "}, "query"),
        ("tidalSearch", {"query": "x" * 501}, "query"),
        ("tidalSearch", {"query": "x", "limit": 101}, "limit"),
        ("tidalSearch", {"query": "x", "searchType": "artists"}, "searchType"),
        ("albumTracks", {"albumId": 7}, "albumId"),
        ("batchMetadata", {"isrcs": []}, "isrcs"),
        ("batchMetadata", {"isrcs": [OWNED] * 101}, "isrcs"),
        ("batchMetadata", {"isrcs": OWNED}, "isrcs"),
        ("suggestPlaylist", {**playlist(), "title": "x" * 201}, "title"),
        ("suggestPlaylist", {"title": "x", "tracks": []}, "tracks"),
        ("suggestPlaylist", {"title": "x", "tracks": [playlist()["tracks"]] * 51}, "tracks"),
        ("suggestPlaylist", playlist(reasoning="x" * 1_001), "tracks"),
        ("suggestPlaylist", playlist(reasoning=" "), "tracks"),
        ("suggestPlaylist", playlist(mood="sad"), "tracks"),
    ],
)
def test_arguments_beyond_their_limits_are_refused(
    bench: Bench, name: str, given: JsonObject, parameter: str
) -> None:
    result = bench.result(name, **given)
    assert result.error_type == "invalid_arguments"
    assert result.summary.startswith(f"{name} requires '{parameter}' parameter (")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("semanticSearch", {"query": "x" * 2_000, "limit": 50}),
        ("tidalSearch", {"query": "x" * 500, "limit": 100}),
        ("batchMetadata", {"isrcs": [OWNED] * 100}),
        ("suggestPlaylist", {"title": "x" * 200, "tracks": playlist()["tracks"]}),
        ("suggestPlaylist", playlist(reasoning="x" * 1_000)),
    ],
)
def test_arguments_at_their_limits_are_taken(bench: Bench, name: str, given: JsonObject) -> None:
    assert bench.result(name, **given).ok


def test_fifty_long_suggestions_come_back_whole(
    music: Music,
) -> None:
    bench = Bench(*music)
    checked = ArgumentValidator(bench.tools, ToolLimiter(ToolExecutor(bench.log)), bench.log)
    given = playlist(reasoning="x" * 1_000)
    assert isinstance(given["tracks"], list)
    given["tracks"] *= 50
    assert checked.call(ToolCall(id="c", name="suggestPlaylist", input=given)).ok


def test_every_description_says_what_the_tool_does_not_understand(bench: Bench) -> None:
    for definition in bench.tools.definitions:
        assert "NOT" in str(definition["description"])
        assert "Example: {" in str(definition["description"])
