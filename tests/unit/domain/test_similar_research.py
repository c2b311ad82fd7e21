"""The prior-art gate: what counts as near, and what can be reused."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idea_explorer.domain.markdown import remove_markup
from idea_explorer.domain.similar_research import (
    Index,
    IndexEntry,
    extract_terms,
    find_existing,
    find_similar,
    index_document,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def index() -> Index:
    files = sorted((EXAMPLES / "ideas").rglob("*.md"))
    return Index(
        entries=tuple(
            index_document(file.relative_to(EXAMPLES).as_posix(), file.read_text("utf-8"))
            for file in files
        )
    )


NEAR = {
    "A subscription box for urban beekeepers": "keeping-subscribers",
    "hive sensor for hobby beekeepers": "hive-monitoring",
    "marketplace where small apiaries sell local honey": "local-honey",
    "rooftop gardens for tenants": "rooftop-garden",
    "a library that lends tools": "tool-libraries",
    "subscription churn of seasonal hobbies": "keeping-subscribers",
}


@pytest.mark.parametrize("idea", NEAR)
def test_the_nearest_research_comes_first(index: Index, idea: str) -> None:
    best = find_similar(idea, index)[0]
    assert NEAR[idea] in best.path
    assert 0.3 <= best.score <= 1


FAR = ["Quantum computing for banks", "A CRM for dentists", "AI that reviews contracts", "!", "的"]


@pytest.mark.parametrize("idea", FAR)
def test_an_idea_of_another_field_is_near_to_nothing(index: Index, idea: str) -> None:
    assert find_similar(idea, index) == []


def written(*ideas: str) -> Index:
    text = "---\nidea: {0}\nmode: business\nstatus: completed\n---\n\n# {0}\n\nA step, a test.\n"
    return Index(
        entries=tuple(
            index_document(f"ideas/2026-01-0{day}-x/research.md", text.format(idea))
            for day, idea in enumerate(ideas, start=1)
        )
    )


@pytest.mark.parametrize("idea", ["One step", "A test", "First steps", "Step 2"])
def test_one_common_word_makes_nothing_alike(index: Index, idea: str) -> None:
    entries = (*index.entries, *written("Two steps", "Pipe test one").entries)
    assert find_similar(idea, Index(entries=entries)) == []


def test_only_the_same_words_are_wholly_alike() -> None:
    known = written("Pipe test one", "Tea rooms in town libraries")

    assert find_similar("pipe test one!", known)[0].score == 1.0
    assert 0.3 < find_similar("Pipe test two", known)[0].score < 0.8
    assert find_similar("Tea rooms in libraries", known)[0].score < 1.0
    assert [hit.score for hit in find_similar("Tea", written("Tea"))] == [1.0]
    assert find_similar("Linting rules for C#", written("Linting rules for C++"))[0].score < 1.0


def test_a_hit_carries_what_a_person_decides_by(index: Index) -> None:
    best = find_similar("Local honey marketplace for small apiaries", index)[0]

    assert best.model_dump() == {
        "path": "ideas/2026-06-09-local-honey-marketplace-for-small-apiaries/research.md",
        "title": "Local honey marketplace for small apiaries",
        "verdict": "PASS",
        "date": "2026-06-09",
        "score": 1.0,
    }


def test_words_meet_across_plural_case_and_accents() -> None:
    assert extract_terms("Cafés") == extract_terms("CAFE")
    assert extract_terms("boxes of subscriptions") == extract_terms("box subscriber")
    assert set(extract_terms("茶室开店")) & set(extract_terms("开茶室"))


def test_the_same_idea_in_the_same_mode_can_be_reused(index: Index) -> None:
    idea = "local honey marketplace, for small apiaries"
    found = find_existing(idea, "business", index)

    assert found is not None
    assert found.path.endswith("local-honey-marketplace-for-small-apiaries/research.md")
    assert find_existing(idea, "exploration", index) is None
    assert find_existing("local honey marketplace", "business", index) is None


def test_the_newest_is_reused_and_a_partial_one_is_not() -> None:
    def written(folder: str, status: str = "completed") -> IndexEntry:
        matter = f"---\nidea: Tea\nmode: business\nstatus: {status}\n---\n\n# Tea\n"
        return index_document(f"ideas/{folder}/research.md", matter)

    folders = ["2026-01-02-tea-2", "2026-01-02-tea", "2026-01-01-tea-9"]
    entries = [*(written(folder) for folder in folders), written("2026-01-03-tea", "partial")]
    found = find_existing("tea", "business", Index(entries=tuple(entries)))

    assert found is not None
    assert found.path == "ideas/2026-01-02-tea-2/research.md"


def test_a_document_of_people_is_known_by_its_title() -> None:
    entry = index_document("ideas/market/notes.md", "# Tea in Bern\n\nPeople drink tea.")
    assert (entry.title, entry.idea_key, entry.date) == ("Tea in Bern", "", None)


def test_an_entry_written_again_replaces_the_one_before() -> None:
    path = "ideas/2026-01-01-tea/research.md"
    index = (
        Index().with_entry(index_document(path, "# Old")).with_entry(index_document(path, "# New"))
    )
    assert [entry.title for entry in index.entries] == ["New"]


def test_links_comments_and_code_say_nothing_of_a_document() -> None:
    text = "See [tea](http://spam.example/coffee) <!-- milk --> and `sugar`, <!-- but bread"
    assert remove_markup(text).split() == ["See", "[tea", "and", ",", "<!--", "but", "bread"]


@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
@example("caf\udce9.md", "# Half a character: \ud800")
def test_any_document_can_be_indexed_and_stored(path: str, text: str) -> None:
    index = Index(entries=(index_document(path, text), index_document(path, f"---\n{text}\n---\n")))
    assert Index.model_validate_json(index.model_dump_json()).entries == index.entries
