"""What has changed in a folder since it was last looked at, by what the file system says of its files.

A folder whose time has not changed has the same names in it, so that only its files are looked at, one system
call each. A time counts once it is old enough: within one tick of the clock a file can change twice.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from idea_explorer.adapters.folder import layout
from idea_explorer.adapters.safe_files import open_folder
from idea_explorer.domain.publication import is_log

# Linux takes the time of a change from a clock that ticks every 1 to 10 ms.
TICK_NS = 100_000_000
# Some file systems count whole seconds, and FAT every other one.
COARSE_TICK_NS = 2_000_000_000
SECOND_NS = 1_000_000_000
TOP = "/"
# A file or folder of which nothing more is known until the folder that it is in changes. After any other
# error it is looked at again.
ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)

Stamp: TypeAlias = tuple[int, int, int, int]


def stamp(info: os.stat_result) -> Stamp:
    """Another one for another file or content. The time of the last change of a file's entry is the file
    system's own: nobody can set it."""
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


def counts_from(changed_ns: int) -> int:
    """When another change is sure to have another time. One with a fraction of a second was not taken from
    a coarse clock."""
    return changed_ns + (TICK_NS if changed_ns % SECOND_NS else COARSE_TICK_NS)


def are_same(stamps: Mapping[str, Stamp]) -> bool:
    """Whether all files and folders still have these stamps, by their paths."""
    lstat = os.lstat
    try:
        for path, known in stamps.items():
            info = lstat(path)
            # written out, because this is most of what a look takes
            if (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino) != known:
                return False
    except OSError:
        return False
    return True


@dataclass
class Scan:
    """The files and folders that are there, each with its version and size. `is_cut` says that there are
    more than are looked at."""

    root: str
    now_ns: int
    is_listed: Callable[[str], bool]
    found: dict[str, tuple[str, int]] = field(default_factory=dict)
    is_cut: bool = False
    _stamps: dict[str, Stamp] = field(default_factory=dict)
    _visited: int = 0

    @property
    def stamps(self) -> Mapping[str, Stamp]:
        """Of everything that was looked at, by its path; empty where one may not count yet."""
        is_settled = not self.is_cut and all(map(itemgetter(0), self.found.values()))
        return self._stamps if is_settled else {}

    def look(self, known: Mapping[str, str]) -> None:
        """`known` are the versions of an earlier look, by name; those of folders end in a slash."""
        names_in = _group(known)
        waiting = [TOP]
        while waiting and not self.is_cut:
            folder = waiting.pop()
            version = self._version_of(folder)
            if version is None:
                continue
            self.found[folder] = (version, 0)
            if version and known.get(folder) == version:
                inner = self._look_at(names_in.get(folder, ()), known)
            else:
                inner = self._list(folder)
            waiting += sorted(inner, reverse=True)
        if self.is_cut:  # of no folder is it known that all was looked at, so all are listed again
            self.found |= {name: ("", 0) for name in self.found if name.endswith("/")}

    def _version_of(self, folder: str) -> str | None:
        """None if it is not a folder, or no longer; empty if that may be known another time."""
        path = self.root if folder == TOP else f"{self.root}/{folder[:-1]}"
        try:
            info = os.lstat(path)
        except ABSENT:
            return None
        except OSError:
            return ""
        return self._version(path, info) if stat.S_ISDIR(info.st_mode) else None

    def _look_at(self, names: Iterable[str], known: Mapping[str, str]) -> list[str]:
        folders: list[str] = []
        for name in names:
            if name.endswith("/"):
                folders.append(name)
            elif is_log(name) and (version := known[name]):
                self.found[name] = (version, 0)  # it is neither listed nor searched
            else:
                self._add(name)
        return folders

    def _list(self, folder: str) -> list[str]:
        """The files of a folder are added; returns the folders in it."""
        prefix = "" if folder == TOP else folder
        folders: list[str] = []
        try:
            with (
                open_folder(Path(self.root), prefix.split("/")[:-1]) as descriptor,
                os.scandir(descriptor) as entries,
            ):
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        self._visit(f"{prefix}{entry.name}", descriptor)
                    elif not layout.is_skipped(entry.name):
                        folders.append(f"{prefix}{entry.name}/")
                    if self.is_cut:
                        break
        except OSError:
            self.found[folder] = ("", 0)  # it may be listed another time
        return folders

    def _visit(self, name: str, folder: int) -> None:
        self._visited += 1
        self.is_cut = self._visited > layout.MAX_VISITED
        last = name.rpartition("/")[2]
        if not self.is_cut and not last.startswith(".") and self.is_listed(name):
            self._add(name, folder)

    def _add(self, name: str, folder: int | None = None) -> None:
        path = f"{self.root}/{name}"
        try:
            if folder is None:
                info = os.lstat(path)
            else:
                info = os.stat(name.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
        except ABSENT:
            return
        except OSError:
            self.found[name] = ("", 0)
            return
        if stat.S_ISREG(info.st_mode):
            self.found[name] = (self._version(path, info), info.st_size)

    def _version(self, path: str, info: os.stat_result) -> str:
        """Empty if it may still change without another time."""
        changed_ns = info.st_ctime_ns
        # most are older than the coarsest tick
        if self.now_ns < changed_ns + COARSE_TICK_NS and self.now_ns < counts_from(changed_ns):
            return ""
        self._stamps[path] = found = stamp(info)
        return "%x.%x.%x.%x" % found  # noqa: UP031  in half the time, for every file


def _group(names: Mapping[str, str]) -> Mapping[str, list[str]]:
    """The names directly in each folder."""
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        if name != TOP:
            grouped[name[: name.rfind("/", 0, -1) + 1] or TOP].append(name)
    return grouped
