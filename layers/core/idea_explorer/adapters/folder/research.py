"""A folder as the research repository: the documents below its `ideas/`, or, without one, its notes."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from idea_explorer.adapters.folder.layout import Layout, is_note, walk_files
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
    NotTextError,
)
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT, ResearchPath, encode_name
from idea_explorer.ports import Document, DocumentInfo


class Folder:
    """Follows no links, so nothing outside is ever read; of a folder of notes, nothing but notes."""

    reads_any_name = True

    def __init__(self, root: Path, layout: Layout | None = None) -> None:
        if not root.is_dir():
            problem = "is a file, not a folder" if root.exists() else "does not exist"
            raise ConfigurationError(
                f"The research folder {root} {problem}.",
                hint="Create one, or name another with --research or IDEA_RESEARCH_DIR.",
            )
        self.root = root
        self.is_cut = False
        self._layout = layout or Layout()
        self._ideas = root / self._layout.locate(RESEARCH_ROOT)

    @property
    def has_research(self) -> bool:
        return self._layout.is_flat or (self._ideas.is_dir() and not self._ideas.is_symlink())

    def count_documents(self) -> int:
        """How many there are to read; `is_cut` says afterwards whether there may be more."""
        return sum(path.lower().endswith(READABLE) for path, _ in self._files())

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        name = self._find_name(path)
        if self._layout.is_flat and not is_note(name):
            raise DocumentMissingError(f"{path} is not a document.")
        try:
            data = read_file(self.root, self._layout.locate(f"{RESEARCH_ROOT}/{name}"), limit)
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
        if b"\0" in data:
            raise NotTextError(f"{path} is not text in UTF-8.")
        return Document(content=data.decode("utf-8", "replace"), size=len(data))

    def _find_name(self, path: str) -> str:
        """The name on the disk of a document that `list` spells so."""
        if "%" not in path:
            return path
        return next((name for name, _ in self._files() if _displayable(name) == path), path)

    def list(self) -> Sequence[DocumentInfo]:
        return [
            DocumentInfo(_displayable(path), info.st_size) for path, info in sorted(self._files())
        ]

    def read_all(self) -> Sequence[tuple[str, str]]:
        return [
            (_displayable(path), document.content)
            for path, info in sorted(self._files())
            if path.lower().endswith(READABLE)
            and info.st_size <= limits.MAX_DOCUMENT_BYTES
            and (document := self._read_if_there(ResearchPath(path)))
        ]

    def _read_if_there(self, path: ResearchPath) -> Document | None:
        """None for a file that was removed or exchanged since it was listed, or may not be read."""
        try:
            return self.read(path)
        except ExternalError:
            return None

    def _note_cut(self) -> None:
        self.is_cut = True

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        if self.has_research:
            for path, info in walk_files(self._ideas, self._note_cut):
                if not self._layout.is_flat or is_note(path):
                    yield path, info


def _displayable(path: str) -> str:
    """A path that can be stored and sent: file names can contain any bytes."""
    return encode_name(os.fsencode(path))[0]
