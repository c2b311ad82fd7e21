"""A repository at one commit, as data: its files and links, by name."""

import hashlib
from dataclasses import dataclass
from typing import Literal

EntryKind = Literal["file", "symlink"]
ContentKind = Literal["text", "binary", "large", "link"]
NOT_KEPT = -1


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """One file or link. Names and contents come from the repository: untrusted data.

    Only text that is not too large is kept: its bytes stand at `start` in the snapshot's text. `blob` is
    git's name for the content (empty where it was not read). Where `exact` is false, the real name holds
    bytes that no path may hold, and `path` spells them as %XX: good for reading, not for writing.
    """

    path: str
    content: ContentKind
    size: int
    modified: int
    blob: str = ""
    start: int = NOT_KEPT
    target: str = ""
    exact: bool = True

    @property
    def kind(self) -> EntryKind:
        return "symlink" if self.content == "link" else "file"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def ensure_newline(content: bytes) -> bytes:
    """A text as it stands among others: always with a line feed at its end, unless it is empty."""
    return content if not content or content.endswith(b"\n") else content + b"\n"


DefinitionKind = Literal["function", "class", "variable", "import"]


@dataclass(frozen=True, slots=True)
class Definition:
    """`container` is the dotted chain of classes and functions around it."""

    name: str
    kind: DefinitionKind
    line: int
    signature: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """One thing that an import statement names: a module, or something out of one.

    `target` is its path in segments, `a/b/c`. `level` is 0 for an absolute one; otherwise it counts from
    the importing file's folder (1) upwards. `bound` is the name it gets in the file, where it gets one.
    """

    target: str
    line: int
    statement: str
    level: int = 0
    bound: str = ""

    @property
    def last(self) -> str:
        """The last segment; empty for a relative import of the folder itself."""
        return self.target.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ParsedCode:
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()


def blob_sha(content: bytes | memoryview) -> str:
    """The name git gives to this content: equal exactly where the contents are."""
    sha = hashlib.sha1(b"blob %d\x00" % len(content), usedforsecurity=False)
    sha.update(content)
    return sha.hexdigest()
