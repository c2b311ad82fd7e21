"""What the tools read: research, pages, uploaded files, code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from idea_explorer.domain import limits
from idea_explorer.domain.code import Definition, Import, ParsedCode, SnapshotEntry
from idea_explorer.domain.paths import ResearchPath


@dataclass(frozen=True, slots=True)
class Document:
    content: str
    size: int


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    path: str
    size: int


class ResearchRepository(Protocol):
    """A team's research below `ideas/`. Paths are relative to it; nothing outside is ever read."""

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        """Raises DocumentError's kinds, or ExternalError. What comes back is untrusted data."""
        ...

    def list(self) -> Sequence[DocumentInfo]: ...

    def read_all(self) -> Sequence[tuple[str, str]]:
        """Path and text of every research document, for search."""
        ...


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a URL answered. `url` is the last one after redirects, `charset` what its header claims."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes


class WebPages(Protocol):
    """Public web pages: of text, html and json types, within bounds of size and time."""

    def fetch(self, url: str) -> WebPage:
        """Raises WebError's kinds, or ExternalError. What comes back is untrusted data."""
        ...


@dataclass(frozen=True, slots=True)
class UploadedFile:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class FileInfo:
    name: str
    size: int


class UploadedFiles(Protocol):
    """The files that the user gave with this exploration, and no others."""

    def list(self) -> Sequence[FileInfo]: ...

    def read_all(self) -> Iterable[UploadedFile]:
        """One file after the other, so that not all need to be in memory. Raises ExternalError."""
        ...


class Snapshot(Protocol):
    """A repository at one commit. It never changes, and holds nothing from outside the repository."""

    @property
    def sha(self) -> str: ...

    @property
    def entries(self) -> Sequence[SnapshotEntry]: ...

    @property
    def text(self) -> memoryview:
        """All kept contents, each at its entry's `start` and ending in a line feed (see `ended`)."""
        ...


class Symbols(Protocol):
    """What parsers found, by a key that names content and parser: good for every commit that has it."""

    def unknown(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that nothing is stored for yet."""
        ...

    def add(self, parsed: Mapping[str, ParsedCode]) -> None: ...

    def definitions(self, name: str) -> Sequence[tuple[str, Definition]]:
        """Whatever defines this name, each with its key. May hold keys of other commits."""
        ...

    def imports(self, last: str) -> Sequence[tuple[str, Import]]:
        """Whatever imports something that ends in this segment, or a folder by a relative import."""
        ...

    def bindings(self, name: str) -> Sequence[tuple[str, Import]]:
        """Whatever imports something of this name, or gives this name to what it imports."""
        ...
