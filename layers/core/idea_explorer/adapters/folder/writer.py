"""Approved changes written into a local folder."""

import os
import tempfile
from pathlib import Path

from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.code import blob_sha
from idea_explorer.domain.errors import BaseMovedError, ExternalError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import WrittenAt


class FolderWriter:
    """Writes a file whole or not at all, and only where it is still what the proposal was made from."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        proposal = approval.proposal
        content = approval.approved_content.encode("utf-8")
        target = self._target(proposal.path)
        current = self._current(target)
        if current != content:  # else an earlier attempt has written it already
            found = None if current is None else blob_sha(current)
            if found != proposal.base_sha:
                raise BaseMovedError(
                    f"{proposal.path} has changed since the proposal was made, so nothing was written.",
                    hint="Read it again and propose anew.",
                )
            write_whole(target, content)
        return WrittenAt(commit=None, branch=None)

    def _target(self, path: str) -> Path:
        """The file below the root; a link on the way there would lead elsewhere."""
        target = self._root / path
        for place in (target, *target.parents):
            if place == self._root:
                break
            if place.is_symlink():
                raise BaseMovedError(f"{path} has become a link, so nothing was written.")
        return target

    def _current(self, target: Path) -> bytes | None:
        try:
            return target.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BaseMovedError(f"{target.name} cannot be read: {error.strerror}.") from error


def write_whole(target: Path, content: bytes) -> None:
    """Write beside the target and rename: a reader or a crash never meets half a file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".idea-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary = Path(name)
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise ExternalError(f"{target.name} cannot be written: {error.strerror}.") from error
