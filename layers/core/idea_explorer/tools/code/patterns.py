"""Regular expressions and file patterns from a model: untrusted, so matched in linear time (RE2)."""

import re
from collections.abc import Iterator
from typing import Protocol

from idea_explorer.domain.errors import ToolError
from idea_explorer.tools.code.pattern_size import estimate_size
from idea_explorer.tools.code.word_classes import widen_boundaries, widen_token

MAX_TEXT = 1_000  # of a pattern or a name; longer ones are mistakes
# an escape, a class, quoted text, or one character
_TOKEN = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|.", re.DOTALL)
# A pattern matches within a line, so anchors for the whole text mean the line; a carriage return before
# the line feed does not count.
_AT_LINE_ENDS = {"$": r"(?:\r?$)", r"\z": r"(?:\r?$)", r"\Z": r"(?:\r?$)", r"\A": "^"}

# RE2's compiler cannot be stopped, and holds the interpreter meanwhile: for 47 s with `a{1,1000}` a hundred
# times. Within these limits it takes a few hundredths of a second. A search cannot be stopped within a line
# either, but other threads run: the slowest pattern that is left takes some seconds for a line of 1 MB.
MAX_INSTRUCTIONS = 10_000
# of characters and classes, once repetitions are written out: `{0,500}`, and some around it
MAX_COPIES = 600

_GLOB_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}/]*,[^{}/]*\}|.", re.DOTALL)
_GLOB = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Span(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern(Protocol):
    def finditer(self, text: memoryview, pos: int, endpos: int) -> Iterator[Span]: ...
    def search(self, text: memoryview, pos: int, endpos: int) -> Span | None: ...
    def fullmatch(self, text: bytes) -> Span | None: ...


def line_pattern(pattern: str) -> Pattern:
    """Matches from the first match in a line to its end; raises ToolError `invalid_pattern`."""
    tokens = _TOKEN.findall(pattern)
    within_line = "".join(map(_fit_token, tokens))
    _check_size(within_line)
    _compiled(within_line)  # alone first, so that an error is about what the model wrote
    widened = "".join(widen_token(_fit_token(token)) for token in widen_boundaries(tokens))
    return _compiled(f"(?m)(?:{widened}).*")


def _fit_token(token: str) -> str:
    """The token as it means the same within a line, and with more after it."""
    if token.startswith(r"\Q") and not token.endswith(r"\E"):
        return rf"{token}\E"
    return _AT_LINE_ENDS.get(token, token)


def literal_pattern(text: str) -> Pattern:
    """Matches the text itself."""
    return _compiled(re.escape(text))


def glob(pattern: str) -> Pattern:
    """`*` and `?` stay within a name, `**` spans folders, `{a,b}` is either one."""
    plain = pattern.removeprefix("./")
    if plain.startswith("/") or ".." in plain.split("/") or "\\" in plain:
        raise ToolError(
            "invalid_pattern", "Invalid pattern: it is relative to the root, without '..' and '\\'."
        )
    translated = f"(?s){_translated(plain)}"
    _check_size(translated)
    return _compiled(translated)


def any_depth(pattern: str) -> str:
    """A pattern without a slash, such as `*.py`, matches names in every folder; `./*.py` only in the top."""
    return pattern if "/" in pattern else f"**/{pattern}"


def _translated(pattern: str) -> str:
    return "".join(_glob_piece(token[0]) for token in _GLOB_TOKEN.finditer(pattern))


def _glob_piece(token: str) -> str:
    if token in _GLOB:
        return _GLOB[token]
    if len(token) > 1:
        return f"(?:{'|'.join(_translated(choice) for choice in token[1:-1].split(','))})"
    return re.escape(token)


def _check_size(pattern: str) -> None:
    size = estimate_size(pattern)
    checks = (
        (size.copies, max(MAX_COPIES, len(pattern)), "characters and classes"),
        (size.instructions, MAX_INSTRUCTIONS, r"instructions, of which \pL alone has over 1,000"),
    )
    for count, most, unit in checks:
        if count > most:
            raise ToolError(
                "invalid_pattern",
                "Invalid pattern: too large once its repetitions are written out. The syntax is RE2; use"
                f" smaller numbers in {{…}}: there would be about {count:,}, and may be {most:,} {unit}.",
            )


def _compiled(pattern: str) -> Pattern:
    import re2

    options = re2.Options()
    # otherwise `[^x]*` would match through the whole file, and again for every line
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    try:
        compiled: Pattern = re2.compile(pattern.encode("utf-8"), options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if isinstance(error, re2.error) else "not Unicode text"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ToolError(
            "invalid_pattern",
            f"Invalid pattern: {text}. The syntax is RE2: no look-around, no back-references.",
        ) from error
    return compiled
