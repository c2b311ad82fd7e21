"""The playlist that a run suggests: a section of its report, written by us and read back from there.

Titles, names and reasons come from models and catalogues. They are escaped wherever they are written, so
that none of them makes a row, a link or a formula.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.json import JsonObject, dump_text, text_of
from idea_explorer.domain.markdown import close_code
from idea_explorer.domain.music import tidal_address
from idea_explorer.domain.text import (
    escape_markdown,
    make_printable,
    one_line,
    unescape_markdown,
)
from idea_explorer.domain.toolsets import TOOLSETS

HEADING = "## Playlist: "
COLUMNS = "# Track Artist Album Length Owned Indexed Why ISRC Tidal Artwork".split()
# Any other is left out of a playlist in which all its cells are empty.
MANDATORY_COLUMNS = COLUMNS[:3]
FLAGS = {True: "yes", False: "no", None: "not known"}
FORMULA_SIGNS = "=+-@\t\r"  # a spreadsheet runs a cell that begins with one of these
MAX_CELL = 1_000
MAX_REASON = 2_000


class PlaylistTrack(DomainModel, frozen=True):
    """A track, with what is known of it. None is not known."""

    position: int
    title: str
    artist: str
    album: str | None
    duration_seconds: int | None
    in_library: bool | None
    is_indexed: bool | None
    reason: str
    isrc: str
    tidal_id: str | None
    url: str | None
    artwork_url: str | None


class Playlist(DomainModel, frozen=True):
    """`reason` is what the report says of the whole."""

    title: str
    reason: str = ""
    tracks: tuple[PlaylistTrack, ...]

    def as_json(self) -> JsonObject:
        return self.model_dump(mode="json")


def playlist_of(payload: JsonObject) -> Playlist | None:
    """The playlist in a tool's result; None if it holds none."""
    tracks = payload.get("tracks")
    found = tuple(
        PlaylistTrack(
            position=position,
            title=_clean(text_of(track.get("title"))),
            artist=_clean(text_of(track.get("artist"))),
            album=_clean(text_of(track.get("album"))) or None,
            duration_seconds=_number(track.get("durationSeconds")),
            in_library=_flag(track.get("inLibrary")),
            is_indexed=_flag(track.get("isIndexed")),
            reason=_clean(text_of(track.get("reasoning"))),
            isrc=_clean(text_of(track.get("isrc"))),
            tidal_id=_clean(text_of(track.get("tidalId"))) or None,
            url=tidal_address(track.get("url")),
            artwork_url=tidal_address(track.get("artworkUrl")),
        )
        for position, track in enumerate(tracks if isinstance(tracks, list) else [], start=1)
        if isinstance(track, dict)
    )
    return Playlist(title=_clean(text_of(payload.get("title"))), tracks=found) if found else None


def add_playlist(text: str, playlist: Playlist | None) -> str:
    """The report with the playlist as its last section. A section of that name in the text is not ours,
    and what the text left open ends before it."""
    said = "\n".join(
        f"#{line}" if line.startswith(HEADING.strip()) else line
        for line in close_code(text).split("\n")
    )
    if playlist is None:
        return said
    return f"{said.rstrip() or f'# {_cell(playlist.title)}'}\n\n{_render(playlist)}\n"


def parse_playlist(report: str) -> Playlist | None:
    """The playlist of a stored report; None if it has none."""
    before, found, section = f"\n{report}".rpartition(f"\n{HEADING}")
    lines = section.splitlines()
    at = next((n for n, line in enumerate(lines) if _is_header(_cells(line))), None)
    if not found or at is None:
        return None
    columns = _cells(lines[at])
    tracks = tuple(track for row in lines[at + 2 :] if (track := _parse_row(row, columns)))
    said = " ".join(line for line in before.splitlines() if not line.startswith("# "))
    if not tracks:
        return None
    title, reason = unescape_markdown(lines[0]), one_line(said, MAX_REASON)
    return Playlist(title=title, reason=reason, tracks=tracks)


