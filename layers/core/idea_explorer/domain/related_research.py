"""What the team's documents on similar ideas say, and what they leave open: the first message lists it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from idea_explorer.domain.markdown import find_headings, remove_markup
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.report_phrases import WARNINGS, spell_in_english
from idea_explorer.domain.similar_research import Similar
from idea_explorer.domain.source_lists import is_source_heading
from idea_explorer.domain.text import fold, one_line
from idea_explorer.domain.tools import Passage, make_passage

RELATED = "Related research"  # the document's title, which the prompt names
MAX_EXCERPT = 600  # characters: the conclusion that a report begins with
MAX_OPEN = 5  # claims and questions of one document
MAX_OPEN_CHARS = 300
MAX_READ = 60_000  # characters of a document that are looked at
MIN_CLAIM = 20  # letters: less is a link or a number that belongs to the sentence before
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])[ \t]+(?=[^ \t])")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
QUESTION_WORDS = ("question",)  # in the heading above the open questions
_NO_PROSE = ("#", ">", "|", "-", "*", "+", "`", "<", "=")


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A document of the team. Its texts are data."""

    similar: Similar
    excerpt: str
    unresolved: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        found = self.similar
        about = [f"document: {found.path.removeprefix(f'{RESEARCH_ROOT}/')}"]
        about += [f"date: {found.date}"] if found.date else []
        about += [f"verdict: {found.verdict}"] if found.verdict else []
        lines = [one_line(found.title, 200), "; ".join(about), self.excerpt]
        if self.unresolved:
            lines += ["Left open:", *(f"- {claim}" for claim in self.unresolved)]
        return "\n".join(line for line in lines if line)

    @property
    def passage(self) -> Passage:
        """It may be cited for what the first message shows of it."""
        return make_passage(self.similar.path, self.text, title=self.similar.title)


def describe_document(
    similar: Similar, text: str, question_words: Sequence[str] = QUESTION_WORDS
) -> RelatedDocument:
    """Takes any text: people edit these documents."""
    body = spell_in_english(parse_document(text).body[:MAX_READ])
    return RelatedDocument(similar, _excerpt(body), find_unresolved(body, question_words))


def render_related(documents: Sequence[RelatedDocument]) -> str:
    return "\n\n".join(document.text for document in documents)


def find_unresolved(body: str, question_words: Sequence[str] = QUESTION_WORDS) -> tuple[str, ...]:
    """The claims that are marked as unverified or not supported, then the open questions."""
    sections = _sections(body)
    asks = [fold(word) for word in question_words]
    claims = [
        claim
        for title, lines in sections
        if "source" not in title and not is_source_heading(title)
        for line in lines
        if any(mark in line for mark in WARNINGS)
        for claim in _marked_claims(line)
    ]
    questions = [
        item
        for title, lines in sections
        if any(word in title for word in asks)
        for line in lines
        if (marker := _ITEM.match(line)) and (item := _plain(line[marker.end() :], MAX_OPEN_CHARS))
    ]
    return tuple(dict.fromkeys([*claims, *questions]))[:MAX_OPEN]


def _sections(body: str) -> list[tuple[str, list[str]]]:
    """The lines below each heading, by its title without case and accents."""
    headings = [heading for heading in find_headings(body) if not heading.run_in]
    bounds = [(0, 0, ""), *((h.start, h.end, fold(h.title)) for h in headings)]
    ends = [start for start, _, _ in bounds[1:]] + [len(body)]
    return [
        (title, body[begin:end].splitlines())
        for (_, begin, title), end in zip(bounds, ends, strict=True)
    ]


def _marked_claims(line: str) -> Iterator[str]:
    """The marked sentences of a line. A mark may come after the end of its sentence."""
    before = ""
    for sentence in _SENTENCE_END.split(line):
        if any(mark in sentence for mark in WARNINGS):
            claim = sentence
            for mark in WARNINGS:
                claim = claim.partition(mark)[0]
            words, bracket, _ = claim.rpartition("([")  # the citation itself
            alone = _plain(words if bracket else claim, MAX_OPEN_CHARS)
            letters = sum(character.isalpha() for character in alone)
            if found := alone if letters >= MIN_CLAIM else _plain(before, MAX_OPEN_CHARS) or alone:
                yield found
        before = sentence


def _excerpt(body: str) -> str:
    """The first paragraph of prose."""
    paragraph: list[str] = []
    for line in body.splitlines():
        if line.strip() and not line.lstrip().startswith(_NO_PROSE):
            paragraph.append(line)
        elif paragraph:
            break
    return _plain(" ".join(paragraph), MAX_EXCERPT)


def _plain(markdown: str, limit: int) -> str:
    text = remove_markup(markdown).translate(str.maketrans("", "", "[]*`"))
    return one_line(text, limit)
