"""A search that does not score every document finds what one does that scores all of them."""

import random

import pytest

from idea_explorer.adapters.research_index.file import IndexFile
from idea_explorer.adapters.research_index.ranking import rank_documents
from idea_explorer.adapters.research_index.sources import FileChange
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.search_words import match_any

ALL_SCORED = """
SELECT path, -bm25(words, 1.0, 4.0, 1.0) AS score FROM words JOIN documents ON id = words.rowid
WHERE words MATCH ? AND NOT is_offline ORDER BY score DESC, words.rowid
"""
# a word is in half as many documents as the one before it
WORDS = [f"word{letter}" for letter in "abcdefghijkl"]
OFFLINE = "---\nmodel: offline\n---\n\n"


def make_document(source: random.Random) -> str:
    chosen = [word for rank, word in enumerate(WORDS) if source.random() < 0.5**rank * 1.5]
    body = source.choices([*chosen, "filler"], k=source.choice([5, 50, 1_000]))
    front = OFFLINE if source.random() < 0.1 else ""
    return f"{front}# {source.choice(chosen or WORDS)}\n\n{' '.join(body)}"


@pytest.fixture(scope="module")
def db() -> Database:
    source = random.Random(1)
    index = IndexFile(None, "a test")
    texts = [make_document(source) for _ in range(400)]
    index.apply(FileChange(f"{number}.md", "1", 1, text) for number, text in enumerate(texts))
    return index.db


@pytest.mark.parametrize("limit", [1, 5, 50, 1_000])
def test_the_best_documents_are_found_in_their_order_and_all_are_counted(
    db: Database, limit: int
) -> None:
    source = random.Random(limit)
    for _ in range(50):
        query = " ".join(source.sample([*WORDS, "filler", "nowhere"], k=source.randint(1, 12)))
        expected = db.rows(ALL_SCORED, (match_any(query),))

        found = rank_documents(db, query, limit)

        assert sorted((path, score) for path, *_, score, _ in found) == sorted(expected[:limit])
        assert {total for *_, total in found} == ({len(expected)} if expected else set())


def test_documents_without_a_rare_word_are_found_where_too_few_have_one() -> None:
    index = IndexFile(None, "a test")
    texts = ["# Tea\n\nrooms" if number % 3 else "# Bees" for number in range(30)]
    texts[10] = "# Honey\n\ntea"
    index.apply(FileChange(f"{number}.md", "1", 1, text) for number, text in enumerate(texts))

    found = rank_documents(index.db, "honey tea rooms", 5)

    assert [title for _, title, *_ in found] == ["Honey", "Tea", "Tea", "Tea", "Tea"]
    assert found[0][-1] == 20


def test_frequent_words_are_not_scored_in_documents_without_a_rare_one(db: Database) -> None:
    """SQLite looks the size of a document up when it scores it."""
    sizes: list[str] = []
    with db.transaction() as connection:
        connection.set_trace_callback(
            lambda statement: sizes.append(statement) if "_docsize" in statement else None
        )
        rank_documents(db, f"{WORDS[0]} {WORDS[7]}", 1)
        connection.set_trace_callback(None)
        total = rank_documents(db, WORDS[0], 1)[0][-1]

    assert 0 < len(sizes) < total / 4


def test_a_query_without_words_finds_nothing(db: Database) -> None:
    assert rank_documents(db, "?!", 5) == []
    assert rank_documents(db, "nowhere", 5) == []
    assert rank_documents(db, WORDS[0], 0) == []


def test_an_index_without_texts_finds_nothing() -> None:
    index = IndexFile(None, "a test", keeps_texts=False)
    index.apply([FileChange("tea.md", "1", 1, "# Tea")])
    assert rank_documents(index.db, "tea", 5) == []


def test_documents_that_a_damaged_file_has_lost_are_not_found() -> None:
    index = IndexFile(None, "a test")
    index.apply(FileChange(f"{number}.md", "1", 1, "# Tea") for number in range(3))
    index.db.execute("DELETE FROM documents", ())
    assert rank_documents(index.db, "tea", 5) == []
