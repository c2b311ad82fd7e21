"""Fill the track index from a file."""

from pathlib import Path
from typing import IO

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.music import IndexedTrack
from idea_explorer.ports.music import TrackIndex
from idea_explorer.usecases.json_lines import complain, read_json_lines


def index_tracks(source: Path | IO[bytes], index: TrackIndex) -> int:
    """Add every track of the file, replacing those that are indexed already; says how many there were.

    One wrong line, or an ISRC that stands there twice, and nothing is added. Raises InvalidRequestError
    for the file and ExternalError for the index.
    """
    lines = read_json_lines(source, IndexedTrack)
    if not lines:
        raise InvalidRequestError("The file holds no tracks.")
    first_lines: dict[str, int] = {}
    twice = {
        number: f"ISRC {track.isrc} stands already on line {first_lines[track.isrc]}"
        for number, track in lines
        if first_lines.setdefault(track.isrc, number) != number
    }
    if twice:
        raise complain(twice)
    index.add([track for _, track in lines])
    return len(lines)
