"""The playlist in a report: what is written is what is read back, and nothing in it is markup."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import JsonValue

from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.playlist import (
    COLUMNS,
    add_playlist,
    export,
    parse_playlist,
    playlist_of,
)

CLOSING = "# Rain\n\nIt starts wet. It ends dry."
HOSTILE = [
    "a | b | c",
    "a\n| 9 | forged | row |",
    "[link](https://evil.example)",
    "https://evil.example/x www.evil.example a@evil.example",
    "![image](https://evil.example/i.png)",
    "<img src=x onerror=alert(1)>",
    "\\| \\\\| `|`",
    "## Playlist: Forged",
    "\x1b[31mred\u202e",
    "&lt;b&gt; &#124;",
    "*a* _b_ ~~c~~",
]


def result(named: str = "Rain", **changes: JsonValue) -> JsonObject:
    track: JsonObject = {
        "isrc": "ZZHRR1900001",
        "title": "Wet Asphalt Hymn",
        "artist": "Harrow Lane",
        "album": "Wipers on Low",
        "inLibrary": True,
        "isIndexed": None,
        "tidalId": "11001",
        "durationSeconds": 185,
        "url": "https://tidal.com/browse/track/11001",
        "artworkUrl": "https://resources.tidal.com/images/a/320x320.jpg",
        "reasoning": "It drives home.",
    }
    return {"title": named, "tracks": [{**track, **changes}]}


def report_of(payload: JsonObject, text: str = CLOSING) -> str:
    playlist = playlist_of(payload)
    assert playlist is not None
    return add_playlist(text, playlist)


def test_the_tracks_stand_in_the_report_whatever_its_text_says() -> None:
    report = report_of(result())
    assert report.startswith(CLOSING)
    assert "## Playlist: Rain" in report
    row = (
        "| 1 | Wet Asphalt Hymn | Harrow Lane | Wipers on Low | 3:05 | yes | not known"
        " | It drives home. | ZZHRR1900001 | [11001](https://tidal.com/browse/track/11001)"
        " | [cover](https://resources.tidal.com/images/a/320x320.jpg) |"
    )
    assert row in report.splitlines()
    assert "![" not in report


def test_the_report_gives_back_the_playlist() -> None:
    parsed = parse_playlist(report_of(result()))
    assert parsed is not None
    assert parsed.reason == "It starts wet. It ends dry."
    given = playlist_of(result())
    assert given is not None
    assert parsed.tracks == given.tracks


def test_a_column_that_is_empty_in_every_row_is_left_out() -> None:
    payload = result(album=None, durationSeconds=None, tidalId=None, url=None, artworkUrl=None)
    report = report_of(payload)

    assert "| # | Track | Artist | Owned | Indexed | Why | ISRC |" in report.splitlines()
    parsed, given = parse_playlist(report), playlist_of(payload)
    assert parsed is not None
    assert given is not None
    assert parsed.tracks == given.tracks


def test_a_column_that_one_row_fills_is_shown() -> None:
    payload = result()
    tracks = payload["tracks"]
    assert isinstance(tracks, list)
    tracks.append({"title": "B", "artist": "C"})
    report = report_of(payload)

    assert f"| {' | '.join(COLUMNS)} |" in report.splitlines()
    assert "| 2 | B | C |  |  | not known | not known |  |  |  |  |" in report.splitlines()


def test_a_playlist_that_was_written_with_all_columns_is_still_read() -> None:
    rule = "|---" * len(COLUMNS) + "|"
    row = "| 1 | B | C |  |  | no | no | It hums. | ZZHRR1900001 |  |  |"
    parsed = parse_playlist(
        f"# Hi\n\n## Playlist: Old\n\n| {' | '.join(COLUMNS)} |\n{rule}\n{row}\n"
    )

    assert parsed is not None
    assert (parsed.tracks[0].title, parsed.tracks[0].album) == ("B", None)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_others_makes_no_row_no_link_and_no_section(text: str) -> None:
    payload = result(text, **dict.fromkeys(("title", "artist", "album", "reasoning"), text))
    report = report_of(payload)
    parsed, given = parse_playlist(report), playlist_of(payload)
    assert parsed is not None
    assert given is not None
    assert (parsed.title, parsed.tracks) == (given.title, given.tracks)
    html = MarkdownIt("gfm-like", {"linkify": False, "html": False}).render(report)
    assert html.count("<tr>") == 2
    assert html.count("<a ") == 2
    assert "<img" not in html


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_comes_back_as_it_was_shown(text: str) -> None:
    given_playlist = playlist_of(result(title=text, reasoning=text))
    assert given_playlist is not None
    parsed = parse_playlist(add_playlist(CLOSING, given_playlist))
    assert parsed is not None
    assert parsed.tracks == given_playlist.tracks


def test_a_section_that_the_text_forges_is_not_ours() -> None:
    header = f"| {' | '.join(COLUMNS)} |"
    forged = f"# Hi\n\n## Playlist: Forged\n\n{header}\n|---|\n" + "| 1" + " | x" * 10 + " |"
    assert parse_playlist(add_playlist(forged, None)) is None
    parsed = parse_playlist(report_of(result(), forged))
    assert parsed is not None
    assert parsed.title == "Rain"


def test_code_that_the_text_left_open_ends_before_the_playlist() -> None:
    html = MarkdownIt("commonmark").enable("table").render(report_of(result(), "# Hi\n\n```\nx"))
    assert "<table>" in html


def test_a_run_without_text_has_its_playlist() -> None:
    assert report_of(result(), "").startswith("# Rain\n\n## Playlist: Rain")


@pytest.mark.parametrize("url", ["https://evil.example/x", "javascript:x", "https://tidal.com/)x"])
def test_an_address_elsewhere_is_left_out(url: str) -> None:
    parsed = parse_playlist(report_of(result(url=url, artworkUrl=url)))
    assert parsed is not None
    assert (parsed.tracks[0].url, parsed.tracks[0].artwork_url) == (None, None)


def test_an_m3u_has_a_line_for_each_track_and_no_other() -> None:
    lines = export(report_of(result("a\n#EXTINF:1,x\nhttps://evil.example")), "m3u", "discover")
    assert lines.splitlines() == [
        "#EXTM3U",
        "#PLAYLIST:a #EXTINF:1,x https://evil.example",
        "#EXTINF:185,Harrow Lane - Wet Asphalt Hymn",
        "#EXTIMG:https://resources.tidal.com/images/a/320x320.jpg",
        "https://tidal.com/browse/track/11001",
    ]
    assert "isrc:ZZHRR1900001" in export(report_of(result(url=None)), "m3u", "discover")


@pytest.mark.parametrize("sign", "=+-@")
def test_no_cell_of_a_csv_is_a_formula(sign: str) -> None:
    text = export(report_of(result(title=f'{sign}HYPERLINK("x")')), "csv", "discover")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["title"] == f'\'{sign}HYPERLINK("x")'
    assert (row["in_library"], row["is_indexed"]) == ("True", "")


def test_json_has_all_that_is_known() -> None:
    playlist = json.loads(export(report_of(result()), "json", "discover"))
    assert playlist["title"] == "Rain"
    assert playlist["tracks"][0]["duration_seconds"] == 185


def test_a_report_without_a_playlist_cannot_be_exported() -> None:
    with pytest.raises(MissingError, match="no playlist"):
        export(CLOSING, "m3u", "discover")
    assert playlist_of({"title": "x", "tracks": []}) is None


def test_only_toolsets_that_make_playlists_export_one() -> None:
    with pytest.raises(MissingError, match=r"Only explorations of discover have a playlist"):
        export(report_of(result()), "m3u", "research")
