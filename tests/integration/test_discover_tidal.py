"""Tidal's catalogue over the wire: sign-in, paging, what is withheld, and what its failures mean."""

from collections.abc import Iterator

import pytest

from idea_explorer.adapters.music.tidal import ClientCredentials, Tidal
from idea_explorer.domain.errors import (
    AuthFailedError,
    ExternalError,
    MissingError,
    NetworkError,
    RateLimitedError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack
from tests.fakes.clock import ManualClock
from tests.fakes.json_server import Fault, Reply
from tests.fakes.tidal_server import FakeTidal


@pytest.fixture
def server() -> Iterator[FakeTidal]:
    with FakeTidal() as tidal:
        tidal.add_album(
            "11",
            "Groyne",
            "The Sidmouth Five",
            [("ZZSDM0900001", "Breakwater Sermon"), ("", "Untitled Take")],
        )
        tidal.add_album(
            "22",
            "Long Player",
            "Marathon",
            [(f"ZZMRT20{number:05}", f"Lap {number}") for number in range(1, 131)],
        )
        yield tidal


def tidal_of(server: FakeTidal, clock: ManualClock | None = None, secret: str = "secret") -> Tidal:
    return Tidal(
        lambda: ClientCredentials("id", secret),
        clock or ManualClock(),
        country="NO",
        api_url=server.api_url,
        auth_url=server.auth_url,
    )


@pytest.fixture
def tidal(server: FakeTidal) -> Tidal:
    return tidal_of(server)


def test_tracks_come_with_artist_album_and_isrc(tidal: Tidal) -> None:
    found = tidal.search("breakwater", ["tracks"], 20)
    assert found.tracks == [
        CatalogueTrack("ZZSDM0900001", "Breakwater Sermon", "The Sidmouth Five", "Groyne")
    ]
    assert found.albums == []


def test_albums_come_with_date_and_count(tidal: Tidal) -> None:
    found = tidal.search("groyne", ["albums"], 20)
    assert found.albums == [CatalogueAlbum("11", "Groyne", "The Sidmouth Five", "2019-05-17", 2)]
    assert found.tracks == []


def test_one_search_asks_for_the_first_page_of_both_at_once(
    server: FakeTidal, tidal: Tidal
) -> None:
    found = tidal.search("sidmouth", ["tracks", "albums"], 20)
    assert (len(found.tracks), len(found.albums)) == (2, 1)
    (asked,) = server.asked("/v2")
    assert asked.path == "/v2/searchResults"
    assert asked.query == {
        "filter[query]": "sidmouth",
        "countryCode": "NO",
        "explicitFilter": "INCLUDE",
        "include": "tracks,tracks.artists,tracks.albums,albums,albums.artists",
    }
    assert asked.headers["accept"] == "application/vnd.api+json"


def test_pages_are_followed_as_far_as_the_limit(server: FakeTidal, tidal: Tidal) -> None:
    found = tidal.search("lap", ["tracks"], 50)
    assert [track.title for track in found.tracks] == [f"Lap {number}" for number in range(1, 51)]
    assert len(server.asked("/v2")) == 3


def test_a_limit_below_a_page_cuts_it(server: FakeTidal, tidal: Tidal) -> None:
    assert len(tidal.search("lap", ["tracks"], 3).tracks) == 3
    assert len(server.asked("/v2")) == 1


def test_a_query_is_never_part_of_the_path(server: FakeTidal, tidal: Tidal) -> None:
    assert tidal.search("../../albums/11?x=", ["tracks"], 5).tracks == []
    assert server.requests[-1].path == "/v2/searchResults"


def test_a_track_without_isrc_has_none_and_a_version_joins_the_title(
    server: FakeTidal, tidal: Tidal
) -> None:
    server.add_album("33", "Takes", "Solo", [("not-an-isrc", "Song")], version="Live")
    found = tidal.search("solo", ["tracks"], 5)
    assert found.tracks == [CatalogueTrack(None, "Song (Live)", "Solo", "Takes")]


def test_a_track_that_tidal_lists_and_withholds_is_left_out(
    server: FakeTidal, tidal: Tidal
) -> None:
    server.withheld.add("11002")
    _, tracks = tidal.album("11")
    assert [track.title for track in tracks] == ["Breakwater Sermon"]


def test_an_album_comes_whole_over_all_its_pages(server: FakeTidal, tidal: Tidal) -> None:
    album, tracks = tidal.album("22")
    assert album == CatalogueAlbum("22", "Long Player", "Marathon", "2019-05-17", 130)
    assert [track.title for track in tracks] == [f"Lap {number}" for number in range(1, 131)]
    assert {(track.artist, track.album) for track in tracks} == {("Marathon", "Long Player")}
    assert len(server.asked("/v2")) == 7


def test_a_later_page_that_fails_leaves_what_came_before(server: FakeTidal, tidal: Tidal) -> None:
    server.broken = Fault("reply", Reply(503), "/v2/albums/22/relationships")
    album, tracks = tidal.album("22")
    assert (album.track_count, len(tracks)) == (130, 20)


@pytest.mark.parametrize("album_id", ["99", "11/../22", "nonsense"])
def test_an_album_that_does_not_exist_is_missing(tidal: Tidal, album_id: str) -> None:
    with pytest.raises(MissingError):
        tidal.album(album_id)


def test_one_token_serves_many_calls_until_shortly_before_it_expires(server: FakeTidal) -> None:
    clock = ManualClock()
    tidal = tidal_of(server, clock)
    tidal.search("a", ["tracks"], 1)
    clock.pass_time(server.token_seconds - 61)
    tidal.search("a", ["tracks"], 1)
    assert len(server.asked("/auth")) == 1
    clock.pass_time(2)
    tidal.search("a", ["tracks"], 1)
    assert len(server.asked("/auth")) == 2


def test_a_revoked_token_fails_one_call_and_is_replaced_for_the_next(
    server: FakeTidal, tidal: Tidal
) -> None:
    tidal.search("a", ["tracks"], 1)
    server.forget_tokens()
    with pytest.raises(AuthFailedError):
        tidal.search("a", ["tracks"], 1)
    tidal.search("a", ["tracks"], 1)


def test_wrong_credentials_say_which_settings_to_check_and_hide_the_secret(
    server: FakeTidal,
) -> None:
    with pytest.raises(AuthFailedError, match="TIDAL_CLIENT_ID") as caught:
        tidal_of(server, secret="swordfish").search("a", ["tracks"], 1)
    assert "swordfish" not in caught.value.sentence
    assert "swordfish" not in repr(ClientCredentials("id", "swordfish"))


@pytest.mark.parametrize(
    ("status", "error", "retryable"),
    [
        (429, RateLimitedError, True),
        (503, UnavailableError, True),
        (504, UpstreamTimeoutError, True),
        (401, AuthFailedError, False),
        (403, AuthFailedError, False),
        (500, UnavailableError, True),
        (502, UnavailableError, True),
    ],
)
def test_a_failure_says_whether_another_try_helps(
    server: FakeTidal, tidal: Tidal, status: int, error: type[ExternalError], retryable: bool
) -> None:
    server.fail(status, path="/v2", headers={"Retry-After": "7"})
    with pytest.raises(error) as caught:
        tidal.search("a", ["tracks"], 1)
    assert caught.value.retryable is retryable
    if isinstance(caught.value, RateLimitedError):
        assert caught.value.retry_after == 7


def test_a_server_that_hangs_times_out(server: FakeTidal, tidal: Tidal) -> None:
    server.broken = Fault("hang", path="/v2")
    with pytest.raises(UpstreamTimeoutError):
        tidal.search("a", ["tracks"], 1)


def test_a_connection_that_breaks_or_is_refused_is_a_network_error(
    server: FakeTidal, tidal: Tidal
) -> None:
    server.broken = Fault("reset", path="/v2")
    with pytest.raises(NetworkError):
        tidal.search("a", ["tracks"], 1)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 7}', b'{"data": [{"id": 1}]}'])
def test_an_answer_of_another_form_is_an_error(
    server: FakeTidal, tidal: Tidal, body: bytes
) -> None:
    server.broken = Fault("reply", Reply(200, body), "/v2")
    with pytest.raises(ExternalError, match="unexpected form"):
        tidal.search("a", ["tracks"], 1)
