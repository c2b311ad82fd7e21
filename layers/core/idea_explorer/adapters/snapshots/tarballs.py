"""Reads a repository's tarball. Its names, links and sizes are untrusted: nothing is unpacked to disk."""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from idea_explorer.adapters.snapshots.packs import Item
from idea_explorer.domain.errors import RejectedError, UnavailableError
from idea_explorer.domain.limits import CodeLimits

_COMMIT = "comment"  # git writes the commit into the archive's global header
_BLOCK = 65_536


def read_tarball(compressed: BinaryIO, sha: str, limits: CodeLimits) -> Iterator[Item]:
    """The files and links below the archive's single top folder; devices and the like are skipped.

    Raises RejectedError for an archive that is too large, belongs to another commit or names a path
    outside itself, and UnavailableError for one that is damaged or truncated.
    """
    try:
        with gzip.GzipFile(fileobj=compressed, mode="rb") as unpacked:
            capped = _Capped(unpacked, limits.max_unpacked_bytes)
            with tarfile.open(fileobj=capped, mode="r|", encoding="utf-8") as archive:
                for member in archive:
                    if archive.pax_headers.get(_COMMIT, sha) != sha:
                        raise RejectedError("GitHub sent the archive of another commit.")
                    if item := _item(archive, member, limits):
                        yield item
            while capped.read(_BLOCK):  # the checksum is at the very end
                pass
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise UnavailableError(f"GitHub's archive of the repository is damaged: {error}") from error


def _item(archive: tarfile.TarFile, member: tarfile.TarInfo, limits: CodeLimits) -> Item | None:
    name = _below_top(member.name)
    if name is None:
        return None
    modified = int(member.mtime)
    if member.issym():
        target = member.linkname.encode("utf-8", "surrogateescape")
        return Item(name, len(target), modified, target=target)
    if member.islnk():
        return Item(name, 0, modified, same_as=_below_top(member.linkname) or b"")
    if not member.isreg():
        return None
    if member.size > limits.max_file_bytes:
        return Item(name, member.size, modified)
    content = archive.extractfile(member)
    assert content is not None
    return Item(name, member.size, modified, data=content.read())


def _below_top(name: str) -> bytes | None:
    segments = name.encode("utf-8", "surrogateescape").split(b"/")
    if not segments[0] or b".." in segments:
        raise RejectedError("GitHub's archive names a path outside the repository.")
    return b"/".join(segments[1:]) or None


class _Capped(io.RawIOBase):
    """A stream that raises once an archive unpacks to more than the limit."""

    def __init__(self, stream: gzip.GzipFile, limit: int) -> None:
        super().__init__()
        self._stream = stream
        self._limit = limit
        self._left = limit

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise RejectedError(
                f"GitHub's archive of the repository unpacks to more than {self._limit:,} bytes.",
                hint="Name a smaller repository.",
            )
        return data
