"""`idea index` and `idea library import`: music data for the discover toolset."""

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from idea_explorer.cli.arguments import read_settings
from idea_explorer.domain.text import pluralize
from idea_explorer.settings import Settings
from idea_explorer.usecases.import_music import import_library, index_tracks
from idea_explorer.wiring import music
from idea_explorer.wiring.local import open_given_file, system_clock
from idea_explorer.wiring.toolsets import check_folder


def index(arguments: argparse.Namespace) -> int:
    settings = _read_settings(arguments)
    with _open(arguments.file) as lines:
        count = index_tracks(lines, music.track_index(settings))
    print(f"Indexed {pluralize(count, 'track')}")
    return 0


def import_owned(arguments: argparse.Namespace) -> int:
    settings = _read_settings(arguments)
    library = music.library(settings, arguments.owner, system_clock())
    with _open(arguments.file) as lines:
        count = import_library(lines, library)
    print(f"Imported {pluralize(count, 'track')}")
    return 0


def _read_settings(arguments: argparse.Namespace) -> Settings:
    settings = read_settings(arguments.research)
    check_folder(settings)
    return settings


def _open(given: str) -> AbstractContextManager[IO[bytes]]:
    if given == "-":
        return nullcontext(sys.stdin.buffer)
    return open_given_file(Path(given))