Format = Literal["m3u", "csv", "json"]
MEDIA_TYPES: Mapping[Format, str] = {
    "m3u": "audio/x-mpegurl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}


def export(report: str, form: Format, toolset: str) -> str:
    """The playlist of a report as a file; raises MissingError if it has none. A report of another toolset
    may hold a table of this form that is not ours."""
    makers = [name for name, spec in TOOLSETS.items() if spec.result_tool]
    if toolset not in makers:
        raise MissingError(f"Only explorations of {' or '.join(makers)} have a playlist to export.")
    playlist = parse_playlist(report)
    if playlist is None:
        raise MissingError("The exploration has no playlist.")
    if form == "json":
        return dump_text(playlist.as_json(), indent=2) + "\n"
    return to_m3u(playlist) if form == "m3u" else to_csv(playlist)


def to_m3u(playlist: Playlist) -> str:
    lines = ["#EXTM3U", f"#PLAYLIST:{playlist.title}"]
    for track in playlist.tracks:
        seconds = -1 if track.duration_seconds is None else track.duration_seconds
        lines.append(f"#EXTINF:{seconds},{track.artist} - {track.title}")
        if track.artwork_url:
            lines.append(f"#EXTIMG:{track.artwork_url}")
        lines.append(track.url or f"isrc:{track.isrc}")
    return "\n".join(lines) + "\n"


def to_csv(playlist: Playlist) -> str:
    import csv
    import io

    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(PlaylistTrack.model_fields)
    for track in playlist.tracks:
        writer.writerow([_csv_cell(value) for value in track.model_dump().values()])
    return file.getvalue()


def _render(playlist: Playlist) -> str:
    rows = [
        (
            str(track.position),
            _cell(track.title),
            _cell(track.artist),
            _cell(track.album or ""),
            _length(track.duration_seconds),
            FLAGS[track.in_library],
            FLAGS[track.is_indexed],
            _cell(track.reason),
            _cell(track.isrc),
            _link(_cell(track.tidal_id or ""), track.url),
            _link("cover", track.artwork_url) if track.artwork_url else "",
        )
        for track in playlist.tracks
    ]
    table = [
        (name, *cells)
        for name, *cells in zip(COLUMNS, *rows, strict=True)
        if any(cells) or name in MANDATORY_COLUMNS
    ]
    header, *lines = (f"| {' | '.join(line)} |" for line in zip(*table, strict=True))
    rule = "|---" * len(table) + "|"
    return "\n".join([f"{HEADING}{_cell(playlist.title)}", "", header, rule, *lines])


def _is_header(cells: list[str]) -> bool:
    """Whether these are our columns in our order, of which some may be left out."""
    return set(MANDATORY_COLUMNS) <= set(cells) and cells == [n for n in COLUMNS if n in cells]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _split_cells(row)]


def _parse_row(row: str, columns: list[str]) -> PlaylistTrack | None:
    cells = _cells(row)
    if len(cells) != len(columns) or not cells[0].isdecimal():
        return None
    given = dict(zip(columns, cells, strict=True))
    position, title, artist, album, length, owned, indexed, reason, isrc, tidal, artwork = (
        given.get(name, "") for name in COLUMNS
    )
    flags = {word: flag for flag, word in FLAGS.items()}
    tidal_id, url = _parse_link(tidal)
    return PlaylistTrack(
        position=int(position[:4]),
        title=unescape_markdown(title),
        artist=unescape_markdown(artist),
        album=unescape_markdown(album) or None,
        duration_seconds=_parse_length(length),
        in_library=flags.get(owned),
        is_indexed=flags.get(indexed),
        reason=unescape_markdown(reason),
        isrc=unescape_markdown(isrc),
        tidal_id=unescape_markdown(tidal_id) or None,
        url=url,
        artwork_url=_parse_link(artwork)[1],
    )


def _split_cells(row: str) -> Iterator[str]:
    """The cells between the bars that are not escaped, without what is outside the first and the last."""
    start: int | None = None
    escaped = False
    for at, char in enumerate(row):
        if char == "|" and not escaped:
            if start is not None:
                yield row[start:at]
            start = at + 1
        escaped = char == "\\" and not escaped


def _parse_link(cell: str) -> tuple[str, str | None]:
    text, found, rest = cell.removeprefix("[").partition("](")
    return (text, tidal_address(rest.removesuffix(")"))) if found else (cell, None)


def _link(text: str, url: str | None) -> str:
    return f"[{text}]({url})" if url and text else text


def _cell(text: str) -> str:
    """Literal in Markdown, and no address that a renderer would turn into a link."""
    escaped = escape_markdown(_clean(text)).replace("://", "\\://").replace("@", "\\@")
    return escaped.replace("www.", "www\\.").replace("WWW.", "WWW\\.")


def _clean(text: str) -> str:
    return make_printable(one_line(text, MAX_CELL))


def _csv_cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(tuple(FORMULA_SIGNS)):
        return f"'{value}"
    return "" if value is None else value


def _length(seconds: int | None) -> str:
    return "" if seconds is None else f"{seconds // 60}:{seconds % 60:02}"


def _parse_length(text: str) -> int | None:
    minutes, _, seconds = text.partition(":")
    if not (minutes.isdecimal() and seconds.isdecimal()):
        return None
    return int(minutes[:6]) * 60 + int(seconds[:2])


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
