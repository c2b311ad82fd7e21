"""A changed tree as git would write it, without processes: most tests of GitHub write several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tests.fakes.github_git import GitStore

Nested: TypeAlias = "dict[str, Nested | Change]"
_FOLDER = "040000"
_FILES = {"100644", "100755", "120000"}
_PLAIN = re.compile(r"[a-z0-9][\w .-]*(/[a-z0-9][\w .-]*)*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Change:
    """What one path becomes; without a sha it goes."""

    path: str
    mode: str
    sha: str | None


def change_tree(store: GitStore, base: str | None, changes: Sequence[Change]) -> str | None:
    """The tree of these changes, or None where only git knows what to do: with names that it may refuse,
    objects that are missing, and changes of which one undoes another."""
    nested = _nest(changes) if all(_is_plain(store, change) for change in changes) else None
    if nested is None:
        return None
    root = store.read(f"{base}^{{tree}}") if base else None
    if base and root is None:
        return None
    return _write(store, root.sha if root else None, nested) or store.write_object("tree", b"")


def _is_plain(store: GitStore, change: Change) -> bool:
    if not _PLAIN.fullmatch(change.path):
        return False
    return not change.sha or (change.mode in _FILES and store.has_blob(change.sha))


def _nest(changes: Sequence[Change]) -> Nested | None:
    nested: Nested = {}
    for change in changes:
        *folders, name = change.path.split("/")
        here = nested
        for folder in folders:
            below = here.setdefault(folder, {})
            if not isinstance(below, dict):
                return None
            here = below
        if name in here:
            return None
        here[name] = change
    return nested


def _write(store: GitStore, tree: str | None, changes: Nested) -> str | None:
    """None for a folder without files, which git does not have."""
    rows = store.rows_of(tree) if tree else {}
    for name, change in changes.items():
        mode, sha = rows.get(name, ("", ""))
        if isinstance(change, dict):
            below = _write(store, sha if mode == _FOLDER else None, change)
            if below:
                rows[name] = (_FOLDER, below)
            elif mode == _FOLDER:
                del rows[name]
        elif change.sha:
            rows[name] = (change.mode, change.sha)
        elif mode and mode != _FOLDER:
            del rows[name]
    return store.write_object("tree", _encode(rows)) if rows else None


def _encode(rows: dict[str, tuple[str, str]]) -> bytes:
    """In git's order, in which the name of a folder ends with a slash."""
    named = {
        (name + "/" * (mode == _FOLDER)).encode(): (name, mode, sha)
        for name, (mode, sha) in rows.items()
    }
    return b"".join(
        f"{mode.lstrip('0')} {name}\0".encode() + bytes.fromhex(sha)
        for _, (name, mode, sha) in sorted(named.items())
    )
