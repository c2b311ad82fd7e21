"""Reads a local folder as a repository, without ever following a link."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from idea_explorer.adapters.git_program import run_git
from idea_explorer.adapters.safe_files import open_file, open_folder
from idea_explorer.adapters.snapshots.packs import Item
from idea_explorer.domain.errors import ConfigurationError, RejectedError
from idea_explorer.domain.limits import CodeLimits

# What tools keep beside the sources. In a git repository, .gitignore covers the same and more.
SKIPPED_FOLDERS = frozenset(
    {b".git", b".hg", b".svn", b".idea-explorer", b".venv", b"node_modules", b"__pycache__"}
)
ALWAYS_SKIPPED = frozenset({b".git", b".idea-explorer"})


def read_folder(root: Path, limits: CodeLimits) -> Iterator[Item]:
    """Every file and link; in a git repository, those that git does not ignore."""
    if not root.is_dir():
        raise ConfigurationError(f"The folder {root} does not exist.", hint="Name another one.")
    root = root.resolve()
    names = _list_with_git(root) if _is_under_git(root) else _walk(root, limits)
    paths = sorted(tuple(name.split(b"/")) for name in set(names))
    for folder, files in groupby(paths, key=lambda path: path[:-1]):
        with suppress(OSError), open_folder(root, folder) as descriptor:
            for path in files:
                # skips what has been deleted or replaced since it was listed
                with suppress(OSError):
                    yield from _read(descriptor, path, limits)


def _is_under_git(root: Path) -> bool:
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return False
    if shutil.which("git") is None:
        raise ConfigurationError(
            f"{root} is in a git repository, but git is not installed.", hint="Install git."
        )
    # a folder that the surrounding repository ignores is not part of it
    return run_git(root, "check-ignore", "--quiet", ".").returncode != 0


def _list_with_git(root: Path) -> Iterator[bytes]:
    """Tracked and new files. If git fails, nothing is read: ignored files may hold secrets."""
    listed = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed.returncode != 0:
        reason = listed.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        raise ConfigurationError(f"git cannot list {root}: {''.join(reason)}")
    for name in listed.stdout.split(b"\x00"):
        if name and ALWAYS_SKIPPED.isdisjoint(name.split(b"/")):
            yield name


def _walk(root: Path, limits: CodeLimits) -> Iterator[bytes]:
    top = os.fsencode(root)
    count = 0
    for folder, folders, names, _ in os.fwalk(top, follow_symlinks=False):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        inside = os.path.relpath(folder, top)
        # fwalk counts links to folders as folders, but does not enter them
        for name in [*names, *folders]:
            yield name if inside == b"." else inside + b"/" + name
        count += len(names)
        if count > limits.max_files:
            raise RejectedError(
                f"The folder has more than {limits.max_files:,} files.",
                hint="Name a smaller one.",
            )


def _read(folder: int, path: tuple[bytes, ...], limits: CodeLimits) -> Iterator[Item]:
    name = path[-1]
    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    whole, modified = b"/".join(path), int(info.st_mtime)
    if stat.S_ISLNK(info.st_mode):
        target = os.readlink(name, dir_fd=folder)
        yield Item(whole, len(target), modified, target=target)
    elif stat.S_ISREG(info.st_mode) and info.st_size > limits.max_file_bytes:
        yield Item(whole, info.st_size, modified)
    elif stat.S_ISREG(info.st_mode):
        with open_file(folder, name) as file:
            data = file.read(limits.max_file_bytes + 1)
            modified = int(os.fstat(file.fileno()).st_mtime)
        content = data if len(data) <= limits.max_file_bytes else None
        yield Item(whole, len(data), modified, data=content)
