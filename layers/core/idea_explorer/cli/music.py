"""`idea index` and `idea library`: music data for the discover toolset."""

import argparse
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from idea_explorer.cli.arguments import read_settings
from idea_explorer.cli.output import print_json
from idea_explorer.cli.streams import say, warn
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.music import normalize_isrc
from idea_explorer.domain.text import make_printable, one_line, pluralize
from idea_explorer.ports.music import Library
from idea_explorer.settings import Settings
from idea_explorer.usecases.import_music import import_library, index_tracks
from idea_explorer.wiring import music
from idea_explorer.wiring.local import open_given_file, system_clock
from idea_explorer.wiring.toolsets import check_folder


def index(arguments: argparse.Namespace) -> int:
    settings = _read_settings(arguments)
    with _open(arguments.file) as lines:
        count = index_tracks(lines, music.track_index(settings))
    say(f"Indexed {pluralize(count, 'track')} in {_describe_place(settings)}")
    warn(f'Search them with: idea explore --toolset discover "MOOD"{_name_folder(arguments)}')
    return 0


def import_owned(arguments: argparse.Namespace) -> int:
    library = _library(arguments)
    with _open(arguments.file) as lines:
        change = import_library(lines, library, replace=arguments.replace)
    say(
        f"Added {pluralize(change.added, 'track')}, replaced {change.replaced},"
        f" removed {change.removed}, left {change.unchanged} unchanged"
    )
    return 0


def list_owned(arguments: argparse.Namespace) -> int:
    tracks = _library(arguments).tracks()
    if arguments.json:
        print_json({"tracks": [track.model_dump() for track in tracks]})
        return 0
    for track in tracks:
        named = " – ".join(filter(None, (track.title, track.artist, track.album)))
        print(make_printable(one_line(f"{track.isrc} {named}", 2_000)))
    if not tracks:
        warn("The library is empty. Import tracks with: idea library import FILE")
    return 0


def remove_owned(arguments: argparse.Namespace) -> int:
    library = _library(arguments)
    try:
        wanted = [normalize_isrc(isrc) for isrc in arguments.isrc]
    except ValueError as error:
        message = str(error)
        raise InvalidRequestError(f"{message[0].upper()}{message[1:]}.") from error
    owned = library.known_isrcs(wanted)
    if missing := [isrc for isrc in wanted if isrc not in owned]:
        raise MissingError(f"Nothing was removed. Not in the library: {', '.join(missing)}.")
    library.remove(owned)
    print(f"Removed {pluralize(len(owned), 'track')}")
    return 0


def _describe_place(settings: Settings) -> str:
    """Each research folder has an index of its own, unless all share one at Qdrant."""
    if settings.qdrant_url:
        return f"the collection {settings.qdrant_collection} of Qdrant"
    return str(settings.research_dir.resolve())


def _name_folder(arguments: argparse.Namespace) -> str:
    """What the next command needs to find the same index."""
    return f" --research {shlex.quote(arguments.research)}" if arguments.research else ""


def _library(arguments: argparse.Namespace) -> Library:
    return music.library(_read_settings(arguments), arguments.owner, system_clock())


def _read_settings(arguments: argparse.Namespace) -> Settings:
    settings = read_settings(arguments.research)
    check_folder(settings)
    return settings


def _open(given: str) -> AbstractContextManager[IO[bytes]]:
    if given == "-":
        return nullcontext(sys.stdin.buffer)
    return open_given_file(Path(given))
