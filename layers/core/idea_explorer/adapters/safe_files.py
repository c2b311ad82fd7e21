"""Files in folders that others may change while we read and write, and files that a person names.

Only regular files are read and written, never a pipe, a socket or a device. Below a root no link is followed:
folders are opened one by one, each within the one before, so none can be exchanged for a link between a check
and its use. The size is that of the open file, and a file that grows is not read beyond its limit.
"""

import errno
import os
import stat
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

NEW_FILE = 0o666  # less the umask
NEW_FOLDER = 0o777
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
SMALL_FILE_BYTES = 65_536
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe must not wait for a writer
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAKING = threading.Lock()

Name = str | bytes


class NotAFileError(OSError):
    """A folder, a pipe, a socket or a device in place of a file."""

    def __init__(self, name: Name) -> None:
        super().__init__(errno.EINVAL, "Not a regular file", os.fsdecode(name))


class LinkError(OSError):
    """A link, which could lead anywhere, in place of a file or of a folder above it."""

    def __init__(self, name: Name) -> None:
        super().__init__(errno.ELOOP, "A link is in its place", os.fsdecode(name))


class FileTooLargeError(OSError):
    def __init__(self, name: Name, size: int) -> None:
        super().__init__(errno.EFBIG, f"{size:,} bytes are too many", os.fsdecode(name))
        self.size = size


@contextmanager
def open_folder(
    root: Path, names: Sequence[Name], *, make: bool = False, mode: int = NEW_FOLDER
) -> Iterator[int]:
    """The descriptor of a folder below the root. The root itself may be a link: a person named it."""
    descriptor = os.open(root, _FOLDER)
    try:
        for name in names:
            outer = descriptor
            descriptor = _enter(outer, name, make=make, mode=mode)
            os.close(outer)
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(folder: int, name: Name, *, make: bool, mode: int) -> int:
    _check_name(name)
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK} and _is_link(folder, name):
            raise LinkError(name) from error
        raise


def read_file(root: Path, path: str, limit: int) -> bytes:
    """A file below the root; raises OSError, of which LinkError, NotAFileError and FileTooLargeError are."""
    *folders, name = _split(path)
    with open_folder(root, folders) as folder:
        descriptor = _open(folder, name)
        try:
            return _read(descriptor, name, limit)
        finally:
            os.close(descriptor)


@contextmanager
def open_file(folder: int, name: Name) -> Iterator[BinaryIO]:
    """A regular file in an open folder, for reading."""
    with _as_file(_open(folder, name), name) as file:
        yield file


def _open(folder: int, name: Name) -> int:
    _check_name(name)
    # looked at before it is opened too: opening a device can have an effect
    _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
    try:
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK}:
            raise LinkError(name) from error
        raise


def open_given(path: Path) -> BinaryIO:
    """A file that a person named, for reading. Links are followed, because the person chose them."""
    _check_kind(path.stat(), path.name)
    return _as_file(os.open(path, _READ), path.name)


def _as_file(descriptor: int, name: Name) -> BinaryIO:
    try:
        _check_kind(os.fstat(descriptor), name)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_given(path: Path, limit: int) -> bytes:
    with open_given(path) as file:
        return _read(file.fileno(), path.name, limit)


