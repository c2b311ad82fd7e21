"""The prior-art gate: what counts as near, and what can be reused."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from idea_explorer.adapters.research_index.index import DocumentIndex
from idea_explorer.domain.documents import render_update
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.markdown import remove_markup
from idea_explorer.domain.parsed_documents import OFFLINE_MARK
from idea_explorer.domain.similar_research import IndexEntry, index_document
from idea_explorer.domain.terms import extract_terms
from tests.fakes.research import index_of

EXAMPLES = Path(__file__).parents[3] / "examples"


TEXTS = {
    file.relative_to(EXAMPLES / "ideas").as_posix(): file.read_text("utf-8")
    for file in sorted((EXAMPLES / "ideas").rglob("*.md"))
}


@pytest.fixture(scope="module")
def index() -> DocumentIndex:
    return index_of(TEXTS)


NEAR = {
    "A subscription box for urban beekeepers": "keeping-subscribers",
    "hive sensor for hobby beekeepers": "hive-monitoring",
    "marketplace where small apiaries sell local honey": "local-honey",
    "rooftop gardens for tenants": "rooftop-garden",
    "a library that lends tools": "tool-libraries",
    "subscription churn of seasonal hobbies": "keeping-subscribers",
}


@pytest.mark.parametrize("idea", NEAR)
def test_the_nearest_research_comes_first(index: DocumentIndex, idea: str) -> None:
    best = index.find_similar(idea)[0]
    assert NEAR[idea] in best.path
    assert 0.3 <= best.score <= 1


FAR = ["Quantum computing for banks", "A CRM for dentists", "AI that reviews contracts", "!", "的"]


@pytest.mark.parametrize("idea", FAR)
def test_an_idea_of_another_field_is_near_to_nothing(index: DocumentIndex, idea: str) -> None:
    assert index.find_similar(idea) == []


def written(*ideas: str) -> dict[str, str]:
    text = "---\nidea: {0}\nmode: business\nstatus: completed\n---\n\n# {0}\n\nA step, a test.\n"
    return {
        f"2026-01-0{day}-x/research.md": text.format(idea)
        for day, idea in enumerate(ideas, start=1)
    }


@pytest.mark.parametrize("idea", ["One step", "A test", "First steps", "Step 2"])
def test_one_common_word_makes_nothing_alike(idea: str) -> None:
    assert index_of(TEXTS | written("Two steps", "Pipe test one")).find_similar(idea) == []


def test_only_the_same_words_are_wholly_alike() -> None:
    known = index_of(written("Pipe test one", "Tea rooms in town libraries"))

    assert known.find_similar("pipe test one!")[0].score == 1.0
    assert 0.3 < known.find_similar("Pipe test two")[0].score < 0.8
    assert known.find_similar("Tea rooms in libraries")[0].score < 1.0
    assert [hit.score for hit in index_of(written("Tea")).find_similar("Tea")] == [1.0]
    signs = index_of(written("Linting rules for C++"))
    assert signs.find_similar("Linting rules for C#")[0].score < 1.0


def test_a_hit_carries_what_a_person_decides_by(index: DocumentIndex) -> None:
    best = index.find_similar("Local honey marketplace for small apiaries")[0]

    assert best.model_dump() == {
        "path": "ideas/2026-06-09-local-honey-marketplace-for-small-apiaries/research.md",
        "title": "Local honey marketplace for small apiaries",
        "idea": "Local honey marketplace for small apiaries",
        "verdict": "PASS",
        "date": "2026-06-09",
        "score": 1.0,
    }


@pytest.mark.parametrize(
    ("writers", "is_offline"),
    [([], True), ([True], True), ([True, True], True), ([False], False), ([False, True], False)],
)
def test_updates_of_the_offline_model_make_no_research(
    writers: list[bool], is_offline: bool
) -> None:
    text = "---\nidea: Bees\nmodel: offline\n---\n\n# Bees\n"
    for number, is_own in enumerate(writers):
        section = render_update(new_id(number), date(2026, 11, 17), "More.", is_offline=is_own)
        text = f"{text}\n{section}"

    assert index_document("ideas/bees.md", text).is_offline == is_offline
    assert not index_document("ideas/bees.md", text.replace("model: offline", "")).is_offline


def test_the_offline_model_gives_no_verdict() -> None:
    """It repeats those of other documents. What a model adds later counts."""
    text = "---\nidea: Bees\nmodel: offline\n---\n\n# Bees\n\n## Verdict\n\n**Verdict: PASS**\n"
    update = "\n## Update - 2026-11-02\n\n### Verdict\n\n**PIVOT**\n"

    assert index_document("ideas/bees.md", text).verdict is None
    assert index_document("ideas/bees.md", text.replace("offline", "sonnet")).verdict == "PASS"
    assert index_document("ideas/bees.md", text + update).verdict == "PIVOT"
    own = f"{text.replace('offline', 'sonnet')}{update.replace('### V', f'{OFFLINE_MARK}### V')}"
    assert index_document("ideas/bees.md", own).verdict == "PASS"


def test_words_meet_across_plural_case_and_accents() -> None:
    assert extract_terms("Cafés") == extract_terms("CAFE")
    assert extract_terms("boxes of subscriptions") == extract_terms("box subscriber")
    assert set(extract_terms("茶室开店")) & set(extract_terms("开茶室"))


def test_the_same_idea_in_the_same_mode_can_be_reused(index: DocumentIndex) -> None:
    idea = "local honey marketplace, for small apiaries"
    found = index.find_existing(idea, "business")

    assert found is not None
    assert found.path.endswith("local-honey-marketplace-for-small-apiaries/research.md")
    assert index.find_existing(idea, "exploration") is None
    assert index.find_existing("local honey marketplace", "business") is None


def test_the_newest_is_reused_and_a_partial_one_is_not() -> None:
    def write(status: str) -> str:
        return f"---\nidea: Tea\nmode: business\nstatus: {status}\n---\n\n# Tea\n"

    folders = ["2026-01-02-tea-2", "2026-01-02-tea", "2026-01-01-tea-9"]
    texts = {f"{folder}/research.md": write("completed") for folder in folders}
    texts["2026-01-03-tea/research.md"] = write("partial")
    found = index_of(texts).find_existing("tea", "business")

    assert found is not None
    assert found.path == "ideas/2026-01-02-tea-2/research.md"


def test_a_document_of_people_is_known_by_its_title() -> None:
    entry = index_document("ideas/market/notes.md", "# Tea in Bern\n\nPeople drink tea.")
    assert (entry.title, entry.idea_key, entry.date) == ("Tea in Bern", "", None)


def test_links_comments_and_code_say_nothing_of_a_document() -> None:
    text = "See [tea](http://spam.example/coffee) <!-- milk --> and `sugar`, <!-- but bread"
    assert remove_markup(text).split() == ["See", "[tea", "and", ",", "<!--", "but", "bread"]


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
@example("caf\udce9.md", "# Half a character: \ud800")
def test_any_document_can_be_indexed_and_stored(path: str, text: str) -> None:
    for document in (text, f"---\n{text}\n---\n"):
        entry = index_document(path, document)
        assert IndexEntry.model_validate_json(entry.model_dump_json()) == entry
