"""Import music from a file of JSON lines, which is validated as a whole first."""

from collections.abc import Iterator
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.domain.validation_errors import describe_errors
from idea_explorer.ports.music import Library, TrackIndex

MAX_COMPLAINTS = 10  # enough to see the pattern
MAX_LINE_BYTES = 1_000_000  # a track takes some hundreds


M = TypeVar("M", bound=BaseModel)


def read_json_lines(source: IO[bytes], model: type[M]) -> list[tuple[int, M]]:
    """Every line with its number; raises InvalidRequestError that names the lines which are wrong."""
    try:
        return _checked(source, model)
    except OSError as error:
        raise InvalidRequestError(f"The file cannot be read: {error.strerror or error}.") from error


def complain(wrong: dict[int, str]) -> InvalidRequestError:
    """One error for all wrong lines, of which it describes the first."""
    first = dict(sorted(wrong.items())[:MAX_COMPLAINTS])
    alike: dict[str, list[int]] = {}
    for number, what in first.items():
        alike.setdefault(what, []).append(number)
    said = "; ".join(f"{_lines(numbers)}: {what}" for what, numbers in alike.items())
    more = len(wrong) - len(first)
    and_more = f"; and {more} more lines" if more else ""
    return InvalidRequestError(
        f"Nothing was imported. {said.removesuffix('.')}{and_more}.",
        fields={f"line {number}": what for number, what in first.items()},
    )


def _lines(numbers: list[int]) -> str:
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _checked(source: IO[bytes], model: type[M]) -> list[tuple[int, M]]:
    records: list[tuple[int, M]] = []
    wrong: dict[int, str] = {}
    for number, line in enumerate(_read_lines(source), start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            continue
        try:
            records.append((number, model.model_validate_json(text)))
        except ValidationError as error:
            wrong[number] = _reason(error)
    if wrong:
        raise complain(wrong)
    return records


def _read_lines(source: IO[bytes]) -> Iterator[bytes]:
    """Never more in memory than a line may have: a file may hold no end of a line at all."""
    number = 0
    while line := source.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise complain({number: f"is longer than {MAX_LINE_BYTES:,} bytes"})
        yield line


def _reason(error: ValidationError) -> str:
    where, rule = next(iter(describe_errors(error).items()))
    return f"{where}: {rule}" if where else rule


def import_library(source: IO[bytes], library: Library) -> int:
    """Add every track of the file; returns how many different ones there were.

    With one wrong line, nothing is added. Raises InvalidRequestError for the file and ExternalError for the
    library.
    """
    tracks = {track.isrc: track for _, track in read_json_lines(source, OwnedTrack)}
    if not tracks:
        raise InvalidRequestError("The file holds no tracks.")
    library.add([*tracks.values()])
    return len(tracks)


def index_tracks(source: IO[bytes], index: TrackIndex) -> int:
    """Add every track of the file, replacing those that are indexed already; returns how many.

    With one wrong line, or an ISRC that occurs twice, nothing is added. Raises InvalidRequestError
    for the file and ExternalError for the index.
    """
    lines = read_json_lines(source, IndexedTrack)
    if not lines:
        raise InvalidRequestError("The file holds no tracks.")
    first_lines: dict[str, int] = {}
    twice = {
        number: f"ISRC {track.isrc} is already on line {first_lines[track.isrc]}"
        for number, track in lines
        if first_lines.setdefault(track.isrc, number) != number
    }
    if twice:
        raise complain(twice)
    index.add([track for _, track in lines])
    return len(lines)
