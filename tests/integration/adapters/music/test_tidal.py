"""Tidal's catalogue over the wire: sign-in, paging, what is withheld, and what its failures mean."""

import time
from collections.abc import Iterator

import httpx
import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.music import tidal as tidal_module
from idea_explorer.adapters.music.tidal import MAX_QUERY, Tidal
from idea_explorer.adapters.music.tidal_documents import parse_duration
from idea_explorer.adapters.music.tidal_sign_in import ClientCredentials
from idea_explorer.domain.errors import (
    AuthFailedError,
    ExternalError,
    MissingError,
    NetworkError,
    RateLimitedError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.music import CatalogueAlbum, CatalogueTrack, tidal_address
from tests.fakes.clock import ManualClock
from tests.fakes.discovering import catalogue_of
from tests.fakes.json_server import Fault, Reply
from tests.fakes.openapi_contract import query_values
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
        assert tidal.contract.violations == []


BREAKWATER = CatalogueTrack(
    "ZZSDM0900001",
    "Breakwater Sermon",
    "The Sidmouth Five",
    "Groyne",
    tidal_id="11001",
    duration_seconds=185,
    url="https://tidal.com/browse/track/11001",
    artwork_url="https://resources.tidal.com/images/art11/320x320.jpg",
)


@pytest.fixture
def tidal(server: FakeTidal) -> Tidal:
    return catalogue_of(server, country="NO")


def test_tracks_come_with_artist_album_isrc_duration_and_addresses(tidal: Tidal) -> None:
    found = tidal.search("breakwater", ["tracks"], 20)
    assert found.tracks == [BREAKWATER]
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
    assert query_values(asked.target.partition("?")[2]) == {
        "filter[query]": ["sidmouth"],
        "countryCode": ["NO"],
        "explicitFilter": ["INCLUDE"],
        "include": ["tracks.artists", "tracks.albums.coverArt", "albums.artists"],
    }
    assert asked.headers["accept"] == "application/vnd.api+json"


def test_a_long_query_is_cut_to_what_tidal_takes(server: FakeTidal, tidal: Tidal) -> None:
    assert tidal.search("x" * 500, ["tracks"], 5).tracks == []
    assert len(server.requests[-1].query["filter[query]"]) == MAX_QUERY


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
    (track,) = found.tracks
    assert (track.isrc, track.title) == (None, "Song (Live)")


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


def test_pages_that_would_come_too_late_are_left_out_and_the_answer_says_so(
    server: FakeTidal,
) -> None:
    server.delays["/v2"] = 1.0
    found = catalogue_of(server, SystemClock()).search("lap", ["tracks"], 50)
    assert len(found.tracks) == 20
    assert found.cut_short
    assert len(server.asked("/v2")) == 1


def test_tracks_are_looked_up_by_isrc_twenty_at_a_time(server: FakeTidal, tidal: Tidal) -> None:
    isrcs = [f"ZZMRT20{number:05}" for number in range(1, 46)]
    found = tidal.tracks([*isrcs, "ZZSDM0900001", "ZZNOT0000001"])
    assert [track.isrc for track in found] == [*isrcs, "ZZSDM0900001"]
    assert found[-1] == BREAKWATER
    assert len(server.asked("/v2/tracks")) == 3
    assert tidal.tracks([]) == []


def test_the_same_recording_on_two_albums_is_one_track(server: FakeTidal, tidal: Tidal) -> None:
    server.add_album("44", "Best of", "The Sidmouth Five", [("ZZSDM0900001", "Breakwater Sermon")])
    assert tidal.tracks(["ZZSDM0900001"]) == [BREAKWATER]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT2M58S", 178), ("PT1H", 3_600), ("PT46M17.5S", 2_777), ("PT", None), ("3:05", None)],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "address",
    [
        "http://tidal.com/browse/track/1",
        "https://tidal.com.evil.example/x",
        "https://evil.example/tidal.com/x",
        "https://tidal.com/x) [y](https://evil.example",
        "https://tidal.com/a|b",
        "javascript:alert(1)",
        7,
    ],
)
def test_an_address_elsewhere_is_no_link(address: object) -> None:
    assert tidal_address(address) is None


@pytest.mark.long
def test_three_hundred_requests_break_no_rule_of_tidal_s_description(
    server: FakeTidal, tidal: Tidal
) -> None:
    words = ["lap", "sidmouth", "ümlaut & co", "a,b", "50% +1", "x" * 500, "?#/", "breakwater"]
    for number in range(40):
        for kinds in (["tracks"], ["albums"], ["tracks", "albums"]):
            tidal.search(f"{words[number % len(words)]}", kinds, 45)  # type: ignore[arg-type]
        tidal.album("11")
        tidal.tracks([f"ZZMRT20{number + each:05}" for each in range(50)])
    print(
        f"{server.contract.requests} requests to Tidal, {len(server.contract.violations)} violations"
    )
    assert server.contract.requests >= 300
    assert server.contract.violations == []


