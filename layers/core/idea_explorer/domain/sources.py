"""Match citations with the evidence of a run, however the source is spelled."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from posixpath import dirname, join, normpath
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

from idea_explorer.domain.cited_sources import CitedDocument, read_citations
from idea_explorer.domain.json import Block
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.publication import DOCUMENT
from idea_explorer.domain.text import escape_markdown, one_line
from idea_explorer.domain.tools import Passage, find_file

UNMATCHED = "⚠ unverified"
_WEB = lazy_pattern(r"(?:https?:)?//|www\.", re.IGNORECASE)
# Ends where an address must end, also in scripts that put no space after it.
ADDRESS_CHARS = r"[^\s<>\[\]{}|\\^`\"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\u201c\u201d]+"
_ADDRESS = lazy_pattern(rf"https?://{ADDRESS_CHARS}", re.IGNORECASE)
_PUNCTUATION = "?!.,:;*_~'"
# A scheme has no dot here: `notes.md:12` is a line of a file. No address or path starts with `*`.
_NO_SOURCE = lazy_pattern(r"[a-z][a-z0-9+-]*:|[#*]|\Z", re.IGNORECASE)
_LINES = lazy_pattern(r":\d+(?:[-:]\d+)?\Z")
_UPWARDS = lazy_pattern(r"(?:\.\./)++")
_TRACKING = lazy_pattern(
    r"(?:utm_\w*|gclid|dclid|fbclid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi)(?:=|\Z)"
)
_DEFAULT_PORTS = frozenset({None, 80, 443})
_IN_SEGMENT = "!$&'()*+,;=:@"
_VIEWS = frozenset({"blob", "raw", "blame", "edit", "tree"})


def is_web_address(target: str) -> bool:
    return _WEB.match(target) is not None


def is_citation(target: str) -> bool:
    """Whether a link leads to a web page or a file, and not to an anchor, a mail address or a script."""
    return is_web_address(target) or not _NO_SOURCE.match(target)


@lru_cache(maxsize=512)  # whoever reads a report asks for the same few, several times
def normalize_source(target: str, page: str | None = None) -> str:
    """One key for all spellings of a source. `page` is the repository's address on the web."""
    if not is_web_address(target):
        return _file_key(unquote(target.partition("#")[0].partition("?")[0]))
    try:
        key = _address_key(target)
        file = _file_on(page, key) if page else None
    except ValueError:  # not a valid address, so it matches only itself
        return _without_brackets(target)
    return key if file is None else _file_key(file)


def _address_key(address: str) -> str:
    with_scheme = address if "//" in address[:8] else f"https://{address}"
    parts = urlsplit(_without_brackets(with_scheme.replace("&amp;", "&")))
    host = (parts.hostname or "").rstrip(".").removeprefix("www.")
    if not host.isascii():
        host = host.encode("idna").decode()
    port = "" if parts.port in _DEFAULT_PORTS else f":{parts.port}"
    path = "/".join(_encode(segment) for segment in parts.path.split("/")).rstrip("/")
    given = [pair for pair in parts.query.split("&") if pair and not _TRACKING.match(pair)]
    query = f"?{'&'.join(_encode(pair) for pair in given)}" if given else ""
    return f"{host}{port}{path}{query}"


def _without_brackets(address: str) -> str:
    return address.replace("[", "%5B").replace("]", "%5D")


def _encode(part: str) -> str:
    """Percent-encode in one way, whatever encoding the part came in: `a|b` is `a%7Cb`."""
    return quote(unquote_to_bytes(part), safe=_IN_SEGMENT)


