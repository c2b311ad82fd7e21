"""Files of this machine that the user named, as the uploaded files of an exploration."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.ports import UploadedFile


class GivenFiles:
    """Checked when they are named, read when they are searched. Links are followed: a person chose them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        if len(paths) > limits.MAX_FILES:
            raise InvalidRequestError(f"At most {limits.MAX_FILES} files can be given.")
        for path in paths:
            if not path.is_file():
                raise InvalidRequestError(f"{path} is not a file.")
            if path.stat().st_size > limits.MAX_UPLOAD_BYTES:
                raise InvalidRequestError(f"{path} is larger than 20 MB.")
        self._paths = paths

    def read_all(self) -> Iterator[UploadedFile]:
        for path in self._paths:
            with path.open("rb") as file:
                yield UploadedFile(path.name, file.read(limits.MAX_UPLOAD_BYTES))
