"""A folder as the research repository: the documents below its `ideas/`, and nothing else."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.safe_files import (
    FileTooLargeError,
    LinkError,
    NotAFileError,
    read_file,
)
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
        try:
            data = read_file(self.root, f"{RESEARCH_ROOT}/{path}", limit)
        except LinkError as error:
            raise NotADocumentError(f"{path} is a link, or reached through one.") from error
        except NotAFileError as error:
            raise NotADocumentError(f"{path} is not a file.") from error
        except FileTooLargeError as error:
            raise DocumentTooLargeError(f"{path} has {error.size} bytes.") from error
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
        return [
            (_displayable(path), document.content)
            for path, info in sorted(self._files())
            if path.endswith(SEARCHABLE)
            and info.st_size <= limits.MAX_DOCUMENT_BYTES
            and (document := self._read_if_there(ResearchPath(path)))
        ]

    def _read_if_there(self, path: ResearchPath) -> Document | None:
        """None for a file that was removed or exchanged since it was listed, or may not be read."""
        try:
            return self.read(path)
        except ExternalError:
            return None

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        if not self.has_research:
            return
        for folder, folders, names, descriptor in os.fwalk(self._ideas, follow_symlinks=False):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = Path(folder).relative_to(self._ideas)
            for name in names:
                with suppress(FileNotFoundError):
                    info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode) and not name.startswith("."):
                        yield (inside / name).as_posix(), info


def _displayable(path: str) -> str:
    """A path that can be stored and sent: file names can contain any bytes."""
    return encode_name(os.fsencode(path))[0]
