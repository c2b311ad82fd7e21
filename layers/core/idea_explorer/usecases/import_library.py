"""Tell the library what the listener owns, from a file."""

from pathlib import Path
from typing import IO

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.music import OwnedTrack
from idea_explorer.ports.music import Library
from idea_explorer.usecases.json_lines import read_json_lines


def import_library(source: Path | IO[bytes], library: Library) -> int:
    """Add every track of the file; says how many different ones there were.

    One wrong line and nothing is added. Raises InvalidRequestError for the file and ExternalError for the
    library.
    """
    tracks = {track.isrc: track for _, track in read_json_lines(source, OwnedTrack)}
    if not tracks:
        raise InvalidRequestError("The file holds no tracks.")
    library.add([*tracks.values()])
    return len(tracks)
