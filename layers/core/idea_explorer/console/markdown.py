"""Renders reports as HTML for the console. A report is untrusted: a model wrote it from pages it read.

The HTML has no scripts, styles, forms or images. Links go to http, https and mailto addresses or to the
report's own list of sources, and open with rel="noopener noreferrer". The HTML is sanitised after
rendering, so a bug in the renderer alone is not enough to let markup through.
"""

import re
from collections.abc import Sequence
from html import escape as html_escape
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from idea_explorer.domain.report_phrases import WARNINGS

SCHEMES = {"http", "https", "mailto"}
TAGS = set(
    "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li mark ol p pre s strong sup table tbody td th "
    "thead tr ul".split()
)
ATTRIBUTES = {
    "a": {"href", "target", "title"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "li": {"id"},
    "mark": {"class"},
    "ol": {"start"},
}
SOURCES = "Sources"
MAX_CHARACTERS = 1_000_000
# What markdown-it takes for each of these characters at worst, in microseconds. Text that would take longer
# than MAX_MICROSECONDS is shown as it is.
_COSTS = {
    "!": 60,
    "\n": 50,
    "[": 25,
    "]": 5,
    "*": 15,
    "_": 15,
    "|": 15,
    "<": 10,
    "&": 10,
    "`": 10,
    "~": 10,
}
_COSTLY = re.compile(r"[!\n\[\]*_|<&`~]")
MAX_MICROSECONDS = 500_000
UNFORMATTED = "The rest of this report has too much markup to be formatted."
# bidirectional controls reorder text, so that a line looks different from what it says; half of a surrogate
# pair is no character at all
_UNSHOWABLE = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBERED = re.compile(r"\[[0-9]{1,4}\]")
_OWN_ANCHOR = re.compile(r"#source-[0-9]{1,4}")


def render_report(markdown: str) -> str:
    """Return a fragment of safe HTML."""
    visible = _UNSHOWABLE.sub(lambda m: f"⟦U+{ord(m[0]):04X}⟧", markdown[:MAX_CHARACTERS])
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    end = _find_affordable(visible)
    tokens = parser.parse(visible[:end])
    _number_sources(tokens)
    html = parser.renderer.render(tokens, parser.options, {})
    if rest := visible[end:]:
        html += f"<p><em>{UNFORMATTED}</em></p><pre>{html_escape(rest, quote=False)}</pre>"
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_filter_attribute,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
    )


def _find_affordable(text: str) -> int:
    """Where the lines end that can be formatted within MAX_MICROSECONDS."""
    spent = 0
    for found in _COSTLY.finditer(text):
        spent += _COSTS[found[0]]
        if spent > MAX_MICROSECONDS:
            return text.rfind("\n", 0, found.start()) + 1
    return len(text)


class _Renderer(RendererHTML):
    """markdown-it calls the public methods by token type."""

    def text(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        shown = _escape(tokens[idx].content)
        for mark in WARNINGS:
            shown = shown.replace(_escape(mark), f'<mark class="unverified">{mark}</mark>')
        return shown

    def image(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """A link instead of the image: loading it would tell its server who reads the report."""
        address = str(tokens[idx].attrGet("src") or "")
        label = _escape(tokens[idx].content or address)
        return f'<a href="{_escape(address)}" target="_blank">{label} (image)</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        token = tokens[idx]
        if not str(token.attrGet("href")).startswith("#"):
            token.attrSet("target", "_blank")
        return f"<a{self.renderAttrs(token)}>"

    def table_open(self, *_: object) -> str:
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'

    def table_close(self, *_: object) -> str:
        return "</table></div>"


def _escape(text: str) -> str:
    return nh3.clean_text(text)


def _filter_attribute(tag: str, attribute: str, value: str) -> str | None:
    if (tag, attribute) != ("a", "href"):
        return value
    if _OWN_ANCHOR.fullmatch(value):
        return value
    try:
        return value if urlsplit(value).scheme in SCHEMES else None
    except ValueError:
        return None


def _number_sources(tokens: Sequence[Token]) -> None:
    """Give each source in the final list an anchor, and each citation of it a numbered link."""
    start = _find_sources(tokens)
    if start is None:
        return
    numbers: dict[str, int] = {}
    items = [t for t in tokens[start:] if t.type == "list_item_open" and t.level == 1]
    for number, item in enumerate(items, 1):
        item.attrSet("id", f"source-{number}")
    number = 0
    for token in tokens[start:]:
        if token.type == "list_item_open" and token.level == 1:
            number += 1
        first = next((c for c in token.children or [] if c.type == "link_open"), None)
        if first is not None:
            numbers.setdefault(str(first.attrGet("href")), number)
    for token in tokens[:start]:
        if token.children:
            token.children = _add_numbers(token.children, numbers)


def _find_sources(tokens: Sequence[Token]) -> int | None:
    for index in range(len(tokens) - 1, 0, -1):
        if tokens[index - 1].type == "heading_open" and tokens[index].content == SOURCES:
            return index
    return None


def _add_numbers(children: Sequence[Token], numbers: dict[str, int]) -> list[Token]:
    placed: list[Token] = []
    current: int | None = None
    for child in children:
        if child.type == "link_open":
            current = numbers.get(str(child.attrGet("href")))
        elif child.type == "text" and _NUMBERED.fullmatch(child.content):
            current = None  # the link text is already its number
        placed.append(child)
        if child.type == "link_close" and current is not None:
            placed += _build_reference(current)
    return placed


def _build_reference(number: int) -> list[Token]:
    link = Token("link_open", "a", 1, attrs={"href": f"#source-{number}"})
    label = Token("text", "", 0, content=str(number))
    return [
        Token("sup_open", "sup", 1),
        link,
        label,
        Token("link_close", "a", -1),
        Token("sup_close", "sup", -1),
    ]
