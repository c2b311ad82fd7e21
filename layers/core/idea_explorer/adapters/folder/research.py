"""A folder as the research repository: the documents below its `ideas/`, or, without one, its notes."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.layout import Layout, is_note, walk_files
from idea_explorer.adapters.folder.scan import Scan, Stamp, are_same
from idea_explorer.adapters.research_index.index import DocumentIndex
from idea_explorer.adapters.research_index.sources import Changes, FileChange
from idea_explorer.adapters.safe_files import (
    FileTooLargeError,
    LinkError,
    NotAFileError,
    make_ignored_folder,
    read_file,
)
from idea_explorer.domain import limits
from idea_explorer.domain.errors import (
    ConfigurationError,
    DocumentError,
    DocumentMissingError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
    NotTextError,
)
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT, ResearchPath, encode_name
from idea_explorer.ports import Document, DocumentInfo, FoundDocument

COMPLETE = "complete"  # the state of an index that was once brought up to date


class Folder:
    """Follows no links, so nothing outside is ever read; of a folder of notes, nothing but notes. Its index
    is in a file, or else in memory."""

    reads_any_name = True

    def __init__(
        self, root: Path, layout: Layout | None = None, index_file: Path | None = None
    ) -> None:
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
        self._stamps: Mapping[str, Stamp] = {}  # of the last look, if nothing had changed
        self._index_file = index_file
        self.index = DocumentIndex(self, index_file, prepare=self._make_index_folder)

    def _make_index_folder(self) -> None:
        """A folder without research, as any may be, is left as it is."""
        if self._index_file and self.has_research and not self._index_file.parent.exists():
            with suppress(OSError):  # without it, the index is kept in memory
                make_ignored_folder(self._index_file.parent)

    is_remote = False

    @property
    def identity(self) -> str:
        return f"folder {'of notes ' if self._layout.is_flat else ''}{self.root.absolute()}"

    @property
    def has_research(self) -> bool:
        return self._layout.is_flat or (self._ideas.is_dir() and not self._ideas.is_symlink())

    def count_documents(self) -> int:
        """How many there are to read; `is_cut` says afterwards whether there may be more."""
        return sum(path.lower().endswith(READABLE) for path, _ in self._files())

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        return self._read(self._find_name(path), limit)

    def _read(self, name: str, limit: int) -> Document:
        path = _displayable(name)
        if not self._is_listed(name):
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
        return self.index.list()

    def search(self, query: str, limit: int) -> tuple[Sequence[FoundDocument], int]:
        return self.index.search(query, limit)

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        if state == COMPLETE and self._stamps and self.has_research and are_same(self._stamps):
            return None
        self._stamps = {}
        known = versions()
        now_ns = round(SystemClock().now().timestamp() * 1e9)
        scan = Scan(os.path.realpath(self._ideas), now_ns, self._is_listed)
        if self.has_research:
            scan.look(known)
        self.is_cut = scan.is_cut
        changed = [name for name, (version, _) in scan.found.items() if known.get(name) != version]
        unsettled = [name for name in scan.found if known.get(name) == "" and name[-1] != "/"]
        gone = [name for name in known if name not in scan.found]
        if not (changed or unsettled or gone):
            self._stamps = scan.stamps
            return None
        files = self._read_changes(_order({*changed, *unsettled}), scan, gone)
        return Changes(files, COMPLETE)

    def _is_listed(self, name: str) -> bool:
        return not self._layout.is_flat or is_note(name)

    def _read_changes(
        self, changed: Iterable[str], scan: Scan, gone: Iterable[str]
    ) -> Iterator[FileChange]:
        for name in changed:
            version, size = scan.found[name]
            text: str | None = None
            if name.lower().endswith(READABLE) and size <= limits.MAX_DOCUMENT_BYTES:
                try:
                    text = self._read(name, limits.MAX_DOCUMENT_BYTES).content
                except DocumentError:
                    pass  # nothing to search for, until it or its folder changes
                except ExternalError:
                    version = ""  # it may be read another time
            yield FileChange(name, version, size, text)
        for name in gone:
            yield FileChange(name, None)

    def _note_cut(self) -> None:
        self.is_cut = True

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        if self.has_research:
            for path, info in walk_files(self._ideas, self._note_cut):
                if self._is_listed(path):
                    yield path, info


def _order(names: set[str]) -> list[str]:
    """Files before folders, and a folder before the one it is in, whose name its own begins with: a folder
    that is indexed is not listed again, so all that is in it has to be indexed before. Neighbours are
    written together, since what the index has of them is found by one query."""
    files = sorted(name for name in names if not name.endswith("/"))
    folders = sorted((name.rstrip("/") for name in names - {*files}), reverse=True)
    return [*files, *(f"{name}/" for name in folders)]


def _displayable(path: str) -> str:
    """A path that can be stored and sent: file names can contain any bytes."""
    return encode_name(os.fsencode(path))[0]
