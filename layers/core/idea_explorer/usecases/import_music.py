"""Import music from a file of JSON lines, which is validated as a whole first."""

from collections.abc import Iterator
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.domain.validation_errors import describe_errors
from idea_explorer.ports.music import Library, TrackIndex

MAX_COMPLAINTS = 10  # enough to see the pattern
MAX_LINE_BYTES = 1_000_000  # a track takes some hundreds
NO_OBJECT = ("json_invalid", "model_type")  # what pydantic calls a line that is no JSON object
NAMES = frozenset({"title", "artist", "album"})


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
    has_objects = False
    for number, line in enumerate(_read_lines(source), start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            continue
        try:
            records.append((number, model.model_validate_json(text)))
        except ValidationError as error:
            wrong[number] = _reason(error)
            has_objects |= error.errors()[0]["type"] not in NO_OBJECT
    if wrong and not records and not has_objects:
        raise InvalidRequestError(
            "Nothing was imported. The file is not JSON lines.",
            hint="Each line must be a JSON object; examples/music has such files.",
        )
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


class LibraryLine(OwnedTrack, frozen=True):
    """One line of a library file. Lines of the other files with ISRCs are refused."""

    @model_validator(mode="before")
    @classmethod
    def _check_kind(cls, line: object) -> object:
        if isinstance(line, dict):
            if "description" in line:
                raise ValueError("is a line of a track file, which 'idea index' takes")
            if line.keys() - OwnedTrack.model_fields and not line.keys() & NAMES:
                raise ValueError("is not a line of a library: title, artist and album are missing")
        return line


@dataclass(frozen=True, slots=True)
class LibraryChange:
    """How many tracks an import added, replaced, left as they were, and removed."""

    added: int
    replaced: int
    unchanged: int
    removed: int


def import_library(source: IO[bytes], library: Library, *, replace: bool = False) -> LibraryChange:
    """Add every track of the file. With `replace`, remove all others.

    With one wrong line, nothing is changed. A name that the file leaves out stays as it was. Raises
    InvalidRequestError for the file and ExternalError for the library.
    """
    lines = {track.isrc: track for _, track in read_json_lines(source, LibraryLine)}
    if not lines:
        raise InvalidRequestError("The file holds no tracks.")
    before = {track.isrc: track for track in library.tracks()}
    after = {isrc: _merge(line, before.get(isrc)) for isrc, line in lines.items()}
    added = [track for isrc, track in after.items() if isrc not in before]
    replaced = [track for isrc, track in after.items() if before.get(isrc, track) != track]
    removed = [isrc for isrc in before if isrc not in after] if replace else []
    if added or replaced:
        library.add([*added, *replaced])
    if removed:
        library.remove(removed)
    unchanged = len(after) - len(added) - len(replaced)
    return LibraryChange(len(added), len(replaced), unchanged, len(removed))


def _merge(line: OwnedTrack, before: OwnedTrack | None) -> OwnedTrack:
    given = {name: getattr(line, name) or getattr(before, name, "") for name in NAMES}
    return OwnedTrack(isrc=line.isrc, **given)


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
