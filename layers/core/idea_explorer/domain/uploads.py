"""Uploaded files: ids that cannot be guessed, and names without a path."""

import re
import uuid
from typing import NewType

from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError, MissingError

FileId = NewType("FileId", str)

_SHAPE = re.compile(r"file-[0-9a-f]{32}")
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+")


def new_file_id() -> FileId:
    return FileId(f"file-{uuid.uuid4().hex}")


def check_file_id(file_id: str) -> FileId:
    """An id that is safe to use in a path; raises MissingError if it cannot be one of ours."""
    if not _SHAPE.fullmatch(file_id):
        raise missing_file_error(file_id)
    return FileId(file_id)


def missing_file_error(file_id: str) -> MissingError:
    return MissingError(f"There is no file {file_id[:60]!r}.", hint="Upload it first.")


def check_upload(name: str, size: int) -> None:
    """Raises InvalidRequestError, field by field."""
    fields: dict[str, str] = {}
    if not _is_name(name):
        fields["name"] = f"must be a file name of at most {limits.MAX_FILE_NAME} characters"
    if not 0 <= size <= limits.MAX_UPLOAD_BYTES:
        fields["size"] = f"must be at most {limits.MAX_UPLOAD_BYTES:,} bytes"
    if fields:
        sentence = "; ".join(f"'{field}': {rule}" for field, rule in fields.items())
        raise InvalidRequestError(sentence, fields=fields)


def _is_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return len(name) <= limits.MAX_FILE_NAME and _NAME.fullmatch(name) is not None