def write_file(
    root: Path, path: str, content: bytes, *, mode: int = NEW_FILE, folder_mode: int = NEW_FOLDER
) -> None:
    """Write a new file beside it and rename that: no reader, and no crash, ever leaves half a file.

    Missing folders are made. A file that is there keeps its permissions.
    """
    *folders, name = _split(path)
    with open_folder(root, folders, make=True, mode=folder_mode) as folder:
        _check_name(name)
        temporary = f".idea-{uuid.uuid4().hex}.tmp"
        try:
            before = _permissions(folder, name)
            exact = mode if mode == PRIVATE_FILE else before
            _write_new(folder, temporary, content, mode, exact)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _write_new(folder: int, name: str, content: bytes, mode: int, exact: int | None) -> None:
    """`exact`: permissions that the umask does not reduce."""
    descriptor = os.open(name, _NEW, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        if exact is not None:
            os.fchmod(descriptor, exact)
        file.write(content)


def _permissions(folder: int, name: str) -> int | None:
    """Those of the file of this name, if there is one."""
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_kind(info, name)
    return stat.S_IMODE(info.st_mode) & 0o777


def find_mode(root: Path, path: str) -> int:
    """The permissions of a file below the root; those of a new one if it is not there."""
    *folders, name = _split(path)
    try:
        with open_folder(root, folders) as folder:
            return _permissions(folder, name) or NEW_FILE
    except OSError:
        return NEW_FILE


def remove_file(root: Path, path: str) -> None:
    """Remove a file below the root, if it is there, and the folders above it that are empty then."""
    *folders, name = _split(path)
    with suppress(FileNotFoundError, NotADirectoryError), open_folder(root, folders) as folder:
        _permissions(folder, name)  # raises if it is not a file
        os.unlink(name, dir_fd=folder)
    with suppress(OSError):  # a folder with other files in it stays
        for end in range(len(folders), 0, -1):
            with open_folder(root, folders[: end - 1]) as folder:
                os.rmdir(folders[end - 1], dir_fd=folder)


def list_folder(root: Path, path: str) -> list[str]:
    """The names in a folder below the root; none if it does not exist."""
    try:
        with open_folder(root, _split(path)) as folder:
            return os.listdir(folder)  # noqa: PTH208  of a descriptor
    except FileNotFoundError:
        return []


def has_exact_name(root: Path, path: str) -> bool:
    """Whether each folder of a path, and its file, are listed with exactly these names."""
    names = _split(path)
    return all(name in list_folder(root, "/".join(names[:end])) for end, name in enumerate(names))


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those that are missing above it, for this user alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(PRIVATE_FOLDER, exist_ok=True)
    if not missing:
        _make_private(None, folder)


def make_ignored_folder(folder: Path) -> None:
    """Make a private folder of which git commits nothing, and those that are missing above it."""
    make_private_folder(folder)
    if not (folder / ".gitignore").exists():
        write_file(folder, ".gitignore", b"*\n", mode=PRIVATE_FILE)


def make_private_file(path: Path) -> None:
    """Make an empty file for this user alone, or make the one that is there private.

    A process that closes a file loses all its locks on it, also those that SQLite holds by another
    descriptor. So a file that is private is not opened, and no thread uses a new one before it is closed.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with _MAKING:
        with suppress(FileNotFoundError):
            if path.lstat().st_mode == stat.S_IFREG | PRIVATE_FILE:
                return
        descriptor = os.open(path, flags, PRIVATE_FILE)
        try:
            _check_kind(os.fstat(descriptor), path.name)
            _set_mode(descriptor, PRIVATE_FILE)
        finally:
            os.close(descriptor)


def make_private_tree(root: Path) -> None:
    """Make a folder that an earlier version left open to others private, with everything in it."""
    if not root.is_dir() or stat.S_IMODE(root.stat().st_mode) == PRIVATE_FOLDER:
        return
    for _, folders, names, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in [*folders, *names]:
            with suppress(OSError):  # a link, or another process has removed it
                _make_private(descriptor, name)
    # last: if this is interrupted, the next start does it again
    _make_private(None, root)


def _make_private(folder: int | None, name: str | Path) -> None:
    flags = _READ if folder is None else _READ | os.O_NOFOLLOW
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        _set_mode(descriptor, PRIVATE_FOLDER if is_folder else PRIVATE_FILE)
    finally:
        os.close(descriptor)


def _set_mode(descriptor: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        with suppress(PermissionError):  # somebody else's, or a file system without permissions
            os.fchmod(descriptor, mode)


def _split(path: str) -> list[str]:
    """The names in a path. No folder is called "/", so an absolute path leads nowhere."""
    names = [name for name in path.split("/") if name not in {"", "."}]
    return ["/", *names] if path.startswith("/") else names


def _check_name(name: Name) -> None:
    text = os.fsencode(name)
    if text in {b"", b".", b".."} or b"/" in text or b"\0" in text:
        raise NotAFileError(name)


def _check_kind(info: os.stat_result, name: Name) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise LinkError(name)
    if not stat.S_ISREG(info.st_mode):
        raise NotAFileError(name)


def _is_link(folder: int, name: Name) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _read(descriptor: int, name: Name, limit: int) -> bytes:
    info = os.fstat(descriptor)
    _check_kind(info, name)
    if info.st_size > limit:
        raise FileTooLargeError(name, info.st_size)
    # without a file object, which takes a quarter of the time where many small files are read
    piece = max(info.st_size + 1, SMALL_FILE_BYTES)
    data = b""
    while len(data) <= limit and (more := os.read(descriptor, piece)):
        data += more
    if len(data) > limit:  # it has grown since
        raise FileTooLargeError(name, len(data))
    return data
