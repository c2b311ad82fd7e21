"""The files and links of a repository at one commit, and the definitions in them."""

from typing import Literal

from idea_explorer.domain.dataclass import dataclass

EntryKind = Literal["file", "symlink"]
ContentKind = Literal["text", "binary", "large", "link", "secret"]
NOT_KEPT = -1


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """One file or link. Names and contents come from the repository: untrusted data. Only text up to a
    limit is stored, at `start` in the snapshot's text. `blob` is git's hash of the content (empty if it
    was not read). A "secret" is a key file, whose content nobody gets. If `exact` is false, the real name
    contains bytes that no path may contain, and `path` spells them as %XX: good for reading, not for
    writing. `utf8` is false for a text in another encoding."""

    path: str
    content: ContentKind
    size: int
    modified: int
    blob: str = ""
    start: int = NOT_KEPT
    target: str = ""
    exact: bool = True
    utf8: bool = True

    @property
    def kind(self) -> EntryKind:
        return "symlink" if self.content == "link" else "file"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def ensure_newline(content: bytes) -> bytes:
    """End a text with a line feed, unless it is empty."""
    return content if not content or content.endswith(b"\n") else content + b"\n"


def is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


DefinitionKind = Literal["function", "class", "variable", "import"]


@dataclass(frozen=True, slots=True)
class Definition:
    """`container` are the classes and functions around it, joined by dots."""

    name: str
    kind: DefinitionKind
    line: int
    signature: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """One name in an import statement: a module, or something in a module. `target` is its path in
    segments, `a/b/c`. `level` is 0 for an absolute import; otherwise it counts upwards from the importing
    file's folder (1). `bound` is the name it gets in the file, if any. `spec` is how the statement spells
    what it imports, in languages where that is a path or the name of a package."""

    target: str
    line: int
    statement: str
    level: int = 0
    bound: str = ""
    spec: str = ""

    @property
    def last(self) -> str:
        """The last segment; empty for a relative import of the folder itself."""
        return self.target.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ParsedCode:
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
