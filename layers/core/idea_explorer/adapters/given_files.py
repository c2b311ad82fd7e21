"""Files of this machine that the user named, as the uploaded files of an exploration."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.files import check_upload
from idea_explorer.ports import FileInfo, UploadedFile


class GivenFiles:
    """Checked when they are named, read when they are searched. Links are followed: a person chose them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        if len(paths) > limits.MAX_FILES:
            raise InvalidRequestError(f"At most {limits.MAX_FILES} files can be given.")
        self._files = [(path, _about(path)) for path in paths]

    def list(self) -> Sequence[FileInfo]:
        return [about for _, about in self._files]

    def read_all(self) -> Iterator[UploadedFile]:
        for path, about in self._files:
            yield UploadedFile(about.name, _head(path, limits.MAX_UPLOAD_BYTES))


def _about(path: Path) -> FileInfo:
    if not path.is_file():
        raise InvalidRequestError(f"{path} is not a file.")
    _head(path, 1)
    size = path.stat().st_size
    if size > limits.MAX_UPLOAD_BYTES:
        raise InvalidRequestError(f"{path} is larger than 20 MB.")
    check_upload(path.name, size)
    return FileInfo(path.name, size)


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror}.") from error
