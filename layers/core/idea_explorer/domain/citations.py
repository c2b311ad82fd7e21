"""Checking a report's citations against the evidence, and listing its sources.

Every link in the report is a claim that a source was read or found in this run. One that matches
nothing in the ledger is marked before the report is stored, so nobody has to take it on trust.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.text import escaped, one_line

UNMATCHED = "⚠ unverified"
_QUOTE_LENGTH = 160

# A link, or something in which a link is not one: fenced code, inline code, an image.
_TOKEN = re.compile(
    r"(?P<skip>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`|!\[[^\]]*\]\([^)\s]*\))"
    r"|\[(?P<label>\[\d+\]|(?:[^\[\]\\]|\\.)*)\]\((?P<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class CheckedReport:
    text: str
    citations: int
    unmatched: int


@dataclass(slots=True)
class _Source:
    number: int
    target: str
    label: str
    passage: Passage | None


def check_citations(
    report: str, evidence: Sequence[Passage], quotes: dict[str, str] | None = None
) -> CheckedReport:
    """Number the sources, mark what matches nothing, and end the report with the list."""
    ledger = {_key(passage.source): passage for passage in reversed(evidence)}
    sources: dict[str, _Source] = {}
    counts = {"citations": 0, "unmatched": 0}

    def replaced(match: re.Match[str]) -> str:
        target = match["target"]
        if match["skip"] is not None or not _is_citation(target):
            return match.group()
        key = _key(target)
        number = len(sources) + 1
        source = sources.setdefault(key, _Source(number, target, match["label"], ledger.get(key)))
        counts["citations"] += 1
        is_number = match["label"].startswith("[")
        link = f"[[{source.number}]]({target})" if is_number else match.group()
        if source.passage is None:
            counts["unmatched"] += 1
            return f"{link} {UNMATCHED}"
        return link

    text = _TOKEN.sub(replaced, report)
    if sources:
        lines = [_line(source, quotes or {}) for source in sources.values()]
        text = f"{text.rstrip()}\n\n## Sources\n\n" + "\n".join(lines)
    return CheckedReport(text, counts["citations"], counts["unmatched"])


def cited_passages(content: Sequence[Block]) -> dict[str, str]:
    """What was quoted from each page, by address."""
    quotes: dict[str, str] = {}
    for block in content:
        citations = block.get("citations")
        for citation in citations if isinstance(citations, list) else []:
            if isinstance(citation, dict) and (url := text_of(citation.get("url"))):
                quotes.setdefault(_key(url), text_of(citation.get("cited_text")))
    return quotes


def _is_citation(target: str) -> bool:
    """A page on the web, or a document of the team; not an anchor, a mail address or worse."""
    if target.startswith(("http://", "https://")):
        return True
    return not re.match(r"[a-z][a-z0-9+.-]*:|#|/", target, re.IGNORECASE)


def _key(source: str) -> str:
    """The same for spellings of the same source."""
    if source.startswith(("http://", "https://")):
        try:
            parts = urlsplit(unquote(source))
        except ValueError:  # a model writes what it likes: such a source is like no other
            return source
        query = f"?{parts.query}" if parts.query else ""
        return (
            f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}{query}".lower()
        )
    path = unquote(source).partition("#")[0].removeprefix("./")
    while path.startswith("../"):
        path = path.removeprefix("../")
    return path.removeprefix(f"{RESEARCH_ROOT}/")


def _line(source: _Source, quotes: dict[str, str]) -> str:
    passage = source.passage
    if passage is None:
        return (
            f"{source.number}. <{source.target}> {UNMATCHED}: not among what this run read or found"
        )
    title = escaped(one_line(passage.title or passage.source, 100))
    age = f", {escaped(passage.age)}" if passage.age else ""
    line = f"{source.number}. [{title}]({source.target}){age} `{passage.sha256[:12]}`"
    quote = quotes.get(_key(source.target)) or ""
    return f"{line}: “{escaped(one_line(quote, _QUOTE_LENGTH))}”" if quote else line
