"""A snapshot in one file: all texts in a row, followed by the list of entries.

Nothing is ever written under a name that a repository chose, so no name can do harm. The file is mapped
into memory: opening it is instant, and it stays readable while mapped, even if it is deleted.
"""

import hashlib
import json
import mmap
import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.code import NOT_KEPT, ContentKind, SnapshotEntry, ensure_newline, is_utf8
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import RejectedError, ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import check_repository_path, encode_name

_TAIL = struct.Struct(">Q8s")
_MAGIC = b"IDEAPCK1"


@dataclass(frozen=True, slots=True)
class Item:
    """A file or link of a repository. `data` is None for a file above the size limit.

    `target` is set for symbolic links, `same_as` for hard links to an earlier file.
    """

    name: bytes
    size: int
    modified: int
    data: bytes | None = None
    target: bytes | None = None
    same_as: bytes | None = None


class Pack:
    """A snapshot on disk. Raises ValueError if the file is incomplete."""

    def __init__(self, file: Path, sha: str) -> None:
        with file.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        length, magic = _TAIL.unpack(mapped[-_TAIL.size :].rjust(_TAIL.size, b"\x00"))
        end = len(mapped) - _TAIL.size - length
        if magic != _MAGIC or end < 0:
            raise ValueError("incomplete pack")
        self.sha = sha
        self.text = memoryview(mapped)[:end]
        rows = json.loads(zlib.decompress(mapped[end : end + length]))
        self.entries = tuple(SnapshotEntry(*row) for row in rows)


def write_pack(file: BinaryIO, items: Iterable[Item], limits: CodeLimits) -> str:
    """Write all items and return a hash of their content."""
    entries: dict[str, SnapshotEntry] = {}
    for item in items:
        path, exact = encode_name(item.name)
        if not _is_usable(path):
            continue
        if entry := _write_entry(path, exact, item, entries, file):
            entries[path] = entry
        _check_limits(len(entries), file.tell(), limits)
    rows = [_to_row(entry) for entry in _drop_shadowed(entries)]
    listing = json.dumps(rows, separators=(",", ":")).encode()
    packed = zlib.compress(listing, 1)
    file.write(packed + _TAIL.pack(len(packed), _MAGIC))
    return hashlib.sha1(listing, usedforsecurity=False).hexdigest()


def _check_limits(files: int, size: int, limits: CodeLimits) -> None:
    if files > limits.max_files:
        problem = f"The repository has more than {limits.max_files:,} files."
    elif size > limits.max_unpacked_bytes:
        problem = f"The repository holds more than {limits.max_unpacked_bytes:,} bytes of text."
    else:
        return
    raise RejectedError(problem, hint="Name a smaller repository or folder.")


def _to_row(e: SnapshotEntry) -> list[str | int | bool]:
    return [e.path, e.content, e.size, e.modified, e.blob, e.start, e.target, e.exact, e.utf8]


def _write_entry(
    path: str, exact: bool, item: Item, known: dict[str, SnapshotEntry], file: BinaryIO
) -> SnapshotEntry | None:
    if item.same_as is not None:
        original = known.get(encode_name(item.same_as)[0])
        return replace(_copy(original, file), path=path, exact=exact) if original else None
    if item.target is not None:
        target = encode_name(item.target)[0]
        return SnapshotEntry(path, "link", item.size, item.modified, target=target, exact=exact)
    if item.data is None:
        return SnapshotEntry(path, "large", item.size, item.modified, exact=exact)
    content: ContentKind = "binary" if b"\x00" in item.data else "text"
    start, utf8 = NOT_KEPT, True
    if content == "text":
        utf8 = is_utf8(item.data)
        start = file.tell()
        file.write(ensure_newline(item.data))
    blob = blob_sha(item.data)
    return SnapshotEntry(
        path, content, len(item.data), item.modified, blob, start, exact=exact, utf8=utf8
    )


def _copy(original: SnapshotEntry, file: BinaryIO) -> SnapshotEntry:
    """An entry with a copy of the text, so that every text belongs to one path."""
    if original.start == NOT_KEPT:
        return original
    start = file.tell()
    file.seek(original.start)
    data = file.read(original.size)
    file.seek(start)
    file.write(ensure_newline(data))
    return replace(original, start=start)


def _drop_shadowed(entries: dict[str, SnapshotEntry]) -> list[SnapshotEntry]:
    """Drop entries below a file or a link: no repository has them, only a forged archive."""

    @cache
    def is_free(folder: str) -> bool:
        return not folder or (folder not in entries and is_free(folder.rpartition("/")[0]))

    return [entry for path, entry in entries.items() if is_free(path.rpartition("/")[0])]


def _is_usable(path: str) -> bool:
    try:
        return check_repository_path(path) == path
    except ToolError:
        return False
