"""The rules for paths. Every path from a model or a user is checked here before any request is made."""

from collections.abc import Callable, Iterable
from typing import NewType

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import UNSAFE_CHARACTERS, trim


class ResearchPath(str):
    """A checked path below `ideas/`, without that prefix. `given` is the model's own spelling."""

    __slots__ = ("given",)
    given: str

    def __new__(cls, path: str, given: str | None = None) -> "ResearchPath":
        checked = super().__new__(cls, path)
        checked.given = path if given is None else given
        return checked


RESEARCH_ROOT = "ideas"
MAX_RESEARCH_PATH = 200
READABLE = (".md", ".markdown", ".txt")  # how the names of documents end
_CONTROL = lazy_pattern(rf"[{UNSAFE_CHARACTERS}\t\n]")
_ALLOWED = lazy_pattern(r"[a-zA-Z0-9][a-zA-Z0-9/_.-]{0,199}")

# In this order: the message of the first broken rule is given.
_RESEARCH_RULES = (
    (lambda path: not path, "Path is empty. Give a path relative to ideas/."),
    (
        lambda path: not (path.isascii() and path.isprintable()) and _CONTROL.search(path),
        "Path contains control characters.",
    ),
    (lambda path: "%" in path, "Path contains '%'. Give it without URL encoding."),
    (lambda path: path.startswith("/"), "Path is absolute. Give a path relative to ideas/."),
    (lambda path: ".." in path, "Path contains '..'."),
    (lambda path: "\\" in path, "Path contains a backslash. Use '/'."),
    (
        lambda path: path.startswith("ideas/"),
        "Path starts with 'ideas/'. It is relative to ideas/ already.",
    ),
    (lambda path: path.endswith("/"), "Path ends with '/'. Give a file, not a folder."),
    (lambda path: "//" in path, "Path contains '//'."),
    (lambda path: "." in path.split("/"), "Path contains '.' as a folder."),
    (lambda path: len(path) > MAX_RESEARCH_PATH, "Path is longer than 200 characters."),
    (
        lambda path: not _ALLOWED.fullmatch(path),
        "Path may hold letters, digits, '/', '_', '.' and '-' only, and starts with a letter or digit.",
    ),
)


def check_research_path(given: str) -> ResearchPath:
    """Check a path for read_research; raises ToolError `path_validation` with the broken rule."""
    return ResearchPath(_check(given, _RESEARCH_RULES), given)


def _check(given: str, rules: Iterable[tuple[Callable[[str], object], str]]) -> str:
    path = trim(given)
    for breaks, message in rules:
        if breaks(path):
            raise ToolError("path_validation", message)
    return path


def is_research_path(path: str) -> bool:
    """Whether read_research accepts a path in exactly this spelling."""
    try:
        return check_research_path(path) == path
    except ToolError:
        return False


RepositoryPath = NewType("RepositoryPath", str)
"""A checked path below a repository's root, without `.`, empty or `..` segments; the root itself is ''."""

MAX_REPOSITORY_PATH = 1_000
_MAX_SEGMENT_BYTES = 255  # the limit of common file systems
# characters that HFS+ ignores when it compares names
_INVISIBLE = lazy_pattern(r"[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_DRIVE = lazy_pattern(r"[a-zA-Z]:(/|$)")


def _is_git_folder(name: str) -> bool:
    """Whether a name is `.git`, also in spellings that some file systems treat as the same: NTFS ignores
    dots and spaces at the end, and a colon begins the name of a stream of the same file."""
    visible = _INVISIBLE.sub("", name).lower().partition(":")[0]
    return visible.rstrip(". ") in {".git", "git~1"}


# '..' counts only as a whole segment: `[...slug].tsx` is a file name.
_REPOSITORY_RULES = (
    (lambda path: not path, "Path is empty. Give a path relative to the root; '.' is the root."),
    (lambda path: len(path) > MAX_REPOSITORY_PATH, "Path is longer than 1,000 characters."),
    (lambda path: _CONTROL.search(path), "Path contains control characters."),
    (lambda path: "\\" in path, "Path contains a backslash. Use '/'."),
    (
        lambda path: path.startswith("/") or _DRIVE.match(path),
        "Path is absolute. Give a path relative to the root.",
    ),
    (lambda path: ".." in path.split("/"), "Path contains '..'."),
    (
        lambda path: any(_is_git_folder(segment) for segment in path.split("/")),
        "Path leads into .git, which is not part of the repository's content.",
    ),
    (
        lambda path: any(len(s.encode()) > _MAX_SEGMENT_BYTES for s in path.split("/")),
        "Path holds a name longer than 255 bytes.",
    ),
)


def check_repository_path(given: str) -> RepositoryPath:
    """Check a path for the code tools; raises ToolError `path_validation` with the broken rule."""
    path = _check(given, _REPOSITORY_RULES)
    plain = "/".join(s for s in path.split("/") if s not in {"", "."})
    # removing segments may leave a blank at an end, so check again
    return RepositoryPath(plain) if plain == trim(plain) else check_repository_path(plain)


_UNPRINTABLE = lazy_pattern(rf"[{UNSAFE_CHARACTERS}\t\n\\]+")


def encode_name(name: bytes) -> tuple[str, bool]:
    """Encode a file name so that it can be shown and used as a path; also whether it stayed the same.
    Bytes that are not UTF-8, control characters, backslashes, and spaces at the ends become %XX."""
    text = name.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and "\\" not in text and text == text.strip():
        return text, True  # as most are: ten times as fast
    spelled = _UNPRINTABLE.sub(lambda found: _percent_encode(found[0]), text)
    inner = trim(spelled)
    before = spelled.index(inner)
    after = before + len(inner)
    spelled = _percent_encode(spelled[:before]) + inner + _percent_encode(spelled[after:])
    return spelled, spelled == text


def _percent_encode(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))
