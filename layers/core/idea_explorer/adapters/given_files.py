"""Files that a person named on the command line. Links are followed, because the person chose them; pipes and
devices are refused, because reading one may wait for ever or have an effect."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from idea_explorer.adapters.safe_files import (
    FileTooLargeError,
    NotAFileError,
    open_given,
    read_given,
)
from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError, UnreadableFileError
from idea_explorer.domain.file_kinds import FileSample, check_uploaded_kind
from idea_explorer.domain.ids import check_upload
from idea_explorer.ports import DocumentReader, FileInfo, UploadedFile

ENOUGH_CHARS = 1_000  # of a document, to see that it can be read


class GivenFiles:
    """Files to upload: checked at once, read on demand."""

    def __init__(self, paths: Sequence[Path], documents: DocumentReader) -> None:
        if len(paths) > limits.MAX_FILES:
            raise InvalidRequestError(f"At most {limits.MAX_FILES} files can be given.")
        self._files = [(path, _check(path, documents)) for path in paths]

    def list(self) -> Sequence[FileInfo]:
        return [about for _, about in self._files]

    def read_all(self) -> Iterator[UploadedFile]:
        for path, about in self._files:
            yield UploadedFile(about.name, read_given_file(path, limits.MAX_UPLOAD_BYTES))


def _check(path: Path, documents: DocumentReader) -> FileInfo:
    """A document that nothing can be read of is refused here, before a run that would be paid for."""
    with open_given_file(path) as file:
        try:
            file.read(1)
        except OSError as error:
            raise _unreadable(path, error) from error
        size = os.fstat(file.fileno()).st_size
    if size > limits.MAX_UPLOAD_BYTES:
        raise _too_large(path, limits.MAX_UPLOAD_BYTES)
    check_upload(path.name, size)
    content = read_given_file(path, limits.MAX_UPLOAD_BYTES)
    try:
        kind = check_uploaded_kind(FileSample.of(path.name, content))
        if kind.is_document:
            documents.read(kind, content, max_chars=ENOUGH_CHARS)
    except UnreadableFileError as error:
        raise InvalidRequestError(f"{path} {error.reason}.") from error
    return FileInfo(path.name, size)


def open_given_file(path: Path) -> BinaryIO:
    """Raises InvalidRequestError where it is no file, or may not be read."""
    try:
        return open_given(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def read_given_file(path: Path, limit: int) -> bytes:
    """Raises InvalidRequestError where it is no file, may not be read or has more bytes than the limit."""
    try:
        return read_given(path, limit)
    except FileTooLargeError as error:
        raise _too_large(path, limit) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _too_large(path: Path, limit: int) -> InvalidRequestError:
    return InvalidRequestError(f"{path} is larger than {_describe_size(limit)}.")


def _describe_size(size: int) -> str:
    megabytes = size // 1_048_576
    return f"{megabytes} MB" if megabytes else f"{size:,} bytes"


def _unreadable(path: Path, error: OSError | ValueError) -> InvalidRequestError:
    if isinstance(error, NotAFileError | FileNotFoundError | NotADirectoryError):
        return InvalidRequestError(f"{path} is not a file.")
    reason = error.strerror if isinstance(error, OSError) else error  # a null byte in its name
    return InvalidRequestError(f"{path} cannot be read: {reason}.")
