"""What the tools read: research, web pages, uploaded files and code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.approvals import Proposal
    from idea_explorer.domain.checks import CheckResult
    from idea_explorer.domain.code import Definition, Import, ParsedCode, SnapshotEntry
    from idea_explorer.domain.file_kinds import FileKind
    from idea_explorer.domain.paths import ResearchPath


@dataclass(frozen=True, slots=True)
class Document:
    content: str
    size: int


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that a search found; its text is untrusted data."""

    path: str
    title: str
    text: str
    score: float


class ResearchRepository(Protocol):
    """A team's research below `ideas/`. Paths are relative to it; nothing outside it is ever read.
    `reads_any_name`: every path that `list` gives can be read, also one with spaces or other letters.
    `is_cut`: there were more documents than were looked at."""

    @property
    def reads_any_name(self) -> bool: ...

    @property
    def is_cut(self) -> bool: ...

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        """Raises DocumentError or ExternalError. The content is untrusted data."""

    def list(self) -> Sequence[DocumentInfo]: ...

    def search(self, query: str, limit: int) -> tuple[Sequence[FoundDocument], int]:
        """The documents with words of the query, best first, and how many there are at all. What only the
        offline model wrote is no research, and left out of both."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A response. `url` is the final one after redirects; `charset` is what the header claims."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    is_cut: bool = False  # the page goes on after `body`


class WebPages(Protocol):
    """Public web pages: text, HTML, JSON and PDF, within limits of size and time."""

    def fetch(self, url: str, may_redirect_to: Callable[[str], bool] | None = None) -> WebPage:
        """Raises WebError or ExternalError. The page is untrusted data. Without `may_redirect_to` redirects
        may lead to any public address."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class FileInfo:
    name: str
    size: int


class UploadedFiles(Protocol):
    """The files that the user attached to this exploration, and no others."""

    def list(self) -> Sequence[FileInfo]: ...

    def read_all(self) -> Iterable[UploadedFile]:
        """One file at a time, so that memory never holds all of them. Raises ExternalError."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """One page, sheet or slide. `label` says which, as in `page 3`; it is empty where a document has none."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What a document says. `remark` says what of it is missing, if anything is."""

    parts: Sequence[DocumentPart]
    remark: str = ""


class DocumentReader(Protocol):
    """Reads PDF and Office files, within limits of time and memory."""

    def read(self, kind: FileKind, content: bytes, *, max_chars: int) -> DocumentText:
        """Raises UnreadableFileError. What the document says is untrusted data."""


class Snapshot(Protocol):
    """A repository at one commit. It never changes, and holds nothing from outside the repository."""

    @property
    def sha(self) -> str: ...

    @property
    def entries(self) -> Sequence[SnapshotEntry]: ...

    @property
    def text(self) -> memoryview:
        """All text files in a row, each at its entry's `start` and ending in a line feed (see `ended`)."""


class Checks(Protocol):
    """The checks of the repository that a run changes. What they print is untrusted data."""

    def ask_first(self) -> Proposal | None:
        """What a person has to allow before anything runs; None if nothing has to be. Raises
        ConfigurationError if there is nothing to run, or nothing may."""

    def run(self, only: str | None) -> Sequence[CheckResult]:
        """Run or read all checks, or the one of this name. Raises ConfigurationError or ExternalError."""


class Symbols(Protocol):
    """What parsers found, by a key of content and parser: valid for every commit with that content."""

    def unknown(self, keys: Iterable[str]) -> set[str]:
        """The keys that have nothing stored yet."""

    def add(self, parsed: Mapping[str, ParsedCode]) -> None: ...

    def definitions(self, name: str) -> Sequence[tuple[str, Definition]]:
        """Definitions of this name, each with its key; some may belong to other commits."""

    def imports(self, last: str) -> Sequence[tuple[str, Import]]:
        """Imports of a path that ends in this segment, and relative imports of a folder."""

    def bindings(self, name: str) -> Sequence[tuple[str, Import]]:
        """Imports of this name, and imports under this name as an alias."""