def _file_on(page: str, key: str) -> str | None:
    """The file of the repository that a GitHub address shows, if it shows one."""
    home = _address_key(page)
    raw = home.replace("github.com/", "raw.githubusercontent.com/", 1)
    for root, has_view in ((home, True), (raw, False)):
        if key[: len(root) + 1].lower() != f"{root}/".lower():
            continue
        rest = unquote(key[len(root) + 1 :].partition("?")[0])
        if has_view:
            view, _, rest = rest.partition("/")
            if view not in _VIEWS:
                return None
        # a branch name may contain slashes, so look for ideas/ first
        _, found, inside = f"/{rest}".partition(f"/{RESEARCH_ROOT}/")
        return f"{RESEARCH_ROOT}/{inside}" if found else rest.partition("/")[2]
    return None


def _file_key(path: str) -> str:
    """The path of a file below `ideas/`, whichever folder the link is relative to."""
    path = _LINES.sub("", path).removeprefix("./").lstrip("/")
    upwards = _UPWARDS.match(path)
    ups = upwards.end() // 3 if upwards else 0
    path = path[3 * ups :].rstrip("/")
    if path.startswith(f"{RESEARCH_ROOT}/"):
        return path.removeprefix(f"{RESEARCH_ROOT}/")
    return f"../{path}" if ups > 1 else path  # the report is one folder below ideas/


def resolve_document(target: str, base: str) -> str | None:
    """The path in the repository of the research that a link in the document `base` leads to, if it can lead
    to any."""
    path, _, _ = target.partition("#")[0].partition("?")
    if is_web_address(target) or not is_citation(target) or path.startswith("/"):
        return None
    path = normpath(join(dirname(base), _LINES.sub("", unquote(path))))
    is_research = path.startswith(f"{RESEARCH_ROOT}/") and path.lower().endswith(READABLE)
    return path if is_research else None


def trim_address(address: str) -> str:
    """Remove the punctuation of the sentence around an address, and closing brackets it did not open."""
    opened, closed = address.count("("), address.count(")")
    end = len(address)
    while end:
        last = address[end - 1]
        if last == ")" and closed > opened:
            closed -= 1
        elif last not in _PUNCTUATION:
            break
        end -= 1
    return address[:end]


def strip_tracking(address: str) -> str:
    """The address without the parameters that tell its server who follows the link from where."""
    whole, mark, fragment = address.partition("#")
    page, asked, query = whole.partition("?")
    given = query.replace("&amp;", "&").split("&")
    rest = [pair for pair in given if not _TRACKING.match(pair)]
    if not asked or len(rest) == len(given):
        return address
    return f"{page}{'?' if rest else ''}{'&'.join(rest)}{mark}{fragment}"


def find_addresses(text: str) -> Iterator[str]:
    """Every web address in a text, without the punctuation around it."""
    return (trim_address(found[0]) for found in _ADDRESS.finditer(text))


def _fold_title(title: str) -> str:
    return " ".join(re.findall(r"\w+", title.casefold()))


class Ledger:
    """The sources that a run read or found. `given` are the texts of the request."""

    def __init__(
        self, evidence: Sequence[Passage], page: str | None = None, given: Sequence[str] = ()
    ) -> None:
        self._page = page
        self._texts = [*(passage.text for passage in evidence), *given]
        self._mentioned: set[str] | None = None
        self._keys: dict[str, str] = {}
        self._passages: dict[str, Passage] = {}
        for passage in evidence:
            key = normalize_source(passage.source, page)
            known = self._passages.get(key)
            self._passages[key] = _merge(known, passage) if known else passage
        for key, passage in [*self._passages.items()]:
            if (file := find_file(key)) not in self._passages:  # it may be cited without the page
                self._passages[file] = replace(passage, source=find_file(passage.source))
        titled = ((_fold_title(passage.title), key) for key, passage in self._passages.items())
        self._titles = {title: key for title, key in titled if title}

    def key(self, target: str) -> str:
        """The key of a target. The key of a folder is that of the document in it, if it was read."""
        if (known := self._keys.get(target)) is not None:
            return known
        key = normalize_source(target, self._page)
        inside = f"{key}/{DOCUMENT}"
        if key not in self._passages:
            key = inside if inside in self._passages else key
        self._keys[target] = key
        return key

    def find(self, key: str) -> Passage | None:
        return self._passages.get(key)

    def mentions(self, key: str) -> bool:
        """Whether an address occurs in the evidence or the request, so that repeating it cites nothing."""
        if self._mentioned is None:
            found = (address for text in self._texts for address in find_addresses(text))
            self._mentioned = {normalize_source(address, self._page) for address in found}
        return key in self._mentioned

    def find_by_title(self, title: str) -> Passage | None:
        key = self._titles.get(_fold_title(title))
        return None if key is None else self._passages[key]

    def link(self, target: str, key: str) -> str:
        """The target of a link in a report; for one of our documents, its path from the report."""
        passage = self._passages.get(key)
        named = passage.source if passage else ""
        is_ours = named.startswith(f"{RESEARCH_ROOT}/") and not _LINES.search(named)
        if target[:4].lower() == "www.":
            return f"https://{target}"
        if not is_ours or is_web_address(target) or target.startswith("../"):
            return target
        _, mark, fragment = target.partition("#")
        return f"../{quote(key)}{mark}{fragment}"


