"""Read the entries of a list of sources that a model wrote: the sources that each names, and its title."""

from collections.abc import Mapping

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.source_lists import ListedSource, SourceList
from idea_explorer.domain.sources import NOT_FOUND, UNMATCHED, Ledger, is_citation
from idea_explorer.domain.text import one_line

_TITLE_LENGTH = 200
_OUR_ENTRY = lazy_pattern(rf"`[0-9a-f]{{12}}`(?:: “|[ \t\r]*\n?\Z)|{UNMATCHED}: {NOT_FOUND}\s*\Z")
_ANGLED = lazy_pattern(rf"<([^<>\n]+)>(?= {UNMATCHED})")
_PATH = lazy_pattern(r"[\w./-]++")
_FILE = lazy_pattern(r"\w[\w./-]*\.md\b")
_MAX_PATH = 200
# A run of dashes is read once, from its first dash.
_CODE_OR_COMMENT = lazy_pattern(r"[`~]+|<!-+|(?<!-)-++>+")
_PUNCTUATION = " \t\r\n-–—:,.;()<>|"


class EntryReader:
    """Reads each entry once: every number that cites it asks again. `defined` are the targets of the
    report's link definitions by name."""

    def __init__(self, text: str, ledger: Ledger, defined: Mapping[str, str]) -> None:
        self._text = text
        self._ledger = ledger
        self._defined = defined
        self._targets: dict[int, list[str]] = {}  # by the entry's start, as the titles
        self._titles: dict[int, str] = {}

    def is_ours(self, listed: SourceList) -> bool:
        """Whether this program wrote a list, so that the links have its numbers already."""
        return all(_OUR_ENTRY.search(self._raw(entry)) for entry in listed.entries)

    def find_targets(self, entry: ListedSource) -> list[str]:
        """The targets of an entry's links, or else the file or the title that it names."""
        if (known := self._targets.get(entry.start)) is None:
            known = self._targets[entry.start] = self._read_targets(entry)
        return known

    def read_title(self, entry: ListedSource) -> str:
        """The text of an entry without its addresses."""
        if (known := self._titles.get(entry.start)) is None:
            known = self._titles[entry.start] = self._make_title(entry)
        return known

    def _raw(self, entry: ListedSource) -> str:
        return self._text[entry.words : entry.end]

    def _read_targets(self, entry: ListedSource) -> list[str]:
        raw = self._raw(entry)
        given = [self._defined.get(k.target, k.target) for k in entry.links]
        cited = [target for target in given if is_citation(target)]
        if cited:
            return cited[:1] if _OUR_ENTRY.search(raw) else list(dict.fromkeys(cited))
        if angled := _ANGLED.search(raw):
            return [angled[1]]
        files = [f for f in _find_files(raw) if self._ledger.find(self._ledger.key(f))]
        if files:
            return list(dict.fromkeys(files))
        passage = self._ledger.find_by_title(self.read_title(entry))
        return [passage.source] if passage else []

    def _make_title(self, entry: ListedSource) -> str:
        parts: list[str] = []
        position = entry.words
        for link in entry.links:
            parts += [self._text[position : link.start], link.label]
            position = max(position, link.end)
        raw = "".join([*parts, self._text[position : entry.end]])
        plain = _ANGLED.sub("", raw).replace(f"{UNMATCHED}: {NOT_FOUND}", "").replace(UNMATCHED, "")
        return one_line(_CODE_OR_COMMENT.sub("", plain), _TITLE_LENGTH).strip(_PUNCTUATION)


def _find_files(text: str) -> list[str]:
    paths = (path.lstrip("./-") for path in _PATH.findall(text) if ".md" in path)
    found = (_FILE.match(path) for path in paths if len(path) <= _MAX_PATH)
    return [file[0] for file in found if file]
