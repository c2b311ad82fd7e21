"""Publishing to a folder: plain files, and a commit if the folder is a git work tree."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from idea_explorer.adapters.folder.git import Commit, GitFolder
from idea_explorer.adapters.folder.layout import Layout
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.safe_files import (
    NEW_FILE,
    FileTooLargeError,
    LinkError,
    NotAFileError,
    list_folder,
    read_file,
    write_file,
)
from idea_explorer.adapters.trailers import run_trailers
from idea_explorer.domain.errors import (
    ConfigurationError,
    ContentMismatchError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES, is_document
from idea_explorer.ports import PublishResult
from idea_explorer.ports.writing import BuildChange


class LockedFolder:
    """A folder of which one process at a time writes reports: whoever does holds `lock`. `commits` is its
    git repository, if it has one."""

    def __init__(
        self,
        root: Path,
        lock: Path,
        commits: GitFolder | None = None,
        layout: Layout | None = None,
    ) -> None:
        self._root = root
        self._lock = lock
        self._commits = commits
        self._layout = layout or Layout()


class FolderPublisher(LockedFolder):
    """Replaces each file atomically, the log first, so that a run that crashed recognises its own files."""

    def check(self) -> None:
        """The folder for reports may be missing; then its parent must be writable."""
        ideas = self._root / self._layout.locate(RESEARCH_ROOT)
        folder = ideas if ideas.exists() else self._root
        if not folder.is_dir():
            raise ConfigurationError(
                f"{folder} is not a folder, so no report can be written there.",
                hint="Move it away, or name another folder with --research.",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"{folder} may not be written to.",
                hint="Give yourself write permission, or name another folder with --research.",
            )

    def publish(
        self, exploration_id: ExplorationId, run: int, build: BuildChange, *, since: datetime
    ) -> PublishResult:
        trailers = run_trailers(exploration_id, run)
        with lock_folder(self._lock):
            if self._commits and (earlier := self._commits.find(trailers)):
                return self._read_back(earlier)
            change = build(FolderTree(self._root, self._layout))
            files = {self._layout.locate(path): text for path, text in change.files.items()}
            for path, text in files.items():
                write_text(self._root, path, text)
            commit: str | None = None
            if self._commits:
                message = f"{change.message}\n\n{trailers}"
                commit = self._commits.commit(message, list(files))
        return PublishResult(
            document=change.path,
            text=change.files[change.path],
            path=str(self._root / self._layout.locate(change.path)),
            commit=commit,
            notice=change.notice,
        )

    def _read_back(self, earlier: Commit) -> PublishResult:
        """What an earlier attempt published, as it is now."""
        names = map(self._layout.name, earlier.paths)
        document = next((name for name in names if is_document(name)), "")
        text = FolderTree(self._root, self._layout).read_text(document) if document else None
        path = str(self._root / self._layout.locate(document))
        return PublishResult(document=document, text=text or "", path=path, commit=earlier.sha)


class FolderTree:
    """The folder's files. Links are not followed, so nothing outside is ever read or written."""

    def __init__(self, root: Path, layout: Layout | None = None) -> None:
        self._root = root
        self._layout = layout or Layout()

    def read_text(self, path: str) -> str | None:
        located = self._layout.locate(path)
        try:
            return read_file(self._root, located, MAX_REWRITTEN_BYTES).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (LinkError, NotAFileError) as error:
            raise NotADocumentError(f"{path} is not a file, so nothing was written.") from error
        except FileTooLargeError as error:
            raise DocumentTooLargeError(
                f"{path} has {error.size:,} bytes, too many to append to; it was left unchanged."
            ) from error
        except UnicodeDecodeError as error:
            raise ContentMismatchError(
                f"{path} is not UTF-8 text; it was left unchanged."
            ) from error
        except OSError as error:
            raise ExternalError(f"{path} cannot be read: {error.strerror}.") from error

    def names(self, path: str) -> Sequence[str]:
        try:
            return list_folder(self._root, self._layout.locate(path))
        except (LinkError, NotADirectoryError) as error:
            raise NotADocumentError(f"{path} is not a folder, so nothing was written.") from error


def write_text(root: Path, path: str, text: str, *, mode: int = NEW_FILE) -> None:
    """Replace a file of the folder, or make a new one with these permissions, with the folders above it."""
    try:
        write_file(root, path, text.encode("utf-8"), mode=mode)
    except (LinkError, NotAFileError) as error:
        raise NotADocumentError(
            f"{path} is not a file, or reached through a link; it was left unchanged."
        ) from error
    except OSError as error:
        raise ExternalError(
            f"{root / path} cannot be written: {error.strerror}.",
            hint="Check the folder's permissions.",
        ) from error
