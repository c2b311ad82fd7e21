"""The names of repositories, branches, tags and commits, by GitHub's and git's own rules."""

import re

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import UNSAFE_CHARACTERS

MAX_REF = 200  # git's own limit is that of a file name

# logins have up to 39 letters, digits and hyphens; those of managed users also hold an underscore
_OWNER = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")
_REPOSITORY = lazy_pattern(r"[A-Za-z0-9_.-]{1,100}")

# git check-ref-format, rule by rule; what a terminal would obey or hide is refused too
_REF_RULES = (
    (lazy_pattern(r"\A\Z|\A.{201}", re.DOTALL), f"must have 1 to {MAX_REF} characters"),
    (lazy_pattern(r"\A-"), "must not begin with '-'"),
    (lazy_pattern(r"(?:\A|/)\."), "must not hold a part that begins with '.'"),
    (lazy_pattern(r"\.lock(?:/|\Z)"), "must not hold a part that ends in '.lock'"),
    (lazy_pattern(r"\.\."), "must not hold '..'"),
    (lazy_pattern(r"\A/|/\Z|//"), "must not hold empty parts between slashes"),
    (lazy_pattern(r"\.\Z"), "must not end in '.'"),
    (lazy_pattern(r"@\{|\A@\Z"), "must not be '@' or hold '@{'"),
    (
        lazy_pattern(rf"[\s~^:?*\[\\{UNSAFE_CHARACTERS}]"),
        "must not hold spaces, control characters or any of ~ ^ : ? * [ \\",
    ),
)


def check_ref(name: str) -> str:
    """A branch, tag or commit as git lets it be named; raises ValueError with the broken rule."""
    for broken, rule in _REF_RULES:
        if broken.search(name):
            raise ValueError(rule)
    return name


def check_repository_name(name: str) -> str:
    """`owner/name` as GitHub lets it be named; raises ValueError."""
    owner, _, repository = name.partition("/")
    if not _OWNER.fullmatch(owner) or not _REPOSITORY.fullmatch(repository):
        raise ValueError("must look like owner/name")
    if repository in {".", ".."} or repository.endswith(".git"):
        raise ValueError("must not be '.' or '..' or end in '.git' after the slash")
    return name


def check_repository_names(names: str) -> str:
    """A list of repositories; raises ValueError."""
    for name in split_names(names):
        check_repository_name(name)
    return names


def split_names(names: str) -> tuple[str, ...]:
    """Names that are separated by spaces or commas."""
    return tuple(names.replace(",", " ").split())
