"""What an index is asked. None of it takes longer because there are more documents, except for words that
many of them have."""

from collections.abc import Iterable, Sequence

from idea_explorer.adapters.research_index.tables import (
    load_entry,
    load_name,
    load_text,
    show_name,
)
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain import similar_research
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import hash_idea
from idea_explorer.domain.search_words import match_any
from idea_explorer.domain.similar_research import (
    BODY_WEIGHT,
    MAX_LOGGED,
    MAX_SIMILAR,
    IndexEntry,
    Similar,
    extract_query,
    find_newest,
    rank_similar,
    weigh,
)
from idea_explorer.ports import DocumentInfo, FoundDocument

MAX_LOOKED_AT = 20_000  # of the places where terms of an idea are, those of the rarest terms first
MAX_CANDIDATES = 30  # by the words they share with an idea, and by the share of their subject

_CANDIDATES = """
WITH asked (term, weight) AS (VALUES {asked}),
scored AS MATERIALIZED (
    SELECT document,
        sum(weight * iif(share > 0, 1.0, {body_weight})) AS found, sum(weight * share) AS about
    FROM asked CROSS JOIN terms USING (term) GROUP BY document
)
SELECT document FROM (SELECT document FROM scored ORDER BY found DESC, document LIMIT {most})
UNION SELECT document FROM (SELECT document FROM scored ORDER BY about DESC, document LIMIT {most})
UNION SELECT id FROM (SELECT id FROM documents WHERE idea_key = ? ORDER BY path LIMIT {same})
"""


def find_similar(db: Database, idea: str) -> list[Similar]:
    """Looks closely at the documents that share the rarest words of the idea."""
    asked = extract_query(idea)
    ((total,),) = db.rows("SELECT count(*) FROM documents")
    rare = _choose_rarest(_count(db, asked))
    values = [value for term, number in rare for value in (term, weigh(number, total))]
    query = _CANDIDATES.format(
        asked=", ".join(["(?, ?)"] * len(rare)) or "(NULL, 0)",
        body_weight=BODY_WEIGHT,
        most=MAX_CANDIDATES,
        same=MAX_SIMILAR,
    )
    candidates = _load_entries(db, [row[0] for row in db.rows(query, [*values, hash_idea(idea)])])
    subjects = {term for entry in candidates for term in entry.subject}
    return rank_similar(idea, candidates, total, dict(_count(db, [*{*asked, *subjects}])))


def _count(db: Database, terms: Sequence[str]) -> list[tuple[str, int]]:
    """How many documents have each term, for those that any has."""
    marks = ", ".join("?" * len(terms))
    query = f"SELECT term, documents FROM frequencies WHERE term IN ({marks}) AND documents > 0"  # noqa: S608
    return [(term, number) for term, number in db.rows(query, terms)]


def _choose_rarest(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    chosen: list[tuple[str, int]] = []
    left = MAX_LOOKED_AT
    for term, number in sorted(counts, key=lambda count: (count[1], count[0])):
        if chosen and number > left:
            break
        left -= number
        chosen.append((term, number))
    return chosen


def _load_entries(db: Database, documents: Sequence[int]) -> list[IndexEntry]:
    marks = ", ".join("?" * len(documents))
    query = f"SELECT entry, entry_hash FROM documents WHERE id IN ({marks})"  # noqa: S608
    return [load_entry(*row) for row in db.rows(query, documents)]


def find_existing(db: Database, idea: str, mode: str) -> IndexEntry | None:
    rows = db.rows(
        "SELECT path FROM documents WHERE idea_key = ? AND mode = ? AND status = 'completed'",
        (hash_idea(idea), mode),
    )
    newest = find_newest(path for (path,) in rows)
    return find_document(db, newest) if newest else None


def find_exploration(db: Database, exploration_id: str) -> IndexEntry | None:
    return _find_one(db, "exploration_id = ?", exploration_id) if exploration_id else None


def find_document(db: Database, path: str) -> IndexEntry | None:
    return _find_one(db, "path = ?", path)


def _find_one(db: Database, condition: str, value: str) -> IndexEntry | None:
    query = f"SELECT entry, entry_hash FROM documents WHERE {condition} ORDER BY path LIMIT 1"  # noqa: S608
    row = db.row(query, (value,))
    return load_entry(*row) if row else None


def describe_problems(db: Database) -> JsonObject:
    ((count,),) = db.rows("SELECT count(*) FROM documents WHERE has_problem")
    rows = db.rows(
        "SELECT entry, entry_hash FROM documents WHERE has_problem ORDER BY path LIMIT ?",
        (MAX_LOGGED,),
    )
    return similar_research.describe_problems(count, [load_entry(*row) for row in rows])


def list_files(db: Database) -> list[DocumentInfo]:
    rows = db.rows("SELECT name, size FROM files WHERE substr(name, -1) != x'2F' ORDER BY name")
    return [DocumentInfo(show_name(load_name(name)), size) for name, size in rows]


def search(db: Database, query: str, limit: int) -> tuple[list[FoundDocument], int]:
    match = match_any(query)
    if match is None:
        return [], 0
    # weights: a title says more than a name or a word of the text
    rows = db.rows(
        "SELECT path, texts.title, text, text_hash, score FROM"
        " (SELECT rowid AS found, -bm25(words, 1.0, 4.0, 1.0) AS score FROM words"
        " WHERE words MATCH ? ORDER BY bm25(words, 1.0, 4.0, 1.0), rowid LIMIT ?)"
        " JOIN documents ON id = found JOIN texts ON document = found ORDER BY score DESC, path",
        (match, limit),
    )
    ((total,),) = db.rows("SELECT count(*) FROM words WHERE words MATCH ?", (match,))
    return [
        FoundDocument(
            path.removeprefix(f"{RESEARCH_ROOT}/"),
            title,
            load_text(text, text_hash),
            float(f"{score:.4g}"),
        )
        for path, title, text, text_hash, score in rows
    ], total
