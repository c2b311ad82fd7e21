"""Renders reports as HTML for the console. A report is untrusted: a model wrote it from pages it read.

The HTML has no scripts, styles, forms or images. Links go to http, https and mailto addresses, to the
report's own lists of sources and claims, or to the console's view of a document of the team, and open with
rel="noopener noreferrer". The HTML is sanitised after rendering, so a bug in the renderer alone is not
enough to let markup through.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape as html_escape
from urllib.parse import quote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from idea_explorer.domain.claims import Claim, ExplainedClaim, Verdict
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.report_phrases import WARNINGS
from idea_explorer.domain.source_lists import is_source_heading
from idea_explorer.domain.sources import resolve_document

SCHEMES = {"http", "https", "mailto"}
TAGS = set(
    "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li mark ol p pre s strong table tbody td th "
    "thead tr ul".split()
)
ATTRIBUTES = {
    "a": {"class", "href", "target", "title"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "li": {"id"},
    "mark": {"class"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "td": {"class"},
    "th": {"class"},
}
# Where a report stands that has no folder yet: one below the research, so it may link to other folders.
UNPUBLISHED = f"{RESEARCH_ROOT}/unpublished/research.md"
CLAIMS = "What the sources say"
# How well a sentence is supported: the sign after it, and the words for it.
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "supported": ("✓", "Supported by its source"),
    "partly": ("◐", "Partly supported by its source"),
    "unsupported": ("✕", "Not supported by its source"),
    "unchecked": ("○", "Not checked against its source"),
}
# Around the number of a claim, where the sentence ends. A report's own characters of this kind are removed.
_BEGIN, _END = "\ue000", "\ue001"
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
_OWN_ANCHOR = re.compile(r"#(?:source|claim)-[0-9]{1,4}|#/research/[\w%./~-]{1,400}", re.ASCII)
_CLAIM = re.compile(f"{_BEGIN}([0-9]{{1,3}}){_END}")
_ALIGNMENTS = {"text-align:right": "end", "text-align:center": "center"}


def render_report(
    markdown: str, claims: Sequence[ExplainedClaim] = (), *, base: str | None = UNPUBLISHED
) -> str:
    """Return a fragment of safe HTML. `claims` are marked where they stand, and explained at the end. `base`
    is the document's path, from which its links lead to others; without one they are plain text."""
    given = markdown[:MAX_CHARACTERS].replace(_BEGIN, "").replace(_END, "")
    visible = _UNSHOWABLE.sub(lambda m: f"⟦U+{ord(m[0]):04X}⟧", given)
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    end = _find_affordable(visible)
    tokens = parser.parse(_mark_claims(visible[:end], [each.claim for each in claims]))
    numbers = _number_sources(tokens)
    verdicts = [each.claim.verdict for each in claims]
    html = parser.renderer.render(tokens, parser.options, {"base": base})
    html = _CLAIM.sub(lambda found: _render_mark(int(found[1]), verdicts), html)
    if rest := visible[end:]:
        html += f"<p><em>{UNFORMATTED}</em></p><pre>{html_escape(rest, quote=False)}</pre>"
    if claims:
        html += _render_claims(claims, numbers)
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

    def link_open(
        self, tokens: Sequence[Token], idx: int, _options: object, env: Mapping[str, str | None]
    ) -> str:
        token = tokens[idx]
        address = str(token.attrGet("href"))
        if path := _find_document(address, env["base"]):
            token.attrSet("href", f"#/research/{quote(path)}")
        elif not address.startswith("#"):
            token.attrSet("target", "_blank")
        return f"<a{self.renderAttrs(token)}>"

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return f'<pre tabindex="0"><code>{_escape_code(tokens[idx].content)}</code></pre>'

    def code_block(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return self.fence(tokens, idx)

    def th_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        aligned = _ALIGNMENTS.get(str(tokens[idx].attrGet("style")))
        return f'<{tokens[idx].tag} class="{aligned}">' if aligned else f"<{tokens[idx].tag}>"

    td_open = th_open

    def table_open(self, *_: object) -> str:
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'

    def table_close(self, *_: object) -> str:
        return "</table></div>"


def _find_document(address: str, base: str | None) -> str | None:
    path = resolve_document(address, base) if base else None
    is_beside = path is not None and path.startswith(UNPUBLISHED.removesuffix("research.md"))
    return None if is_beside else path


def _escape(text: str) -> str:
    return nh3.clean_text(text)


def _escape_code(text: str) -> str:
    return html_escape(_CLAIM.sub("", text), quote=False)


def _filter_attribute(tag: str, attribute: str, value: str) -> str | None:
    if (tag, attribute) != ("a", "href"):
        return value
    if _OWN_ANCHOR.fullmatch(value):
        return value
    try:
        return value if urlsplit(value).scheme in SCHEMES else None
    except ValueError:
        return None


def _mark_claims(report: str, claims: Sequence[Claim]) -> str:
    """The report with a mark after each claim that it has in the claim's own words."""
    parts: list[str] = []
    position = 0
    for number, claim in enumerate(claims, 1):
        at = report.find(claim.text, position)
        if at < 0 or not claim.text:
            continue
        # the mark of a row stands in its last cell
        said = claim.text.rstrip(" |") if claim.text.startswith("|") else claim.text
        parts += [report[position : at + len(said)], f"{_BEGIN}{number}{_END}"]
        position = at + len(said)
    return "".join([*parts, report[position:]])


def _render_mark(number: int, verdicts: Sequence[Verdict]) -> str:
    if not 1 <= number <= len(verdicts):
        return ""
    sign, words = VERDICTS[verdicts[number - 1]]
    return (
        f'<a class="claim {verdicts[number - 1]}" href="#claim-{number}" title="{words}">{sign}</a>'
    )


def _render_claims(claims: Sequence[ExplainedClaim], numbers: Mapping[str, int]) -> str:
    items = "".join(_render_claim(n, each, numbers) for n, each in enumerate(claims, 1))
    return f'<div class="claims"><h2>{CLAIMS}</h2><ol>{items}</ol></div>'


def _render_claim(number: int, explained: ExplainedClaim, numbers: Mapping[str, int]) -> str:
    claim = explained.claim
    reason = f": {html_escape(claim.reason)}" if claim.reason else ""
    quotes = "".join(
        f"<blockquote>{_render_cite(numbers.get(said.target))}{html_escape(said.text)}</blockquote>"
        for said in explained.excerpts
    )
    words = VERDICTS[claim.verdict][1]
    return f'<li id="claim-{number}"><p><strong>{words}</strong>{reason}</p>{quotes}</li>'


def _render_cite(number: int | None) -> str:
    return f'<a class="cite" href="#source-{number}">[{number}]</a> ' if number else ""


def _number_sources(tokens: Sequence[Token]) -> dict[str, int]:
    """Give each source in the final list an anchor, and each citation of it a numbered link. Returns the
    numbers by the targets of the links."""
    start = _find_sources(tokens)
    numbers: dict[str, int] = {}
    if start is None:
        return numbers
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
    return numbers


def _find_sources(tokens: Sequence[Token]) -> int | None:
    for index in range(len(tokens) - 1, 0, -1):
        if tokens[index - 1].type == "heading_open" and is_source_heading(tokens[index].content):
            return index
    return None


def _add_numbers(children: Sequence[Token], numbers: dict[str, int]) -> list[Token]:
    placed: list[Token] = []
    current: int | None = None
    opened: Token | None = None
    for child in children:
        if child.type == "link_open":
            opened, current = child, numbers.get(str(child.attrGet("href")))
        elif opened and current and child.type == "text" and _NUMBERED.fullmatch(child.content):
            # the text of the link is its number already
            opened.attrs = {"class": "cite", "href": f"#source-{current}"}
            current = None
        placed.append(child)
        if child.type == "link_close" and current is not None:
            placed += _build_reference(current)
            current = None
    return placed


def _build_reference(number: int) -> list[Token]:
    # in brackets, so that it is no part of a number before it when somebody copies the text
    link = Token("link_open", "a", 1, attrs={"class": "cite", "href": f"#source-{number}"})
    label = Token("text", "", 0, content=f"[{number}]")
    return [link, label, Token("link_close", "a", -1)]
