"""Files of tracks: checked as a whole, then imported as a whole."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.adapters.music.sqlite_library import SqliteLibrary
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.music import album_key
from idea_explorer.usecases.import_music import LibraryChange, import_library, index_tracks


def line(number: int = 1, **changes: Any) -> str:
    track = {
        "isrc": f"ZZTST19{number:05}",
        "title": "Song",
        "artist": "Artist",
        "album": "Album",
        "description": "A sad song about the rain.",
    }
    return json.dumps(track | changes)


@pytest.fixture
def index(tmp_path: Path) -> SqliteTrackIndex:
    return SqliteTrackIndex(tmp_path / "music.db", LexiconEmbedder())


@pytest.fixture
def library(tmp_path: Path) -> SqliteLibrary:
    return SqliteLibrary(tmp_path / "music.db")


def stream(*lines: str | bytes) -> io.BytesIO:
    raw = (each if isinstance(each, bytes) else each.encode() for each in lines)
    return io.BytesIO(b"\n".join(raw))


def test_tracks_are_indexed_and_counted(index: SqliteTrackIndex) -> None:
    given = stream("\ufeff" + line(1) + "\r", "", line(2, year=1999, genre="folk"), "")
    assert index_tracks(given, index) == 2
    assert len(index.get(["ZZTST1900001", "ZZTST1900002"])) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (line(2, isrc="US-RC1-76-07839"), "line 2: isrc: invalid ISRC 'US-RC1-76-07839'"),
        (line(2, title=" "), "line 2: title"),
        (line(2, description=None), "line 2: description"),
        ('{"isrc": "ZZTST1900002"}', "line 2: title: is missing"),
        ("no json", "line 2: is not JSON"),
        ("[]", "line 2: "),
        (b'{"isrc": "\xff"}', "line 2: is not JSON"),
        (line(1), "line 2: ISRC ZZTST1900001 is already on line 1"),
    ],
)
def test_one_wrong_line_is_named_and_nothing_is_indexed(
    index: SqliteTrackIndex, wrong: str | bytes, said: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        index_tracks(stream(line(1), wrong, line(3)), index)
    assert caught.value.message.startswith("Nothing was imported. ")
    assert said in caught.value.message
    assert index.get(["ZZTST1900001", "ZZTST1900003"]) == []


def test_many_wrong_lines_are_counted(index: SqliteTrackIndex) -> None:
    with pytest.raises(
        InvalidRequestError,
        match="lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11: is not JSON; and 5 more lines",
    ):
        index_tracks(stream(line(1), *["nonsense"] * 15), index)


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04\x14\x00\n\x00xl/\n",
        b"isrc,title\nZZ,Tea\n",
        b"{\n}\n",
        b'[{"isrc": "ZZTST1900001"}]',
        b'[\n"Tea"\n]\n',
        b"1\nnull\n",
    ],
)
def test_a_file_of_another_kind_is_said_in_one_sentence(
    index: SqliteTrackIndex, content: bytes
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        index_tracks(io.BytesIO(content), index)

    assert refused.value.message == "Nothing was imported. The file is not JSON lines."
    assert refused.value.hint.startswith("Each line must be a JSON object")


def test_a_file_that_is_empty_or_cannot_be_read_is_an_error(
    index: SqliteTrackIndex, library: SqliteLibrary
) -> None:
    with pytest.raises(InvalidRequestError, match="holds no tracks"):
        index_tracks(stream("", " "), index)
    with pytest.raises(InvalidRequestError, match="holds no tracks"):
        import_library(stream(), library)
    with (
        Path("/proc/self/mem").open("rb") as unreadable,  # its first page is not mapped
        pytest.raises(InvalidRequestError, match="cannot be read"),
    ):
        index_tracks(unreadable, index)


def owned(number: int = 1, **changes: Any) -> str:
    track = {"isrc": f"ZZTST19{number:05}", "title": "Song", "artist": "Artist", "album": "Album"}
    return json.dumps(track | changes)


def test_a_library_is_imported_and_a_track_that_stands_there_twice_counts_once(
    library: SqliteLibrary,
) -> None:
    given = stream('{"isrc": "zztst1900001"}', owned(1), '{"isrc": "ZZTST1900002"}')
    assert import_library(given, library) == LibraryChange(2, 0, 0, 0)
    assert library.known_isrcs(["ZZTST1900001", "ZZTST1900002"]) == {"ZZTST1900001", "ZZTST1900002"}


def test_an_import_says_what_it_adds_and_replaces(library: SqliteLibrary) -> None:
    import_library(stream(owned(1), owned(2)), library)
    again = stream(owned(1), owned(2, title="Other"), owned(3), '{"isrc": "ZZTST1900001"}')
    assert import_library(again, library) == LibraryChange(1, 1, 1, 0)
    assert [track.title for track in library.tracks()] == ["Other", "Song", "Song"]


def test_a_replaced_library_holds_the_file_alone(library: SqliteLibrary) -> None:
    import_library(stream(owned(1), owned(2, album="Gone")), library)
    change = import_library(stream(owned(1), owned(3)), library, replace=True)
    assert change == LibraryChange(1, 0, 1, 1)
    assert [track.isrc for track in library.tracks()] == ["ZZTST1900001", "ZZTST1900003"]
    assert library.known_albums([album_key("Artist", "Gone")]) == frozenset()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (line(2), "line 2: is a line of a track file, which 'idea index' takes"),
        ('{"isrc": "ZZTST1900002", "tags": ["rain"]}', "line 2: is not a line of a library"),
        ('{"query": "rain"}', "line 2: is not a line of a library"),
    ],
)
def test_a_file_of_another_kind_is_refused(library: SqliteLibrary, wrong: str, said: str) -> None:
    with pytest.raises(InvalidRequestError, match="Nothing was imported") as caught:
        import_library(stream(owned(1), wrong), library)
    assert said in caught.value.message
    assert library.tracks() == []


def test_one_wrong_line_and_nothing_is_owned(library: SqliteLibrary) -> None:
    with pytest.raises(InvalidRequestError, match="line 2: isrc: invalid ISRC"):
        import_library(stream(owned(1), '{"isrc": "x"}'), library)
    assert library.known_isrcs(["ZZTST1900001"]) == frozenset()
