"""Paths within the repository."""

from collections.abc import Iterable
from posixpath import normpath


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def normalize(folder: str, path: str) -> str | None:
    """A path from a folder, with its `.` and `..` resolved; None if it leads out of the repository."""
    whole = normpath(join(folder, path) or ".")
    if whole == ".":
        return ""
    return None if whole.startswith(("../", "/")) or whole == ".." else whole


def folders_up(folder: str) -> list[str]:
    """The folder and all above it; the last one is the root."""
    segments = folder.split("/") if folder else []
    return ["/".join(segments[:end]) for end in range(len(segments), -1, -1)]


def nearest(paths: Iterable[str], importer: str) -> list[str]:
    """Those that share most of their folders with the importer, the shortest first."""
    importing = folder_of(importer).split("/")

    def shared(path: str) -> int:
        count = 0
        for ours, theirs in zip(folder_of(path).split("/"), importing, strict=False):
            if ours != theirs:
                break
            count += 1
        return count

    by_distance = sorted(paths, key=lambda path: (-shared(path), path.count("/"), path))
    return [path for path in by_distance if shared(path) == shared(by_distance[0])]
