"""The promises of Library, kept alike by SQLite and by DynamoDB."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import boto3
import pytest
from botocore.stub import ANY, Stubber

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.music.dynamodb import DynamoLibrary
from idea_explorer.adapters.music.sqlite_library import SqliteLibrary
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.music import OwnedTrack, album_key
from idea_explorer.ports.music import Library
from tests.fakes.aws import NAMES
from tests.fakes.clock import ManualClock

Opening: TypeAlias = Callable[[], Library]
TABLE = NAMES["TABLE_NAME"]
BREAD = OwnedTrack(isrc="ZZTST1900001", artist="Marrow & Vine", album="The Long Table")
BARE = OwnedTrack(isrc="zztst1900002")


@pytest.fixture(params=["sqlite", "dynamodb"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    if request.param == "sqlite":
        return lambda: SqliteLibrary(tmp_path / "music.db")
    request.getfixturevalue("aws")
    return lambda: DynamoLibrary(TABLE, lambda: client("dynamodb"), ManualClock(), "ada")


def test_what_was_added_is_owned_and_nothing_else(opening: Opening) -> None:
    opening().add([BREAD, BARE])
    asked = ["ZZTST1900001", "ZZTST1900002", "ZZTST1900003"]
    assert opening().known_isrcs(asked) == {"ZZTST1900001", "ZZTST1900002"}


def test_an_album_is_owned_when_a_track_of_it_is(opening: Opening) -> None:
    opening().add([BREAD, BARE])
    asked = [album_key("marrow and vine", "x"), album_key("MARROW & VINE", "the long table")]
    assert opening().known_albums(asked) == {BREAD.album_key}


def test_a_long_name_is_a_name_too(opening: Opening) -> None:
    wordy = BREAD.model_copy(update={"album": "é" * 500, "artist": "ß" * 500})
    opening().add([wordy])
    assert wordy.album_key
    assert opening().known_albums([wordy.album_key]) == {wordy.album_key}


def test_adding_again_changes_nothing(opening: Opening) -> None:
    library = opening()
    library.add([BREAD])
    library.add([OwnedTrack(isrc=BREAD.isrc), BREAD])
    assert library.known_isrcs([BREAD.isrc]) == {BREAD.isrc}
    assert library.known_albums([BREAD.album_key or ""]) == {BREAD.album_key}


def test_what_is_owned_is_listed_with_its_names(opening: Opening) -> None:
    named = BREAD.model_copy(update={"title": "Crust"})
    opening().add([BARE, named])
    assert opening().tracks() == [BARE, named]


def test_what_is_removed_is_owned_no_longer_and_neither_is_its_album(opening: Opening) -> None:
    other = OwnedTrack(isrc="ZZTST1900003", artist=BREAD.artist, album=BREAD.album)
    opening().add([BREAD, BARE, other])
    opening().remove([BREAD.isrc, "ZZTST0000000"])
    assert opening().known_isrcs([BREAD.isrc, BARE.isrc]) == {BARE.isrc}
    assert opening().known_albums([BREAD.album_key or ""]) == {BREAD.album_key}
    opening().remove([other.isrc])
    assert opening().known_albums([BREAD.album_key or ""]) == frozenset()


def test_an_empty_library_owns_nothing(opening: Opening) -> None:
    library = opening()
    assert library.known_isrcs(["ZZTST1900001"]) == frozenset()
    assert library.known_isrcs([]) == frozenset()
    assert library.known_albums([]) == frozenset()


def test_many_tracks_are_added_and_looked_up(opening: Opening) -> None:
    library = opening()
    tracks = [OwnedTrack(isrc=f"ZZTST20{number:05}") for number in range(120)]
    library.add(tracks)
    asked = [track.isrc for track in tracks[:100]]
    assert library.known_isrcs(asked) == set(asked)


# What only DynamoDB can do


def test_nobody_sees_what_another_owns(aws: object) -> None:
    def library(owner: str) -> DynamoLibrary:
        return DynamoLibrary(TABLE, lambda: client("dynamodb"), ManualClock(), owner)

    library("ada").add([BREAD])
    assert library("bob").known_isrcs([BREAD.isrc]) == frozenset()


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Stubber]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    dynamodb: Any = boto3.client("dynamodb", region_name="eu-central-1")
    stubber = Stubber(dynamodb)
    stubber.activate()
    return dynamodb, stubber


def test_a_hundred_tracks_are_one_request(stubbed: tuple[Any, Stubber]) -> None:
    dynamodb, stubber = stubbed
    stubber.add_response("batch_get_item", {"Responses": {}}, {"RequestItems": ANY})
    library = DynamoLibrary(TABLE, lambda: dynamodb, ManualClock(), "ada")
    assert library.known_isrcs([f"ZZTST20{number:05}" for number in range(100)]) == frozenset()
    stubber.assert_no_pending_responses()


def test_an_answer_in_part_is_an_error_and_not_a_no(stubbed: tuple[Any, Stubber]) -> None:
    dynamodb, stubber = stubbed
    key = {"pk": {"S": "LIBRARY#ada"}, "sk": {"S": "ISRC#ZZTST1900001"}}
    stubber.add_response(
        "batch_get_item", {"Responses": {}, "UnprocessedKeys": {TABLE: {"Keys": [key]}}}
    )
    library = DynamoLibrary(TABLE, lambda: dynamodb, ManualClock(), "ada")
    with pytest.raises(RateLimitedError):
        library.known_isrcs(["ZZTST1900001"])


def test_what_dynamodb_did_not_take_is_sent_again_and_at_last_admitted(
    stubbed: tuple[Any, Stubber],
) -> None:
    dynamodb, stubber = stubbed
    put = {"PutRequest": {"Item": {"pk": {"S": "LIBRARY#ada"}, "sk": {"S": "ISRC#ZZTST1900001"}}}}
    rest = {"UnprocessedItems": {TABLE: [put]}}
    clock = ManualClock()
    library = DynamoLibrary(TABLE, lambda: dynamodb, clock, "ada")

    stubber.add_response("batch_write_item", rest)
    stubber.add_response("batch_write_item", {})
    library.add([OwnedTrack(isrc="ZZTST1900001")])
    stubber.assert_no_pending_responses()
    assert clock.slept == [0.1]

    for _ in range(8):
        stubber.add_response("batch_write_item", rest)
    with pytest.raises(RateLimitedError, match="Import the file again"):
        library.add([OwnedTrack(isrc="ZZTST1900001")])
