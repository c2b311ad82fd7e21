"""A folder as the research repository: the documents below its `ideas/`, and nothing else."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from idea_explorer.domain import limits
from idea_explorer.domain.errors import (
    ConfigurationError,
    DocumentMissingError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
)
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath, encode_name
from idea_explorer.ports import Document, DocumentInfo

SEARCHABLE = (".md", ".markdown", ".txt")


class Folder:
    """Follows no links, so nothing outside `ideas/` is ever read."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            problem = "is a file, not a folder" if root.exists() else "does not exist"
            raise ConfigurationError(
                f"The research folder {root} {problem}.",
                hint="Create one, or name another with --research or IDEA_RESEARCH_DIR.",
            )
        self.root = root
        self._ideas = root / RESEARCH_ROOT

    @property
    def has_research(self) -> bool:
        return self._ideas.is_dir() and not self._ideas.is_symlink()

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        target = self._ideas / path
        try:
            for parent in [*reversed(target.relative_to(self._ideas).parents)][1:]:
                if (self._ideas / parent).is_symlink():
                    raise NotADocumentError(f"{path} is reached through a link.")
            info = target.lstat()
            if not stat.S_ISREG(info.st_mode):
                raise NotADocumentError(f"{path} is not a file.")
            if info.st_size > limit:
                raise DocumentTooLargeError(f"{path} has {info.st_size} bytes.")
            data = _read_no_follow(target, limit)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DocumentMissingError(f"{path} does not exist.") from error
        except OSError as error:
            raise ExternalError(error.strerror or "the file cannot be read") from error
        return Document(content=data.decode("utf-8", "replace"), size=len(data))

    def list(self) -> Sequence[DocumentInfo]:
        return [
            DocumentInfo(_displayable(path), info.st_size) for path, info in sorted(self._files())
        ]

    def read_all(self) -> Sequence[tuple[str, str]]:
        """A document that cannot be read is left out: it must not hide the others."""
        documents = []
        for path, info in sorted(self._files()):
            if path.endswith(SEARCHABLE) and info.st_size <= limits.MAX_DOCUMENT_BYTES:
                with suppress(ExternalError):
                    documents.append((_displayable(path), self.read(ResearchPath(path)).content))
        return documents

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        for folder, folders, names in os.walk(self._ideas, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                file = Path(folder, name)
                try:
                    info = file.lstat()
                except OSError:
                    continue  # deleted since its folder was read
                if stat.S_ISREG(info.st_mode) and not name.startswith("."):
                    yield file.relative_to(self._ideas).as_posix(), info


def _displayable(path: str) -> str:
    """A path that can be stored and sent: file names can contain any bytes."""
    return encode_name(os.fsencode(path))[0]


def _read_no_follow(path: Path, limit: int) -> bytes:
    """Never reads through a link, even if one replaces the file between check and use."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit + 1)
