"""The readable text of an HTML page: its title, and its text with headings, lists and links.

Read in one pass, without building a tree: for a hostile page of 500 KB, a tree builder needs over 100 MB,
and the standard library's older tokenizers take minutes. Here every step advances and only text is kept.
"""

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import one_line, unescape_html
from idea_explorer.tools.decoding import SLICE

MAX_TITLE = 300

# What may begin markup; any other `<` is text.
_MARKUP = lazy_pattern(r"<[a-z/!?]", re.IGNORECASE)
_OPENING = lazy_pattern(r"</?[a-z]", re.IGNORECASE)
_BOGUS = lazy_pattern(r"<[!?]|</[^a-z]", re.IGNORECASE)
# A whole tag, quoted values included. Possessive throughout, so that it never backtracks.
_TAG = lazy_pattern(
    r"""<(/?)([a-z][^\s/>]*+)((?:=\s*+(?:"[^"]*+"|'[^']*+')?+|[^>=]++)*+)>""", re.IGNORECASE
)
_HREF = lazy_pattern(
    r"""(?:^|[\s"'/])href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE
)
_SPACES = lazy_pattern(r"\s+")
_RAW = {name: lazy_pattern(f"</{name}", re.IGNORECASE) for name in ("script", "style", "title")}

_SKIPPED = frozenset(
    "nav noscript template svg iframe object canvas audio video select button dialog".split()
)
_PARAGRAPHS = frozenset(
    "p div section article main header footer aside ul ol dl table blockquote figure figcaption form"
    " fieldset address details summary pre hr body".split()
)
_LINES = frozenset("br tr dt dd caption legend".split())
_PREFIXES = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"li": "- "}


@dataclass(frozen=True, slots=True)
class Readable:
    title: str
    text: str
    truncated: bool


def readable(source: str, *, base_url: str = "", limit: int) -> Readable:
    """At most `limit` characters of text; links are made absolute if `base_url` is given."""
    reader = _Reader(base_url, limit)
    reader.read(source)
    text = reader.page.text
    return Readable(one_line(reader.title, MAX_TITLE), text[:limit], len(text) > limit)


class _Reader:
    def __init__(self, base_url: str, limit: int) -> None:
        self.page = _Text(limit)
        self.title = ""
        self._base_url = base_url
        self._skipping = ""
        self._depth = 0

    def read(self, source: str) -> None:
        """A comment, tag or script that is never closed hides the rest, as in browsers."""
        position = 0
        while 0 <= position < len(source) and not self.page.is_full:
            found = _MARKUP.search(source, position)
            self._take(source[position : found.start() if found else len(source)])
            position = self._markup(source, found.start()) if found else -1

    def _markup(self, source: str, start: int) -> int:
        """Read the markup that begins here; return the position after it, or -1 if it has no end."""
        if source.startswith("<!--", start):
            return _after(source, "-->", start + 2)
        if _BOGUS.match(source, start):
            return _after(source, ">", start)
        if not _OPENING.match(source, start):
            self._take("<")
            return start + 1
        tag = _TAG.match(source, start)
        if tag is None:
            return -1
        closing, name, attributes = tag.group(1), tag.group(2).lower(), tag.group(3)
        if not closing and (end := _RAW.get(name)):
            return self._raw(source, name, tag.end(), end)
        self._tag(name, bool(closing), attributes)
        return tag.end()

    def _raw(self, source: str, name: str, start: int, end: re.Pattern[str]) -> int:
        closed = end.search(source, start)
        if name == "title" and not self.title and not self._skipping:
            content = source[start : closed.start() if closed else start]
            self.title = _unescaped(content[: 10 * MAX_TITLE])
        return _after(source, ">", closed.start()) if closed else -1

    def _take(self, text: str) -> None:
        if text and not self._skipping:
            self.page.write(_unescaped(text))

    def _tag(self, name: str, closing: bool, attributes: str) -> None:
        if self._skipping:
            if name == self._skipping:
                self._depth += -1 if closing else 1
            if not self._depth:
                self._skipping = ""
        elif name in _SKIPPED:
            if not closing and not attributes.endswith("/"):
                self._skipping, self._depth = name, 1
        elif name == "a":
            self._anchor(closing, attributes)
        elif name in _PREFIXES:
            self.page.begin_lines(1 if name == "li" else 2)
            self.page.prefix = "" if closing else _PREFIXES[name]
        elif name in _PARAGRAPHS or name in _LINES:
            self.page.begin_lines(1 if name in _LINES else 2)
            if name == "pre":
                self.page.verbatim = not closing
        elif name in {"td", "th"} and not closing:
            self.page.begin_cell()

    def _anchor(self, closing: bool, attributes: str) -> None:
        self.page.end_link()
        if not closing and (href := _HREF.search(attributes)):
            self.page.begin_link(self._absolute(next(filter(None, href.groups()), "")))

    def _absolute(self, href: str) -> str:
        try:
            url = urljoin(self._base_url, _unescaped(href).strip())
        except ValueError:
            return ""
        is_elsewhere = url.partition("#")[0] != self._base_url.partition("#")[0]
        is_plain = url.startswith(("http://", "https://")) and not re.search(r"[\s()<>]", url)
        return url if is_plain and is_elsewhere else ""


class _Text:
    """Text as it is written: spaces are collapsed, empty lines and list items left out."""

    def __init__(self, limit: int) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._limit = limit
        self._newlines = 0
        self._space = False
        self._target = ""
        self._link_start = -1
        self.prefix = ""
        self.verbatim = False

    @property
    def text(self) -> str:
        return "".join(self._pieces).strip("\n")

    @property
    def is_full(self) -> bool:
        return self._length > self._limit + 2

    def write(self, text: str) -> None:
        if self.verbatim:
            self._write_verbatim(text)
            return
        for start in range(0, len(text), SLICE):
            self._write_words(_SPACES.sub(" ", text[start : start + SLICE]))

    def _write_words(self, words: str) -> None:
        self._space = self._space or words.startswith(" ")
        if words.strip():
            self._append(words.strip())
            self._space = words.endswith(" ")

    def _write_verbatim(self, text: str) -> None:
        if text.startswith("\n"):
            self.begin_lines(1)
        if lines := text.strip("\n"):
            self._append(lines)
            if text.endswith("\n"):
                self.begin_lines(1)

    def begin_lines(self, newlines: int) -> None:
        self._newlines = max(self._newlines, newlines)
        self._space = False

    def begin_cell(self) -> None:
        if self._pieces and not self._newlines:
            self.prefix = "| "
            self._space = True

    def begin_link(self, target: str) -> None:
        self._target = target
        self._link_start = -1

    def end_link(self) -> None:
        """Turn what was written since `begin_link` into a link, if it is on one line."""
        if self._target and self._link_start >= 0:
            words = "".join(self._pieces[self._link_start :])
            if "\n" not in words and "[" not in words:
                self._pieces[self._link_start :] = [f"[{words}]({self._target})"]
                self._length += len(self._target) + 4
        self.begin_link("")

    def _append(self, words: str) -> None:
        lead = "\n" * self._newlines or " " * self._space
        lead = f"{lead if self._pieces else ''}{self.prefix}"
        if lead:
            self._pieces.append(lead)
        if self._link_start < 0:
            self._link_start = len(self._pieces)
        self._pieces.append(words)
        self._length += len(lead) + len(words)
        self._newlines, self._space, self.prefix = 0, False, ""


def _after(source: str, end: str, start: int) -> int:
    found = source.find(end, start)
    return found + len(end) if found >= 0 else -1


def _unescaped(text: str) -> str:
    try:
        return unescape_html(text)
    except ValueError:
        # a character reference with more digits than Python converts
        return text
