"""The documents that match a search best, by SQLite's own score (bm25).

To score a document takes several times as long as to find it, and most documents share only frequent words
with a search, which add little to a score. So the documents with one of its rarer words are scored first, and
the others only if one of them could be among the best.
"""

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from idea_explorer.adapters.sqlite.database import Ask, Database
from idea_explorer.domain.search_words import join_any, quote_words

# as SQLite documents its score: no word adds more than its weight by this, however often it occurs
MAX_SHARE = 2.2
LEAST_WEIGHT = 1e-6  # of a word that half of the documents have
# by the greatest weight: the best documents nearly always score more
FIRST_GUESS = 1.5

_COUNTS = """
SELECT value, (SELECT count(*) FROM words WHERE words MATCH value), (SELECT count(*) FROM documents)
FROM json_each(?)
"""
# The best matches, and how many there are, without what only the offline model wrote. Weights: a title says
# more than a name or a word of the text.
_SEARCH = """
WITH with_rare_word AS MATERIALIZED (SELECT rowid FROM words WHERE words MATCH ?2),
matches AS MATERIALIZED (
    SELECT rowid AS document,
        iif(rowid IN with_rare_word, -bm25(words, 1.0, 4.0, 1.0), NULL) AS score
    FROM words
    WHERE words MATCH ?1 AND rowid NOT IN (SELECT id FROM documents WHERE is_offline)
),
best AS (
    SELECT document, score FROM matches WHERE score IS NOT NULL
    ORDER BY score DESC, document LIMIT ?3
)
SELECT path, texts.title, text, text_hash, score, (SELECT count(*) FROM matches)
FROM best JOIN documents ON id = document JOIN texts USING (document) ORDER BY score DESC, path
"""


class Word(NamedTuple):
    """A word of a search, as SQLite takes it, and its weight in a score."""

    quoted: str
    weight: float


def rank_documents(db: Database, query: str, limit: int) -> list[tuple[Any, ...]]:
    """Path, title, text, its hash and score of the best matches, and how many there are with the others."""
    words = quote_words(query)
    return db.read(partial(_rank, words, limit)) if words else []


def _rank(quoted: Sequence[str], limit: int, ask: Ask) -> list[tuple[Any, ...]]:
    words = _weigh(quoted, ask)
    least = FIRST_GUESS * words[0].weight if words else 0.0
    while words:
        # what has none of the rare words scores less than the least of the best
        rare = _choose_rare(words, least)
        match = join_any([word.quoted for word in rare])
        rows = ask(_SEARCH, (join_any(quoted), match, limit))
        lowest = rows[-1][4] if rows and len(rows) == limit else 0.0
        if len(rare) == len(words) or _sum_most(words[len(rare) :]) < lowest:
            return rows
        least = lowest
    return []


def _weigh(quoted: Sequence[str], ask: Ask) -> list[Word]:
    """The words that any document has, with the greatest weight first."""
    words = [
        Word(word, _weight(number, total))
        for word, number, total in ask(_COUNTS, (json.dumps(quoted),))
        if number
    ]
    return sorted(words, key=lambda word: -word.weight)


def _weight(number: int, total: int) -> float:
    """That of a word which so many of all documents have, in SQLite's score."""
    ratio = (total - number + 0.5) / (number + 0.5)
    return math.log(ratio) if ratio > 1 else LEAST_WEIGHT


def _choose_rare(words: Sequence[Word], least: float) -> Sequence[Word]:
    """As few as possible, so that all others together add less to a score than `least`."""
    number = 1
    while number < len(words) and _sum_most(words[number:]) >= least:
        number += 1
    return words[:number]


def _sum_most(words: Sequence[Word]) -> float:
    return MAX_SHARE * sum(word.weight for word in words)
