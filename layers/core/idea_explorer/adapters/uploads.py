"""Uploaded files, each in its owner's folder: in the bucket of a deployment, or on this machine.

The folder's name is a hash of the owner and the id is random, so nobody reaches another owner's file.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from idea_explorer.adapters.safe_files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    make_private_folder,
    read_file,
    write_file,
)
from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ExternalError, InvalidRequestError, MissingError
from idea_explorer.domain.file_kinds import (
    ARCHIVE,
    HEAD_BYTES,
    TAIL_BYTES,
    FileSample,
    media_type,
)
from idea_explorer.domain.ids import (
    FileId,
    check_file_id,
    check_upload,
    missing_file_error,
    new_file_id,
)
from idea_explorer.ports import FileInfo, Upload, UploadedFile, Uploads

if TYPE_CHECKING:
    from idea_explorer.adapters.aws.s3 import Bucket

Found = TypeVar("Found")

NAME = "name"  # metadata is limited to ASCII, so the name is encoded


class CloudUploads:
    def __init__(self, bucket: "Bucket") -> None:
        self._bucket = bucket

    @cached_property
    def origin(self) -> str:
        url, _ = self._bucket.presign("uploads/", max_bytes=0, metadata={})
        return "{0.scheme}://{0.netloc}".format(urlsplit(url))

    def presign(self, owner: str, name: str, size: int) -> tuple[FileId, Upload]:
        check_upload(name, size)
        file_id = new_file_id()
        encoded = base64.urlsafe_b64encode(name.encode()).decode()
        key = _key(owner, file_id)
        url, fields = self._bucket.presign(
            key, max_bytes=size, metadata={NAME: encoded}, content_type=media_type(name)
        )
        return file_id, Upload("POST", url, fields)

    def sample(self, owner: str, file_id: str) -> FileSample:
        about = self.about(owner, file_id)
        key = _key(owner, check_file_id(file_id))
        head = self._bucket.get_range(key, 0, min(about.size, HEAD_BYTES))
        if len(head) < about.size and head.startswith(ARCHIVE):
            tail = self._bucket.get_range(key, max(0, about.size - TAIL_BYTES), about.size)
        else:
            tail = head
        return FileSample(about.name, head, tail)

    def about(self, owner: str, file_id: str) -> FileInfo:
        try:
            size, metadata = self._bucket.about(_key(owner, check_file_id(file_id)))
        except MissingError as error:
            raise missing_file_error(file_id) from error
        return FileInfo(_name(metadata), size)

    def read(self, owner: str, file_id: str) -> UploadedFile:
        try:
            content, metadata = self._bucket.get_with_metadata(_key(owner, check_file_id(file_id)))
        except MissingError as error:
            raise missing_file_error(file_id) from error
        return UploadedFile(_name(metadata), content)


def _name(metadata: Mapping[str, str]) -> str:
    return base64.urlsafe_b64decode(metadata[NAME]).decode()


class LocalUploads:
    """`base_url` is the address of this machine's API, which passes uploads to `store`."""

    def __init__(self, folder: Path, base_url: str = "") -> None:
        self._folder = folder
        self._base_url = base_url
        self.origin = ""

    def presign(self, owner: str, name: str, size: int) -> tuple[FileId, Upload]:
        check_upload(name, size)
        file_id = new_file_id()
        about = json.dumps({"name": name, "size": size})
        self._write(f"{_key(owner, file_id)}.json", about.encode())
        return file_id, Upload("PUT", f"{self._base_url}/files/{file_id}", {})

    def store(self, owner: str, file_id: str, content: bytes) -> None:
        """Store an announced file; raises MissingError, or InvalidRequestError if it is too large."""
        known = check_file_id(file_id)
        if len(content) > self._announced(owner, known).size:
            raise InvalidRequestError("The file is larger than was announced.")
        self._write(_key(owner, known), content)

    def add(self, owner: str, name: str, content: bytes) -> FileId:
        """Announce and store a file that is already on this machine."""
        file_id, _ = self.presign(owner, name, len(content))
        self.store(owner, file_id, content)
        return file_id

    def sample(self, owner: str, file_id: str) -> FileSample:
        file = self.read(owner, file_id)
        return FileSample.of(file.name, file.content)

    def about(self, owner: str, file_id: str) -> FileInfo:
        path = self._path(owner, check_file_id(file_id))
        if not path.is_file():
            raise missing_file_error(file_id)
        return FileInfo(self._announced(owner, check_file_id(file_id)).name, path.stat().st_size)

    def read(self, owner: str, file_id: str) -> UploadedFile:
        known = check_file_id(file_id)
        name = self._announced(owner, known).name
        return UploadedFile(name, self._read(_key(owner, known), file_id))

    def _announced(self, owner: str, file_id: FileId) -> FileInfo:
        return FileInfo(**json.loads(self._read(f"{_key(owner, file_id)}.json", file_id)))

    def _path(self, owner: str, file_id: FileId) -> Path:
        return self._folder / _key(owner, file_id)

    def _read(self, key: str, file_id: str) -> bytes:
        try:
            return read_file(self._folder, key, limits.MAX_UPLOAD_BYTES)
        except FileNotFoundError as error:
            raise missing_file_error(file_id) from error
        except OSError as error:
            raise ExternalError(f"An upload cannot be read: {error.strerror}.") from error

    def _write(self, key: str, content: bytes) -> None:
        try:
            make_private_folder(self._folder)
            write_file(self._folder, key, content, mode=PRIVATE_FILE, folder_mode=PRIVATE_FOLDER)
        except OSError as error:
            raise ExternalError(
                f"{self._folder} cannot be written: {error.strerror}.",
                hint="Check the folder's permissions.",
            ) from error


@dataclass(frozen=True, slots=True)
class FilesOf:
    """The files attached to one exploration, without any that have been deleted since."""

    uploads: Uploads
    owner: str
    file_ids: Sequence[str]

    def list(self) -> Sequence[FileInfo]:
        return [*self._for_each(self.uploads.about)]

    def read_all(self) -> Iterator[UploadedFile]:
        return self._for_each(self.uploads.read)

    def _for_each(self, read: Callable[[str, str], Found]) -> Iterator[Found]:
        for file_id in self.file_ids:
            with suppress(MissingError):
                yield read(self.owner, file_id)


def folder_of(owner: str) -> str:
    return f"uploads/{hashlib.sha256(owner.encode()).hexdigest()[:32]}"


def _key(owner: str, file_id: FileId) -> str:
    return f"{folder_of(owner)}/{file_id}"