@pytest.mark.parametrize(
    "target",
    [
        "/searchResults",
        "/searchResults/lap",
        "/searchResults?filter[query]=a&page[limit]=5",
        "/searchResults?filter[query]=a&explicitFilter=MAYBE",
        "/searchResults?filter[query]=a&include=tracks%2Calbums",
        "/searchResults?filter[query]=a&include=tracks.albums.artists.albums",
        "/searchResults?filter[query]=a&include=lyrics",
        f"/searchResults?filter[query]={'x' * 257}",
        "/searchResults/lap/relationships/tracks",
        "/tracks",
        "/tracks?filter[isrc]=" + ",".join(["ZZMRT2000001"] * 21),
        "/artists/1",
    ],
)
def test_the_test_tidal_refuses_what_the_real_one_refuses(target: str) -> None:
    with FakeTidal() as server:
        bearer = catalogue_of(server)._sign_in.bearer()
        headers = {"Authorization": f"Bearer {bearer}"}
        answer = httpx.get(f"{server.api_url}{target}", headers=headers, trust_env=False)
    assert answer.status_code in {400, 404}


def test_a_later_page_that_fails_leaves_what_came_before(server: FakeTidal, tidal: Tidal) -> None:
    server.broken = Fault("reply", Reply(503), "/v2/albums/22/relationships")
    album, tracks = tidal.album("22")
    assert (album.track_count, len(tracks)) == (130, 20)


@pytest.mark.parametrize("album_id", ["99", "11/../22", "nonsense"])
def test_an_album_that_does_not_exist_is_missing(tidal: Tidal, album_id: str) -> None:
    with pytest.raises(MissingError):
        tidal.album(album_id)


def test_one_token_serves_many_calls(server: FakeTidal) -> None:
    clock = ManualClock()
    tidal = catalogue_of(server, clock)
    tidal.search("a", ["tracks"], 1)
    clock.pass_time(server.token_seconds - 700)
    tidal.search("a", ["tracks"], 1)
    assert len(server.asked("/auth")) == 1


def test_a_token_that_is_about_to_expire_is_not_used(server: FakeTidal) -> None:
    clock = ManualClock()
    tidal = catalogue_of(server, clock)
    tidal.search("a", ["tracks"], 1)
    clock.pass_time(server.token_seconds - 59)
    tidal.search("a", ["tracks"], 1)
    assert server.requests[-1].headers["authorization"] == "Bearer token-2"


def test_a_token_that_ends_soon_is_renewed_beside_the_search(server: FakeTidal) -> None:
    clock = ManualClock()
    tidal = catalogue_of(server, clock)
    tidal.search("a", ["tracks"], 1)
    server.delays["/auth"] = 60
    clock.pass_time(server.token_seconds - 300)
    tidal.search("a", ["tracks"], 1)
    assert server.asked("/v2")[-1].headers["authorization"] == "Bearer token-1"
    wait_for_sign_ins(server, 2)


def test_signing_in_ahead_leaves_nothing_of_it_to_the_search(
    server: FakeTidal, tidal: Tidal
) -> None:
    tidal.prepare()
    wait_for_sign_ins(server, 1)
    assert not server.asked("/v2")
    tidal.search("a", ["tracks"], 1)
    assert len(server.asked("/auth")) == 1


def wait_for_sign_ins(server: FakeTidal, count: int) -> None:
    for _ in range(3_000):
        if len(server.asked("/auth")) == count:
            return
        time.sleep(0.01)
    raise AssertionError(server.asked("/auth"))


def test_a_revoked_token_is_replaced_within_the_call(server: FakeTidal, tidal: Tidal) -> None:
    tidal.search("a", ["tracks"], 1)
    server.forget_tokens()
    assert tidal.search("breakwater", ["tracks"], 1).tracks == [BREAKWATER]
    assert len(server.asked("/auth")) == 2


def test_wrong_credentials_say_which_settings_to_check_and_hide_the_secret(
    server: FakeTidal,
) -> None:
    with pytest.raises(AuthFailedError, match="TIDAL_CLIENT_ID") as caught:
        catalogue_of(server, secret="swordfish").search("a", ["tracks"], 1)
    assert "swordfish" not in caught.value.sentence
    assert "swordfish" not in repr(ClientCredentials("id", "swordfish"))


@pytest.mark.parametrize(
    ("status", "error", "retryable"),
    [
        (429, RateLimitedError, True),
        (503, UnavailableError, True),
        (504, UpstreamTimeoutError, True),
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


def test_a_server_that_hangs_times_out(
    server: FakeTidal, tidal: Tidal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidal_module, "FIRST_PAGE_SECONDS", 0.2)
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
