"""What an index is asked. None of it takes longer because there are more documents, except for words that
many of them have."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import starmap

from idea_explorer.adapters.research_index.ranking import rank_documents
from idea_explorer.adapters.research_index.tables import load_entry, load_text
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain import similar_research
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RESEARCH_ROOT, encode_name
from idea_explorer.domain.search_words import match_all
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
from idea_explorer.domain.terms import extract_terms
from idea_explorer.domain.text import hash_idea
from idea_explorer.ports import DocumentInfo, FoundDocument

MAX_LOOKED_AT = 20_000  # of the places where terms of an idea are, those of the rarest terms first
MAX_CANDIDATES = 30  # by the words they share with an idea, and by the share of their subject

# without what only the offline model wrote, before the best are chosen, unless ?6
_CANDIDATES = """
WITH left_out (document) AS (SELECT id FROM documents WHERE is_offline AND NOT ?6),
asked (term, weight) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1)
),
scored AS MATERIALIZED (
    SELECT document,
        sum(iif(share > 0, weight, weight * ?2)) AS found, sum(weight * share) AS about
    FROM asked CROSS JOIN terms USING (term) GROUP BY document HAVING document NOT IN left_out
)
SELECT document FROM (SELECT document FROM scored ORDER BY found DESC, document LIMIT ?3)
UNION SELECT document FROM (SELECT document FROM scored ORDER BY about DESC, document LIMIT ?3)
UNION SELECT id FROM (
    SELECT id FROM documents WHERE idea_key = ?4 AND id NOT IN left_out ORDER BY path LIMIT ?5
)
"""

# newest first, in the order of the index by_date
_PAGE = """
SELECT id FROM documents
ORDER BY coalesce(json_extract(entry, '$.date'), '') DESC, path DESC LIMIT ? OFFSET ?
"""
# Every word is part of the title, the idea, the path or the verdict, or is in the text. An index that has no
# texts has the most frequent terms of each document instead.
_WITH_WORDS = """
WITH in_text AS MATERIALIZED (
    SELECT word.key || ' ' || words.rowid FROM json_each(?1) AS word
    CROSS JOIN words ON words MATCH json_extract(word.value, '$[2]')
),
shown AS (
    SELECT id, path, entry, lower(
        json_extract(entry, '$.title') || ' ' || coalesce(json_extract(entry, '$.idea'), '')
        || ' ' || path || ' ' || coalesce(json_extract(entry, '$.verdict'), '')
    ) AS text FROM documents
)
SELECT id FROM shown WHERE NOT EXISTS (
    SELECT 1 FROM json_each(?1) AS word
    WHERE instr(text, json_extract(word.value, '$[0]')) = 0
    AND word.key || ' ' || shown.id NOT IN in_text AND (
        json_array_length(word.value, '$[1]') = 0
        OR EXISTS (
            SELECT 1 FROM json_each(word.value, '$[1]') AS wanted WHERE NOT EXISTS (
                SELECT 1 FROM terms WHERE terms.term = wanted.value AND terms.document = shown.id
            )
        )
    )
)
ORDER BY coalesce(json_extract(entry, '$.date'), '') DESC, path DESC
"""


def find_similar(db: Database, idea: str, *, with_offline: bool) -> list[Similar]:
    """Looks closely at the documents that share the rarest words of the idea."""
    asked = extract_query(idea)
    ((total,),) = db.rows("SELECT count(*) FROM documents")
    rare = _choose_rarest(_count(db, asked))
    weights = json.dumps([(term, weigh(number, total)) for term, number in rare])
    limits = (MAX_CANDIDATES, hash_idea(idea), MAX_SIMILAR)
    rows = db.rows(_CANDIDATES, (weights, BODY_WEIGHT, *limits, with_offline))
    candidates = _load_entries(db, [document for (document,) in rows])
    subjects = {term for entry in candidates for term in entry.subject}
    return rank_similar(idea, candidates, total, dict(_count(db, [*{*asked, *subjects}])))


def _count(db: Database, terms: Sequence[str]) -> list[tuple[str, int]]:
    """How many documents have each term, for those that any has."""
    rows = db.rows(
        "SELECT term, documents FROM frequencies"
        " WHERE term IN (SELECT value FROM json_each(?)) AND documents > 0",
        (json.dumps(terms),),
    )
    return [(term, number) for term, number in rows]


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
    rows = db.rows(
        "SELECT entry, entry_hash FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(documents),),
    )
    return [load_entry(*row) for row in rows]


def find_existing(db: Database, idea: str, mode: str) -> IndexEntry | None:
    rows = db.rows(
        "SELECT path FROM documents WHERE idea_key = ? AND mode = ? AND status = 'completed'",
        (hash_idea(idea), mode),
    )
    newest = find_newest(path for (path,) in rows)
    return find_document(db, newest) if newest else None


def find_exploration(db: Database, exploration_id: str) -> IndexEntry | None:
    row = db.row(
        "SELECT entry, entry_hash FROM documents WHERE exploration_id = ? ORDER BY path",
        (exploration_id,),
    )
    return load_entry(*row) if row and exploration_id else None


def find_document(db: Database, path: str) -> IndexEntry | None:
    row = db.row("SELECT entry, entry_hash FROM documents WHERE path = ?", (path,))
    return load_entry(*row) if row else None


def list_documents(
    db: Database, search: str, limit: int, offset: int
) -> tuple[list[IndexEntry], int]:
    # without a letter it is in no text, as an expression that matches nothing says
    words = [
        (word, extract_terms(word), match_all(word) or '""') for word in search.lower().split()
    ]
    if words:
        found = [document for (document,) in db.rows(_WITH_WORDS, (json.dumps(words),))]
        page, total = found[offset : offset + limit], len(found)
    else:
        ((total,),) = db.rows("SELECT count(*) FROM documents")
        page = [document for (document,) in db.rows(_PAGE, (limit, offset))]
    rows = db.rows(
        "SELECT entry, entry_hash FROM json_each(?) AS wanted JOIN documents ON documents.id = wanted.value"
        " ORDER BY wanted.key",
        (json.dumps(page),),
    )
    return [load_entry(*row) for row in rows], total


def describe_problems(db: Database) -> JsonObject:
    ((count,),) = db.rows("SELECT count(*) FROM documents WHERE has_problem")
    rows = db.rows(
        "SELECT entry, entry_hash FROM documents WHERE has_problem ORDER BY path LIMIT ?",
        (MAX_LOGGED,),
    )
    return similar_research.describe_problems(count, [load_entry(*row) for row in rows])


def list_files(db: Database) -> list[DocumentInfo]:
    rows = db.rows("SELECT name, size FROM files WHERE substr(name, -1) != x'2F' ORDER BY name")
    return list(starmap(_describe_file, rows))


# most files are the same ones as the last time; each is two to three times as fast then
@lru_cache(maxsize=2_048)
def _describe_file(name: bytes, size: int) -> DocumentInfo:
    return DocumentInfo(encode_name(name)[0], size)


def search(db: Database, query: str, limit: int) -> tuple[list[FoundDocument], int]:
    rows = rank_documents(db, query, limit)
    total = rows[0][-1] if rows else 0
    return [
        FoundDocument(
            path.removeprefix(f"{RESEARCH_ROOT}/"),
            title,
            load_text(text, text_hash),
            float(f"{score:.4g}"),
        )
        for path, title, text, text_hash, score, _ in rows
    ], total
