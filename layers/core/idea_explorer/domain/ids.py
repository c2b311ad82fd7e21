"""Ids that cannot be guessed: of explorations (UUIDv7, which sort by time) and of uploaded files."""

import secrets
import uuid
from datetime import UTC, date, datetime, time
from typing import NewType

from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.patterns import lazy_pattern

ExplorationId = NewType("ExplorationId", str)

_SHAPE = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_NAMESPACE = uuid.UUID("5f0c7a52-3c5e-4d0e-9c0b-6a1d1a1e7d10")


def new_id(milliseconds: int) -> ExplorationId:
    """A new id with 74 random bits."""
    return _format((milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80), version=7)


def id_from_key(owner: str, key: str) -> ExplorationId:
    """The same id for the same key, so that a second delivery means the same exploration. A version 8
    UUID, because it contains no time."""
    return _format(uuid.uuid5(_NAMESPACE, f"{owner}\n{key}").int, version=8)


def id_for_day(owner: str, key: str, day: date) -> ExplorationId:
    """The same id for the same key on the same day; it sorts by that day."""
    digest = uuid.uuid5(_NAMESPACE, f"{owner}\n{day}\n{key}").int
    milliseconds = int(datetime.combine(day, time(), UTC).timestamp() * 1_000)
    return _format(milliseconds << 80 | digest & (2**80 - 1), version=7)


def branch_id(parent: ExplorationId, number: int) -> ExplorationId:
    """The same id for the same branch, so that a branch is never made twice."""
    return id_from_key(parent, f"branch {number}")


def _format(value: int, *, version: int) -> ExplorationId:
    shaped = value & ~(0xF << 76) & ~(0b11 << 62) | version << 76 | 0b10 << 62
    return ExplorationId(str(uuid.UUID(int=shaped)))


def decode_time(exploration_id: ExplorationId) -> datetime:
    """The earliest time that an exploration may have begun: the epoch if its id contains no time."""
    value = uuid.UUID(exploration_id)
    milliseconds = value.int >> 80 if value.version == 7 else 0
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)


def is_id(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


FileId = NewType("FileId", str)

_FILE_ID = lazy_pattern(r"file-[0-9a-f]{32}")
_FILE_NAME = lazy_pattern(r"[^/\\\x00-\x1f\x7f]+")


def new_file_id() -> FileId:
    return FileId(f"file-{uuid.uuid4().hex}")


def check_file_id(file_id: str) -> FileId:
    """An id that is safe to use in a path; raises MissingError if it cannot be one of ours."""
    if not _FILE_ID.fullmatch(file_id):
        raise missing_file_error(file_id)
    return FileId(file_id)


def missing_file_error(file_id: str) -> MissingError:
    return MissingError(f"There is no file {file_id[:60]!r}.", hint="Upload it first.")


def check_upload(name: str, size: int) -> None:
    """Raises InvalidRequestError, field by field."""
    fields: dict[str, str] = {}
    if not _is_file_name(name):
        fields["name"] = f"must be a file name of at most {limits.MAX_FILE_NAME} characters"
    if not 0 <= size <= limits.MAX_UPLOAD_BYTES:
        fields["size"] = f"must be at most {limits.MAX_UPLOAD_BYTES:,} bytes"
    if fields:
        sentence = "; ".join(f"'{field}': {rule}" for field, rule in fields.items())
        raise InvalidRequestError(sentence, fields=fields)


def _is_file_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return len(name) <= limits.MAX_FILE_NAME and _FILE_NAME.fullmatch(name) is not None
