"""Which commands a person has allowed to run on this machine, by folder. Stored with the user's own settings:
what is in a folder could come with a clone of it."""

import json
from pathlib import Path

from idea_explorer.adapters.safe_files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    make_private_folder,
    read_file,
    write_file,
)
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import ChangeWriter, WrittenAt

_FILE = "allowed-checks.json"
_MAX_BYTES = 1_048_576
_MAX_FOLDERS = 1_000


class Confirmations:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, root: Path, key: str) -> bool:
        return self._load().get(str(root.resolve())) == key

    def add(self, root: Path, key: str) -> None:
        """One set of commands for each folder: another one replaces it, and asks again when it is back."""
        make_private_folder(self._folder)
        known = self._load()
        known.pop(str(root.resolve()), None)
        newest = dict([*known.items(), (str(root.resolve()), key)][-_MAX_FOLDERS:])
        content = json.dumps(newest, indent=1).encode()
        write_file(self._folder, _FILE, content, mode=PRIVATE_FILE, folder_mode=PRIVATE_FOLDER)

    def _load(self) -> dict[str, str]:
        """Nothing is allowed if the file cannot be read."""
        try:
            known = json.loads(read_file(self._folder, _FILE, _MAX_BYTES))
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in known.items()} if isinstance(known, dict) else {}


class ConfirmingWriter:
    """Stores that a person allowed the checks; everything else it leaves to the writer of changes."""

    def __init__(self, inner: ChangeWriter, confirmations: Confirmations, root: Path) -> None:
        self._inner = inner
        self._confirmations = confirmations
        self._root = root

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        if approval.proposal.kind != "checks":
            return self._inner.write_change(exploration, approval)
        self._confirmations.add(self._root, approval.proposal.content_hash)
        return WrittenAt(commit=None, branch=None)
