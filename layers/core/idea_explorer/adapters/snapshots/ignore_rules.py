"""The rules of `.gitignore` files, for folders that are not under git. The files may come from anybody, so
their patterns are matched in linear time (RE2)."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import RejectedError

MAX_RULES_BYTES = 65_536  # of one file; real ones have a few kilobytes
_PIECE = re.compile(
    rb"/\*\*/|\A\*\*/|/\*\*\Z|\*+|\?"
    rb"|\[[!^]?\]?(?:\[:[a-z]{1,9}+:\]|\\.|[^\]\\]){0,100}+\]|\\.|.",
    re.DOTALL,
)
_WILD = {b"/**/": rb"/(?:.*/)?", b"**/": rb"(?:.*/)?", b"/**": rb"/.*", b"?": b"[^/]"}


@dataclass(frozen=True, slots=True)
class _Group:
    """Successive rules that all ignore, or all include again."""

    ignores: bool
    of_all: Any  # of RE2; None where there is no such rule
    of_folders: Any


class IgnoreRules:
    """The rules of one file, for paths relative to its folder."""

    def __init__(self, content: bytes) -> None:
        if len(content) > MAX_RULES_BYTES:
            raise RejectedError(
                f"A .gitignore file has more than {MAX_RULES_BYTES:,} bytes.",
                hint="Name a folder without it, or one under git.",
            )
        self._groups = tuple(_group(content))

    def decide(self, path: bytes, *, is_folder: bool) -> bool | None:
        """Whether the path is ignored; None if no rule says so. The last rule that matches counts."""
        for group in reversed(self._groups):
            if group.of_all is not None and group.of_all.fullmatch(path):
                return group.ignores
            if is_folder and group.of_folders is not None and group.of_folders.fullmatch(path):
                return group.ignores
        return None


def is_ignored(files: Sequence[tuple[bytes, IgnoreRules]], path: bytes, *, is_folder: bool) -> bool:
    """By the files from the root downwards, each with the folder that it is in: the innermost decides."""
    for folder, rules in reversed(files):
        inside = path[len(folder) + 1 :] if folder else path
        decided = rules.decide(inside, is_folder=is_folder)
        if decided is not None:
            return decided
    return False


def _group(content: bytes) -> Iterator[_Group]:
    ignores = True
    patterns: dict[bool, list[bytes]] = {True: [], False: []}  # by whether they are for folders
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        rule = _trim(line.removesuffix(b"\r"))
        if not rule or rule.startswith(b"#"):
            continue
        includes = rule.startswith(b"!")
        if includes == ignores:
            yield _make(patterns, ignores=ignores)
            patterns, ignores = {True: [], False: []}, not includes
        rule = rule[1:] if includes else rule
        for_folders = rule.endswith(b"/")
        rule = rule.rstrip(b"/") if for_folders else rule
        if rule:
            patterns[for_folders].append(_translate(rule))
    yield _make(patterns, ignores=ignores)


def _make(patterns: dict[bool, list[bytes]], *, ignores: bool) -> _Group:
    return _Group(ignores, _compile(patterns[False]), _compile(patterns[True]))


def _trim(line: bytes) -> bytes:
    """Without the blanks at its end, of which a backslash keeps one."""
    trimmed = line.rstrip(b" ")
    slashes = len(trimmed) - len(trimmed.rstrip(b"\\"))
    return trimmed + b" " if slashes % 2 and len(trimmed) < len(line) else trimmed


def _translate(rule: bytes) -> bytes:
    """A rule with a slash before its end counts from the folder of the file, any other at every depth."""
    is_anchored = b"/" in rule
    rule = rule.removeprefix(b"/")
    translated = b"".join(_translate_piece(piece[0]) for piece in _PIECE.finditer(rule))
    return translated if is_anchored else b"(?:.*/)?" + translated


def _translate_piece(piece: bytes) -> bytes:
    if piece in _WILD:
        return _WILD[piece]
    if piece.startswith(b"*"):
        return b"[^/]*"
    if piece.startswith(b"[") and len(piece) > 1:
        inner = piece[1:-1]
        negation = b"^/" if inner[:1] in {b"!", b"^"} else b""
        inner = inner[1:] if negation else inner
        first = b"\\]" if inner.startswith(b"]") else b""
        return b"[" + negation + first + inner[len(first) // 2 :] + b"]"
    return re.escape(piece[1:] if len(piece) > 1 else piece)


def _compile(patterns: Sequence[bytes]) -> Any:
    """All in one; those that are no pattern, such as `[z-a]`, match nothing, as in git."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # names are bytes
    options.dot_nl = True
    options.never_capture = True
    options.log_errors = False
    if not patterns:
        return None
    try:
        return re2.compile(b"|".join(b"(?:" + pattern + b")" for pattern in patterns), options)
    except re2.error:
        half = len(patterns) // 2
        if not half:
            return None
        found = [_compile(patterns[:half]), _compile(patterns[half:])]
        usable = [compiled.pattern for compiled in found if compiled is not None]
        return re2.compile(b"|".join(usable), options) if usable else None
