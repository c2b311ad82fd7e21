"""Find every citation in a markdown text, in one pass over the text.

Citations are inline links, reference links, footnotes, numbers in brackets, and addresses, whether plain,
in angle brackets or in HTML. Code, images and comments hold none. A hostile text costs no more than
linear time: the result of every look ahead is remembered.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.markdown import SHARED_TEXTS, Span, find_prose
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.sources import ADDRESS_CHARS, trim_address

Form = Literal["inline", "reference", "note", "number", "address", "html"]

MAX_LABEL = 200  # characters

_BLOCK = r"\n\s*\n|\n(?=[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|[>|]))"
_EVENT = lazy_pattern(
    rf"\\[!-/:-@\[-`{{-~]|`+|!?\[|\]|<|{_BLOCK}|https?://|(?<![\w./@-])www\.(?=\w)", re.IGNORECASE
)
_TICKS = lazy_pattern(r"`+")
BREAK = lazy_pattern(_BLOCK)
# possessive throughout, so that nothing is matched a second way
_GAP = r"[ \t]*+(?:\n[ \t]*+)?+"
_DESTINATION = lazy_pattern(
    rf"\({_GAP}(?:<(?P<angled>[^<>\n]*)>|(?P<plain>[^\s()<]*(?:\([^\s()]*\)[^\s()]*)*))"
    rf"(?:[ \t\n]{_GAP}(?:\"[^\"]*\"|'[^']*'))?{_GAP}\)"
)
_NAME = lazy_pattern(rf"\[([^\[\]\n]{{0,{MAX_LABEL}}})\]")
_NUMBERS = lazy_pattern(r"\d{1,3}(?:[ \t]*[,;][ \t]*\d{1,3}){0,20}\Z")
_ANGLED = lazy_pattern(r"<(https?://[^\s<>\[\]]+)>", re.IGNORECASE)
_ADDRESS = lazy_pattern(ADDRESS_CHARS)
_TAG = lazy_pattern(
    r"</?[a-z][\w-]*+(?:\s++[\w:.-]++(?:\s*+=\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'=<>`]++))?)*\s*+/?>",
    re.IGNORECASE,
)
_HREF = lazy_pattern(r"<a\s[^<>]*?\bhref\s*=\s*[\"']?([^\"'<>\s]+)", re.IGNORECASE)
_DEFINITION = lazy_pattern(
    rf"^ {{0,3}}\[(?P<name>[^\[\]\n]{{1,{MAX_LABEL}}})\]:[ \t]*(?P<rest>[^\n]*)$", re.MULTILINE
)
_DEFINED = lazy_pattern(
    r"<?(?P<target>[^\s<>\[\]\\]+)>?(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t\r]*\Z"
)


class Link(NamedTuple):
    """A citation. `label` is the markdown that a reader sees; `target` is an address or path, or the name
    of a definition, a footnote or a numbered source."""

    form: Form
    start: int
    end: int
    label: str
    target: str
    target_span: Span = (0, 0)

    @property
    def names(self) -> list[str]:
        """The numbers that a link such as `[1, 2]` names."""
        return [name.strip() for name in re.split("[,;]", self.target)]


@dataclass(frozen=True, slots=True)
class LinkDefinition:
    """`[name]: address`, or a footnote, whose text may contain addresses."""

    name: str
    target: str
    start: int
    end: int

    @property
    def is_note(self) -> bool:
        return self.name.startswith("^")


@dataclass(frozen=True, slots=True)
class LinkedText:
    """The parts of a text that are not code, and the definitions and links in them."""

    prose: Sequence[Span]
    defined: Sequence[LinkDefinition]
    links: Sequence[Link]


@lru_cache(maxsize=SHARED_TEXTS)
def read_links(text: str) -> LinkedText:
    prose = find_prose(text)
    defined = find_definitions(text, prose)
    return LinkedText(prose, defined, find_links(text, prose, defined))


def find_definitions(text: str, prose: Sequence[Span]) -> list[LinkDefinition]:
    """In order; where a name is defined twice, the first definition counts."""
    found: list[LinkDefinition] = []
    for start, end in prose:
        for match in _DEFINITION.finditer(text, start, end):
            name, defined = fold_name(match["name"]), _DEFINED.match(match["rest"])
            if name.startswith("^"):
                found.append(LinkDefinition(name, "", match.start(), match.start("rest")))
            elif defined:
                found.append(LinkDefinition(name, defined["target"], match.start(), match.end()))
    return found


def fold_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def find_links(text: str, prose: Sequence[Span], defined: Sequence[LinkDefinition]) -> list[Link]:
    """The links of a text, in order and without overlap. `prose` are the parts that are not code."""
    return _Scanner(text, prose, defined).scan()


def select_links(links: Sequence[Link], start: int, end: int) -> Sequence[Link]:
    """The links that begin between two positions."""
    first, last = (bisect_left(links, at, key=lambda link: link.start) for at in (start, end))
    return links[first:last]


class _Scanner:
    def __init__(self, text: str, prose: Sequence[Span], defined: Sequence[LinkDefinition]) -> None:
        self.text = text
        self.prose = prose
        self.names = {definition.name for definition in defined}
        self.skips = iter([(definition.start, definition.end) for definition in defined])
        self.found: list[Link] = []

    def scan(self) -> list[Link]:
        skip = next(self.skips, None)
        for start, end in self.prose:
            self._begin(start, end)
            for event in _EVENT.finditer(self.text, start, end):
                at = event.start()
                while skip and skip[1] <= at:
                    skip = next(self.skips, None)
                is_defining = skip is not None and skip[0] <= at
                if at >= self.position and not is_defining:
                    self._handle(at, event.group())
        return self.found

    def _begin(self, start: int, end: int) -> None:
        self.start, self.end, self.position = start, end, start
        self.openers: list[tuple[int, bool]] = []  # position, and whether it opens an image
        self.inactive = -1  # brackets opened before this contain a link, so they cannot be one
        self.closers: dict[int, list[int]] | None = None
        self.breaks: list[int] = []
        self.ahead: dict[str, int] = {}

    def _next(self, wanted: str, at: int) -> int:
        """The next position of `wanted`, or -1. Remembered, so that asking again costs nothing."""
        known = self.ahead.get(wanted, 0)
        if known >= at or known < 0:
            return known
        self.ahead[wanted] = found = self.text.find(wanted, at, self.end)
        return found

    def _handle(self, at: int, event: str) -> None:
        match event[0]:
            case "\\":
                self.position = at + 2
            case "`":
                self._skip_code(at, len(event))
            case "[" | "!":
                self.openers.append((at, event[0] == "!"))
            case "]":
                self._close_bracket(at)
            case "<":
                self._read_angle(at)
            case "\n":
                self.openers.clear()
            case _:
                self._read_address(at)

    def _skip_code(self, at: int, length: int) -> None:
        """Skip a code span, which ends at as many backticks within the same block."""
        if self.closers is None:
            self.closers = {}
            for run in _TICKS.finditer(self.text, self.start, self.end):
                self.closers.setdefault(len(run[0]), []).append(run.start())
            for runs in self.closers.values():
                runs.reverse()
            self.breaks = [
                found.start() for found in BREAK.finditer(self.text, self.start, self.end)
            ]
        runs = self.closers.get(length, [])
        while runs and runs[-1] <= at:
            runs.pop()
        self.position = at + length
        index = bisect_right(self.breaks, at)
        limit = self.breaks[index] if index < len(self.breaks) else self.end
        if runs and runs[-1] < limit:
            self.position = runs[-1] + length

    def _close_bracket(self, at: int) -> None:
        if not self.openers:
            return
        start, is_image = self.openers.pop()
        following = self.text[at + 1 : at + 2]
        if following == "(" and (found := _DESTINATION.match(self.text, at + 1, self.end)):
            kind = "angled" if found["angled"] is not None else "plain"
            self._add("inline", start, at, found.end(), found[kind], found.span(kind), is_image)
            return
        if is_image:
            name_of_image = _NAME.match(self.text, at + 1, self.end)
            self.position = name_of_image.end() if name_of_image else at + 1
            return
        if at - start > MAX_LABEL:
            return
        name = self.text[start + 1 : at]
        if _NUMBERS.match(name):
            self._add("number", start, at, at + 1, name)
        elif following == "[" and (found := _NAME.match(self.text, at + 1, self.end)):
            named = fold_name(found[1] or name)
            if named in self.names and not named.startswith("^"):
                self._add("reference", start, at, found.end(), named)
        elif (folded := fold_name(name)) in self.names:
            self._add("note" if name.startswith("^") else "reference", start, at, at + 1, folded)

    def _add(
        self,
        form: Form,
        start: int,
        closed: int,
        end: int,
        target: str,
        span: Span = (0, 0),
        is_image: bool = False,
    ) -> None:
        if not is_image and start < self.inactive:
            return
        while self.found and self.found[-1].start > start:
            self.found.pop()  # a link inside the label is part of the label
        self.position = end
        if form != "number" and not is_image:
            self.inactive = start
        if not is_image:
            label = self.text[start + 1 : closed]
            self.found.append(Link(form, start, end, label, target, span))

    def _read_angle(self, at: int) -> None:
        if self.text.startswith("<!--", at):
            self._skip_comment(at)
        elif found := _ANGLED.match(self.text, at, self.end):
            self.found.append(Link("address", at, found.end(), "", found[1]))
            self.position = found.end()
        elif tag := _TAG.match(self.text, at, self.end):
            self.position = tag.end()
            if href := _HREF.match(self.text, at, tag.end()):
                closing = self._next("</a>", tag.end())
                if 0 <= closing - tag.end() <= MAX_LABEL:
                    self.position = closing + len("</a>")
                shown = min(max(closing, tag.end()), tag.end() + MAX_LABEL)
                label = self.text[tag.end() : shown]
                self.found.append(Link("html", at, self.position, label, href[1]))

    def _skip_comment(self, at: int) -> None:
        """Skip a comment, unless it never ends; one that starts within a line must end in its block."""
        end = self._next("-->", at + 4)
        if end < 0:
            return
        gap = self._next("\n\n", at)
        _, newline, indent = self.text[max(self.start, at - 4) : at].rpartition("\n")
        begins_line = not indent.strip(" ") and bool(newline or at - self.start < 4)
        if begins_line or not 0 <= gap < end:
            self.position = end + 3

    def _read_address(self, at: int) -> None:
        found = _ADDRESS.match(self.text, at, self.end)
        assert found is not None
        address = trim_address(found[0])
        if address.partition("//")[2] or (
            address.lower().startswith("www.") and "." in address[4:]
        ):
            self.found.append(Link("address", at, at + len(address), "", address))
            self.position = at + len(address)
