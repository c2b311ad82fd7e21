"""When two spellings name the same source, and what of the evidence a citation means."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.text import escape_markdown, one_line

UNMATCHED = "⚠ unverified"
DOCUMENT = "research.md"  # what a link to the folder of a document means
_WEB = re.compile(r"(?:https?:)?//|www\.", re.IGNORECASE)
# Ends where an address cannot go on, also in scripts that put no space after it.
ADDRESS_CHARS = r"[^\s<>\[\]{}|\\^`\"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\u201c\u201d]+"
_ADDRESS = re.compile(rf"https?://{ADDRESS_CHARS}", re.IGNORECASE)
_TRAILING = "?!.,:;*_~'"
# A scheme has no dot here: `notes.md:12` is a line of a file.
_NO_SOURCE = re.compile(r"[a-z][a-z0-9+-]*:|#|\Z", re.IGNORECASE)
_LINES = re.compile(r":\d+(?:[-:]\d+)?\Z")
_TRACKING = re.compile(
    r"(?:utm_\w*|gclid|dclid|fbclid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi)(?:=|\Z)"
)
_DEFAULT_PORTS = frozenset({None, 80, 443})
_IN_SEGMENT = "!$&'()*+,;=:@"
_VIEWS = frozenset({"blob", "raw", "blame", "edit", "tree"})


def is_web_address(target: str) -> bool:
    return _WEB.match(target) is not None


def is_citation(target: str) -> bool:
    """A page on the web, or a file of the team; not an anchor, a mail address or worse."""
    return is_web_address(target) or not _NO_SOURCE.match(target)


def normalize_source(target: str, page: str | None = None) -> str:
    """The same for spellings of the same source. `page` is where the repository is on the web."""
    if not is_web_address(target):
        return _file_key(unquote(target.partition("#")[0].partition("?")[0]))
    try:
        key = _address_key(target)
        file = _file_on(page, key) if page else None
    except ValueError:  # a model writes what it likes: such a source is like no other
        return _without_brackets(target)
    return key if file is None else _file_key(file)


def _address_key(address: str) -> str:
    with_scheme = address if "//" in address[:8] else f"https://{address}"
    parts = urlsplit(_without_brackets(with_scheme.replace("&amp;", "&")))
    host = (parts.hostname or "").rstrip(".").removeprefix("www.")
    if not host.isascii():
        host = host.encode("idna").decode()
    port = "" if parts.port in _DEFAULT_PORTS else f":{parts.port}"
    path = "/".join(_spelled(segment) for segment in parts.path.split("/")).rstrip("/")
    given = [pair for pair in parts.query.split("&") if pair and not _TRACKING.match(pair)]
    query = f"?{'&'.join(_spelled(pair) for pair in given)}" if given else ""
    return f"{host}{port}{path}{query}"


def _without_brackets(address: str) -> str:
    return address.replace("[", "%5B").replace("]", "%5D")


def _spelled(part: str) -> str:
    """One spelling for all ways to encode the same characters."""
    if "%" not in part and part.isascii():
        return part
    return quote(unquote_to_bytes(part), safe=_IN_SEGMENT)


def _file_on(page: str, key: str) -> str | None:
    """The file of the repository that an address of GitHub shows; None where it shows none."""
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
        # a branch may have slashes in its name; what is cited is below ideas/ as a rule
        _, found, inside = f"/{rest}".partition(f"/{RESEARCH_ROOT}/")
        return f"{RESEARCH_ROOT}/{inside}" if found else rest.partition("/")[2]
    return None


def _file_key(path: str) -> str:
    """A file by its path below `ideas/`, from wherever a link was meant to start."""
    path = _LINES.sub("", path).removeprefix("./").lstrip("/")
    ups = 0
    while path.startswith("../"):
        path = path.removeprefix("../")
        ups += 1
    path = path.rstrip("/")
    if path.startswith(f"{RESEARCH_ROOT}/"):
        return path.removeprefix(f"{RESEARCH_ROOT}/")
    return f"../{path}" if ups > 1 else path  # the report stands one folder below ideas/


def find_addresses(text: str) -> Iterator[str]:
    """The addresses of web pages in a text of any kind."""
    return (trim_address(found[0]) for found in _ADDRESS.finditer(text))


def trim_address(address: str) -> str:
    """An address without what the sentence around it adds: punctuation, and brackets it did not open."""
    opened, closed = address.count("("), address.count(")")
    end = len(address)
    while end:
        last = address[end - 1]
        if last == ")" and closed > opened:
            closed -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return address[:end]


def _plain(title: str) -> str:
    return " ".join(re.findall(r"\w+", title.casefold()))


class Ledger:
    """The evidence of a run, by what may be cited of it. `given` is what the person wrote who asked."""

    def __init__(
        self, evidence: Sequence[Passage], page: str | None = None, given: Sequence[str] = ()
    ) -> None:
        self._page = page
        self._texts = [*(passage.text for passage in evidence), *given]
        self._mentioned: set[str] | None = None
        self._keys: dict[str, str] = {}
        first_wins = list(reversed(evidence))
        self._passages = {normalize_source(passage.source, page): passage for passage in first_wins}
        titled = ((_plain(passage.title), key) for key, passage in self._passages.items())
        self._titles = {title: key for title, key in titled if title}

    def key(self, target: str) -> str:
        """What a target means. A folder means the document in it, where that was read."""
        if (known := self._keys.get(target)) is not None:
            return known
        key = normalize_source(target, self._page)
        inside = f"{key}/{DOCUMENT}"
        if key not in self._passages and inside in self._passages:
            key = inside
        self._keys[target] = key
        return key

    def find(self, key: str) -> Passage | None:
        return self._passages.get(key)

    def mentions(self, key: str) -> bool:
        """Whether an address stands in what was read or asked: to repeat it is no citation of its own."""
        if self._mentioned is None:
            found = (address for text in self._texts for address in find_addresses(text))
            self._mentioned = {normalize_source(address, self._page) for address in found}
        return key in self._mentioned

    def titled(self, text: str) -> str | None:
        """The source of this title, for a list that names its sources without an address."""
        return self._titles.get(_plain(text))

    def link(self, target: str, key: str) -> str:
        """The target as it leads from a report to a document of the team; any other as it is."""
        passage = self._passages.get(key)
        named = passage.source if passage else ""
        is_ours = named.startswith(f"{RESEARCH_ROOT}/") and not _LINES.search(named)
        if target[:4].lower() == "www.":
            return f"https://{target}"
        if not is_ours or is_web_address(target) or target.startswith("../"):
            return target
        _, mark, fragment = target.partition("#")
        return f"../{quote(key)}{mark}{fragment}"


def collect_quotes(content: Sequence[Block]) -> dict[str, str]:
    """What was quoted from each page, by address."""
    quotes: dict[str, str] = {}
    for block in content:
        citations = block.get("citations")
        for citation in citations if isinstance(citations, list) else []:
            if isinstance(citation, dict) and (url := text_of(citation.get("url"))):
                quotes.setdefault(normalize_source(url), text_of(citation.get("cited_text")))
    return quotes


NOT_FOUND = "not among what this run read or found"
_QUOTE_LENGTH = 160
_TITLE_LENGTH = 100
_UNSAFE = re.compile(r"[\s<>\[\]]")


@dataclass(slots=True)
class NumberedSource:
    """`passage` is None where nothing that was read or found matches. A source that was only named has
    no target; `title` is what the model called it."""

    number: int
    target: str
    passage: Passage | None
    title: str = ""

    def marked(self, link: str) -> str:
        return link if self.passage else f"{link} {UNMATCHED}"

    def line(self, quoted: str) -> str:
        passage = self.passage
        if passage is None:
            # an address that ends in dashes must not end a comment that was left open
            target = re.sub(r"-\Z", "%2D", self.target)
            address = f"<{target}>" if target else ""
            said = ": ".join(part for part in (self.title, address) if part)
            return f"{self.number}. {said} {UNMATCHED}: {NOT_FOUND}"
        title = escape_markdown(one_line(passage.title or passage.source, _TITLE_LENGTH))
        age = f", {escape_markdown(passage.age)}" if passage.age else ""
        line = f"{self.number}. [{title}]({self.target}){age} `{passage.sha256[:12]}`"
        return f"{line}: “{escape_markdown(one_line(quoted, _QUOTE_LENGTH))}”" if quoted else line


def escape_target(target: str) -> str:
    """A target as it can stand in a link."""
    if target[:4].lower() == "www.":
        target = f"https://{target}"
    if target.count("(") != target.count(")"):
        target = target.replace("(", "%28").replace(")", "%29")
    return _UNSAFE.sub(lambda found: quote(found[0]), target)
