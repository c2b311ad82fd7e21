"""Writes approved changes to a local folder."""

from pathlib import Path

from idea_explorer.adapters.files import replace_file
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.code import blob_sha
from idea_explorer.domain.errors import BaseMovedError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import WrittenAt


class FolderWriter:
    """Replaces a file atomically, and only if it has not changed since the proposal was made."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        proposal = approval.proposal
        content = approval.approved_content.encode("utf-8")
        target = self._target(proposal.path)
        current = self._read(target)
        if current != content:  # otherwise an earlier attempt has written it already
            current_sha = None if current is None else blob_sha(current)
            if current_sha != proposal.base_sha:
                raise BaseMovedError(
                    f"{proposal.path} has changed since the proposal was made, so nothing was written.",
                    hint="Read it again and make a new proposal.",
                )
            replace_file(target, content)
        return WrittenAt(commit=None, branch=None)

    def _target(self, path: str) -> Path:
        """Refuses links on the way to the file, which could lead out of the folder."""
        target = self._root / path
        for path_part in (target, *target.parents):
            if path_part == self._root:
                break
            if path_part.is_symlink():
                raise BaseMovedError(f"{path} has become a link, so nothing was written.")
        return target

    def _read(self, target: Path) -> bytes | None:
        try:
            return target.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BaseMovedError(f"{target.name} cannot be read: {error.strerror}.") from error
