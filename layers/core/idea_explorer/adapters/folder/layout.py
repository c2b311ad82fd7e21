"""Where a folder holds its documents: below `ideas/`, or, in a folder of notes without one, in itself.

Everything else names a document by its path below `ideas/`. In a folder of notes that prefix stands for the
folder: reports are written beside the notes, so that relative links between them work.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT

SKIPPED_FOLDERS = frozenset({"node_modules"})  # and hidden ones
# Files of a folder that are looked at: 20,000 documents with their logs are fewer, a home folder has more.
MAX_VISITED = 50_000


@dataclass(frozen=True, slots=True)
class Layout:
    """`is_flat`: the folder itself is what `ideas/` is elsewhere."""

    is_flat: bool = False

    def locate(self, path: str) -> str:
        """The path in the folder of a document that is named by its path in the repository."""
        if not self.is_flat:
            return path
        return "" if path == RESEARCH_ROOT else path.removeprefix(f"{RESEARCH_ROOT}/")

    def name(self, located: str) -> str:
        return f"{RESEARCH_ROOT}/{located}" if self.is_flat else located


def find_layout(
    root: Path, *, may_be_flat: bool, when_cut: Callable[[], None] = lambda: None
) -> Layout:
    """A folder without `ideas/` is one of notes if a person named it and it has notes. A README is none:
    it says what a folder is for."""
    ideas = root / RESEARCH_ROOT
    try:
        if not may_be_flat or not root.is_dir() or ideas.exists() or ideas.is_symlink():
            return Layout()
    except PermissionError as error:
        raise ConfigurationError(
            f"The research folder {root} may not be read.",
            hint="Change its permissions, or name another with --research or IDEA_RESEARCH_DIR.",
        ) from error
    notes = (path for path, _ in walk_files(root, when_cut) if is_note(path))
    return Layout(is_flat=any(Path(path).stem.lower() != "readme" for path in notes))


def is_note(path: str) -> bool:
    """Whether a file of a folder of notes is a document: other files may be anything, also secret."""
    *folders, name = path.split("/")
    return name.lower().endswith(READABLE) and not any(map(is_skipped, [*folders, name]))


def is_skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED_FOLDERS


def walk_files(
    root: Path, when_cut: Callable[[], None] = lambda: None
) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder, with their paths in it. Hidden ones, and those that may not be
    looked at, are left out. No link is followed, but the folder itself may be one. `when_cut` is called
    where there are more files than are looked at."""
    root = root.resolve()
    visited = 0
    for folder, folders, names, descriptor in os.fwalk(root, follow_symlinks=False):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        inside = Path(folder).relative_to(root)
        for name in names:
            visited += 1
            if visited > MAX_VISITED:
                when_cut()
                return
            with suppress(FileNotFoundError, PermissionError):
                info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) and not name.startswith("."):
                    yield (inside / name).as_posix(), info
