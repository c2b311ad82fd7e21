"""What the index records of a document. A child process reads it too, so this loads little."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from idea_explorer.domain.markdown import remove_markup
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.report_text import find_title, find_verdict
from idea_explorer.domain.search_words import make_storable
from idea_explorer.domain.terms import extract_terms, find_frequent_terms
from idea_explorer.domain.text import hash_idea, one_line

MAX_FIELD = 120  # characters of a value that is an id, a date or a word
MAX_RECORDED_IDEA = 500  # characters; the key of the whole idea identifies it
_DATED = lazy_pattern(r"(?:^|/)(\d{4}-\d{2}-\d{2})-[^/]*/")


class DocumentFields(TypedDict):
    """The fields of an `IndexEntry`."""

    path: str
    title: str
    verdict: str | None
    date: str | None
    idea: str
    idea_key: str
    mode: str
    status: str
    exploration_id: str
    is_offline: bool
    terms: tuple[str, ...]
    problem: str


class ParsedText(NamedTuple):
    """`subject` are the terms of what the document is about."""

    fields: DocumentFields
    subject: Sequence[str]


def parse_text(path: str, text: str) -> ParsedText:
    """Takes any path and text."""
    fields = read_fields(path, text)
    return ParsedText(fields, extract_subject(fields["idea"], fields["title"]))


def extract_subject(idea: str, title: str) -> list[str]:
    return extract_terms(f"{idea} {title}")


def read_fields(path: str, text: str) -> DocumentFields:
    """Takes any path and text. Documents that people wrote need no front matter."""
    path, text = make_storable(path), make_storable(text)
    parsed = parse_document(text)
    matter = parsed.matter
    idea = matter.get("idea", "")
    dated = _DATED.search(path)
    return {
        "path": path,
        "title": find_title(parsed.body, idea or path),
        "verdict": find_verdict(parsed.researched),
        "date": _field(matter, "date") or (dated.group(1) if dated else None),
        "idea": one_line(idea, MAX_RECORDED_IDEA),
        "idea_key": hash_idea(idea) if idea else "",
        "mode": _field(matter, "mode"),
        "status": _field(matter, "status"),
        "exploration_id": _field(matter, "exploration_id"),
        "is_offline": parsed.is_offline,
        "terms": find_frequent_terms(remove_markup(parsed.body)),
        "problem": parsed.problem and f"front matter ignored: {parsed.problem}",
    }


def _field(matter: dict[str, str], name: str) -> str:
    return one_line(matter.get(name, ""), MAX_FIELD)