def _merge(known: Passage, new: Passage) -> Passage:
    """What is known of a source. The first passage counts, unless a search only found the page and its text
    was read later."""
    if known.text or not new.text:
        return known
    return replace(new, title=new.title or known.title, age=new.age or known.age)


def collect_quotes(
    content: Sequence[Block], documents: Sequence[CitedDocument] = ()
) -> dict[str, str]:
    """The text quoted from each page and document, by its key. `documents` are those of the conversation."""
    quotes: dict[str, str] = {}
    for block in content:
        for target, words in read_citations(block, documents):
            quotes.setdefault(normalize_source(target), words)
    return quotes


NOT_FOUND = "not among what this run read or found"
_QUOTE_LENGTH = 400
_TITLE_LENGTH = 100
_TAG_LIKE = lazy_pattern(r"[!?]|[a-z][a-z0-9-]*+(?:/|\Z)", re.IGNORECASE)
_UNSAFE = lazy_pattern(r"[\s<>\[\]]")


@dataclass(slots=True)
class NumberedSource:
    """`passage` is None if the run did not read or find the source. A source that the model only named
    has no target; `title` is the model's name for it."""

    number: int
    target: str
    passage: Passage | None
    title: str = ""

    def mark(self, link: str) -> str:
        return link if self.passage else f"{link} {UNMATCHED}"

    def render(self, quoted: str) -> str:
        passage = self.passage
        if passage is None:
            # a trailing dash and the `>` after it could end an open HTML comment
            target = re.sub(r"-\Z", "%2D", self.target)
            address = (
                f"<{target if is_web_address(target) else _spell_path(target)}>" if target else ""
            )
            name = ": ".join(part for part in (self.title, address) if part)
            return f"{self.number}. {name} {UNMATCHED}: {NOT_FOUND}"
        # all pages of a PDF on the web are one source, of which any may be cited
        name = passage.title or passage.source.partition("#page=")[0]
        title = escape_markdown(one_line(name, _TITLE_LENGTH))
        dates = [passage.age, passage.read_on and f"read {passage.read_on}"]
        dated = "".join(f", {escape_markdown(date)}" for date in dates if date)
        line = f"{self.number}. [{title}]({self.target}){dated} `{passage.sha256[:12]}`"
        return f"{line}: “{escape_markdown(one_line(quoted, _QUOTE_LENGTH))}”" if quoted else line


def _spell_path(path: str) -> str:
    """A path that is neither a tag nor a mail address when it stands in angle brackets."""
    path = path.replace("@", "%40")
    return f"./{path}" if _TAG_LIKE.match(path) else path


def escape_target(target: str) -> str:
    """Escape a target for use in a markdown link."""
    if target[:4].lower() == "www.":
        target = f"https://{target}"
    if target.count("(") != target.count(")"):
        target = target.replace("(", "%28").replace(")", "%29")
    return _UNSAFE.sub(lambda found: quote(found[0]), target)
