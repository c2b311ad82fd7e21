"""Reads a local folder as a repository, without ever following a link."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from idea_explorer.adapters.git_program import run_git
from idea_explorer.adapters.safe_files import open_file, open_folder, read_file
from idea_explorer.adapters.snapshots.ignore_rules import MAX_RULES_BYTES, IgnoreRules, is_ignored
from idea_explorer.adapters.snapshots.packs import Item
from idea_explorer.domain.errors import ConfigurationError, RejectedError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import encode_name
from idea_explorer.domain.repository_settings import (
    MAX_SETTINGS_BYTES,
    SETTINGS_FILE,
    find_allowed_files,
)
from idea_explorer.domain.secret_files import is_secret_file

# What tools keep beside the sources. In a git repository, .gitignore covers the same and more.
SKIPPED_FOLDERS = frozenset(
    b".git .hg .svn .idea-explorer node_modules bower_components __pycache__ .venv venv .tox .nox .eggs"
    b" .mypy_cache .pytest_cache .ruff_cache .cache .gradle .next .nuxt .svelte-kit .turbo .parcel-cache"
    b" .terraform .serverless .aws-sam .dart_tool htmlcov .nyc_output Pods DerivedData".split()
)
ALWAYS_SKIPPED = frozenset({b".git", b".idea-explorer"})
# Folders that hold what was built, if one of these files is beside them; elsewhere they may be sources.
_PYTHON, _NODE = {b"setup.py", b"pyproject.toml"}, {b"package.json"}
_GRADLE = {b"build.gradle", b"build.gradle.kts"}
_OUTPUTS = {
    b"build": _PYTHON | _NODE | _GRADLE | {b"CMakeLists.txt", b"pubspec.yaml"},
    b"dist": _PYTHON | _NODE,
    b"out": _NODE | _GRADLE,
    b"target": {b"Cargo.toml", b"pom.xml", b"build.sbt"},
    b"coverage": _NODE,
}
_ENVIRONMENT = b"pyvenv.cfg"  # Python's environments have any name, and this file


def read_folder(root: Path, limits: CodeLimits) -> Iterator[Item]:
    """Every file and link; in a git repository, those that git does not ignore. Of key files, only that
    they are there."""
    allowed = _allowed_files(root)
    for descriptor, path in open_files(root, limits):
        # skips what has been deleted or replaced since it was listed
        with suppress(OSError):
            yield from _read(descriptor, path, limits, allowed)


def open_files(root: Path, limits: CodeLimits) -> Iterator[tuple[int, tuple[bytes, ...]]]:
    """The path of every file and link that is read, with the open folder that it is in."""
    if not root.is_dir():
        raise ConfigurationError(f"The folder {root} does not exist.", hint="Name another one.")
    root = root.resolve()
    names = _list_with_git(root) if _is_under_git(root) else _walk(root, limits)
    paths = sorted(tuple(name.split(b"/")) for name in set(names))
    for folder, files in groupby(paths, key=lambda path: path[:-1]):
        with suppress(OSError), open_folder(root, folder) as descriptor:
            for path in files:
                yield descriptor, path


def _allowed_files(root: Path) -> frozenset[str]:
    try:
        return find_allowed_files(read_file(root, SETTINGS_FILE, MAX_SETTINGS_BYTES))
    except OSError:
        return frozenset()


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
    rules: dict[bytes, list[tuple[bytes, IgnoreRules]]] = {}
    for folder, folders, names, descriptor in os.fwalk(top, follow_symlinks=False):
        inside = os.path.relpath(folder, top)
        inside = b"" if inside == b"." else inside
        here = [*rules.get(os.path.dirname(inside) if inside else b"", [])]  # noqa: PTH120  bytes
        if b".gitignore" in names:
            here += [(inside, own) for own in _read_rules(descriptor)]
        rules[inside] = here
        # fwalk counts links to folders as folders, but does not enter them
        links = [name for name in folders if _is_link(descriptor, name)]
        beside = frozenset(names)
        folders[:] = [
            name
            for name in folders
            if name not in links
            and not _is_skipped(descriptor, name, beside)
            and not is_ignored(here, _join(inside, name), is_folder=True)
        ]
        for name in [*names, *links]:
            if not is_ignored(here, _join(inside, name), is_folder=False):
                yield _join(inside, name)
        count += len(names)
        if count > limits.max_files:
            raise RejectedError(
                f"The folder has more than {limits.max_files:,} files.",
                hint="Name a smaller one.",
            )


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _is_link(folder: int, name: bytes) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return True


def _is_skipped(folder: int, name: bytes, beside: frozenset[bytes]) -> bool:
    if name in SKIPPED_FOLDERS or name.endswith(b".egg-info"):
        return True
    if not beside.isdisjoint(_OUTPUTS.get(name, frozenset())):
        return True
    with suppress(OSError):
        os.stat(name + b"/" + _ENVIRONMENT, dir_fd=folder, follow_symlinks=False)
        return True
    return False


def _read_rules(folder: int) -> Iterator[IgnoreRules]:
    """A file that cannot be read, such as a link, has no rules."""
    with suppress(OSError), open_file(folder, b".gitignore") as file:
        yield IgnoreRules(file.read(MAX_RULES_BYTES + 1))


def _read(
    folder: int, path: tuple[bytes, ...], limits: CodeLimits, allowed: frozenset[str]
) -> Iterator[Item]:
    name = path[-1]
    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    whole, modified = b"/".join(path), int(info.st_mtime)
    if stat.S_ISLNK(info.st_mode):
        target = os.readlink(name, dir_fd=folder)
        yield Item(whole, len(target), modified, target=target)
    elif not stat.S_ISREG(info.st_mode):
        return
    elif info.st_size > limits.max_file_bytes or is_secret_file(encode_name(whole)[0], allowed):
        yield Item(whole, info.st_size, modified)
    else:
        with open_file(folder, name) as file:
            data = file.read(limits.max_file_bytes + 1)
            modified = int(os.fstat(file.fileno()).st_mtime)
        content = data if len(data) <= limits.max_file_bytes else None
        yield Item(whole, len(data), modified, data=content)
