"""`idea index` and `idea library import`: music data for the discover toolset."""

import argparse
import sys
from pathlib import Path
from typing import IO

from idea_explorer.cli.environment import settings_for
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.usecases.import_music import import_library, index_tracks
from idea_explorer.wiring import music
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import check_folder


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    check_folder(settings)
    source = _source(arguments.file)
    if arguments.music == "index":
        count = index_tracks(source, music.track_index(settings))
        print(f"{count:,} tracks are indexed")
    else:
        owned = music.library(settings, arguments.owner, system_clock())
        count = import_library(source, owned)
        print(f"{count:,} tracks are in the library")
    return 0


def _source(given: str) -> Path | IO[bytes]:
    if given == "-":
        return sys.stdin.buffer
    path = Path(given)
    if not path.is_file():
        raise InvalidRequestError(f"{given} is not a file that can be read.")
    return path
