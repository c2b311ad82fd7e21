"""Documents, their sections and their places: what is written, and what is never overwritten."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slugify import slugify

from idea_explorer.domain.documents import add_section, fingerprint, render_document, render_update
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.publication import ResearchFolder, find_folders, parse_log
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import MAX_SLUG_LENGTH, hash_idea, slug

NOW = datetime(2026, 11, 16, tzinfo=UTC)
DAY = date(2026, 11, 16)
OTHER = (
    "\n## Update - 2026-11-17\n\n<!-- exploration somebody-elses -->\n\n### What changed\n\nMuch.\n"
)


def exploration(idea: str = "A tea room", **fields: object) -> Exploration:
    builds_on = fields.pop("builds_on", None)
    request = ExploreRequest.model_validate({"idea": idea, **fields})
    return Exploration.new(request, "o", at=NOW).replace(builds_on=builds_on)


ODD_IDEAS = [
    "plain",
    "x\n---\nstatus: hacked",
    "key: value # no",
    "'\"\\",
    "ünïcödé 茶室",
    "- a\n- b",
]


@pytest.mark.parametrize("idea", ODD_IDEAS)
def test_front_matter_gives_back_what_was_written(idea: str) -> None:
    parsed = parse_document(render_document(exploration(idea), "# R\n\nText."))

    assert parsed.matter["idea"] == idea
    assert parsed.matter["status"] == "queued"
    assert parsed.body.strip() == "# R\n\nText."


BROKEN = [
    "",
    "---\n",
    "---\na: [\n---\nbody",
    "---\n- a\n---\n",
    "--- \nx",
    "---\n" + "[" * 9_999 + "\n---\n",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_document_with_broken_front_matter_is_all_body(text: str) -> None:
    assert parse_document(text).matter == {}


def test_a_follow_up_names_the_document_it_builds_on() -> None:
    earlier = "ideas/2026-04-22-tea/research.md"
    subject = exploration(continue_from=new_id(1), builds_on=earlier)
    silent = render_document(subject, "# Title\n\nText.")
    naming = render_document(subject, "# Title\n\nSee [tea](../2026-04-22-tea/research.md).")

    assert (
        f"# Title\n\n> Follows up on [{earlier}](../2026-04-22-tea/research.md).\n\nText." in silent
    )
    assert "Follows up on" not in naming
    assert parse_document(silent).matter["continue_from"] == subject.request.continue_from


def test_a_follow_up_names_its_document_in_the_language_of_the_report() -> None:
    subject = exploration(continue_from=new_id(1), builds_on="ideas/2026-04-22-tee/research.md")
    text = "# Tee\n\nDie Bibliotheken suchen Mieter, und das ist für die Stadt nicht neu: der Rat und die"
    assert "\n> Fortsetzung von [ideas/" in render_document(
        subject, f"{text} Häuser sind mit dem Plan."
    )


def test_a_section_keeps_its_headings_below_its_own() -> None:
    whole = "# Title\n\n## Problem\n\n```\n# not a heading\n```\n\n### Detail\n\n## Sources"
    section = render_update(new_id(0), DAY, whole)

    lines = [line for line in section.splitlines() if line.startswith("#")]
    assert lines == [
        "## Update - 2026-11-16", "### Title", "#### Problem", "# not a heading", "##### Detail",
        "#### Sources",
    ]  # fmt: skip


def test_a_section_as_asked_for_stays_as_it_is() -> None:
    section = render_update(new_id(0), DAY, "### What changed\n\nA lot.\n\n## Sources\n\n1. One")
    assert "\n\n### What changed\n\nA lot.\n\n### Sources\n\n1. One\n" in section


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
def test_an_update_changes_no_byte_of_what_is_there(newline: str, ending: str) -> None:
    existing = f"# Tea{newline}{newline}Old \u00e4 text.{ending.replace(chr(10), newline)}"
    updated = add_section(existing, "## Update - 2026-11-16\n\nNew.\n", new_id(0), set())

    assert updated.text.startswith(existing)
    assert updated.text.endswith(f"## Update - 2026-11-16{newline}{newline}New.{newline}")
    assert updated.text.count("\n") == updated.text.count(newline)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_resumed_update_replaces_its_own_section_only(newline: str) -> None:
    own = new_id(0)
    first = render_update(own, DAY, "### What changed\n\nHalf of it.")
    second = render_update(own, DAY, "### What changed\n\nAll of it.")
    base = f"# Tea{newline}"
    once = add_section(base, first, own, set()).text + OTHER.replace("\n", newline)
    again = add_section(once, second, own, {fingerprint(first)})

    assert again.replaced
    assert "Half of it." not in again.text
    assert again.text.startswith(base)
    assert again.text.endswith(OTHER.replace("\n", newline))
    assert again.text.index("All of it.") < again.text.index("Much.")


def test_a_section_changed_by_hand_stays_and_another_is_added() -> None:
    own = new_id(0)
    first = render_update(own, DAY, "### What changed\n\nHalf of it.")
    edited = add_section("# Tea\n", first, own, set()).text.replace("Half", "A third")
    again = add_section(edited, render_update(own, DAY, "All."), own, {fingerprint(first)})

    assert again.kept_edited
    assert again.text.startswith(edited)


@settings(deadline=None)
@given(st.text(), st.text(alphabet="#ab \n`~-", max_size=200))
def test_any_document_takes_an_update_and_keeps_all_of_its_own(existing: str, report: str) -> None:
    own = new_id(0)
    section = render_update(own, DAY, report)
    updated = add_section(existing, section, own, set())
    assert updated.text.startswith(existing)


def test_the_folders_of_an_idea_come_newest_first() -> None:
    names = [
        "2026-01-01-tea", "2026-01-01-tea-10", "2026-01-01-tea-2", "2026-02-01-tea", "tea",
        "2026-01-01-tea-room", "2026-01-01-teas", "x2026-01-01-tea",
    ]  # fmt: skip
    assert [folder.name for folder in find_folders("Tea!", names)] == [
        "2026-02-01-tea",
        "2026-01-01-tea-10",
        "2026-01-01-tea-2",
        "2026-01-01-tea",
    ]


def test_ideas_are_the_same_apart_from_case_spaces_and_punctuation() -> None:
    assert hash_idea("A tea-room,  in Bern!") == hash_idea("a TEA room in bern")
    assert hash_idea("a tea room in Bern") != hash_idea("a tea room in Basel")
    assert hash_idea("!!!") != hash_idea("???")


LANGUAGES = ["A linter for C", "A linter for C++", "A linter for C#", "A linter for C+"]


def test_languages_that_differ_in_a_sign_are_different_ideas() -> None:
    assert len({hash_idea(idea) for idea in LANGUAGES}) == len(LANGUAGES)
    assert len({slug(idea) for idea in LANGUAGES}) == len(LANGUAGES)
    assert slug("C# & C++ in one editor") == "c-sharp-c-plus-plus-in-one-editor"


def test_signs_that_belong_to_no_word_are_punctuation() -> None:
    assert hash_idea("# Tea + cake #") == hash_idea("tea cake")
    assert slug("# Tea + cake #") == "tea-cake"


def test_folders_named_before_signs_counted_are_still_found() -> None:
    names = ["2026-01-01-a-linter-for-c", "2026-02-01-a-linter-for-c-sharp"]
    found = [folder.name for folder in find_folders("A linter for C#", names)]
    assert found == list(reversed(names))


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[["a"]]', "null", "[" * 100_000])
def test_a_log_that_is_not_ours_any_more_is_a_conflict(text: str) -> None:
    with pytest.raises(ConflictError, match="nothing was overwritten"):
        parse_log(text)


@pytest.mark.parametrize("text", [None, "", " \r\n", "\ufeff"])
def test_an_empty_log_has_no_entries(text: str | None) -> None:
    assert parse_log(text) == []


def test_a_place_is_found_again_from_its_document() -> None:
    place = ResearchFolder("2026-01-01-tea")
    assert ResearchFolder.of(place.document) == place


@given(st.text("abZ09 -_.é\t\n", max_size=60))
def test_a_simple_slug_is_the_one_that_the_library_makes(idea: str) -> None:
    made = slugify(idea, max_length=MAX_SLUG_LENGTH, word_boundary=True, save_order=True)
    assert slug(idea) == made or (not made and slug(idea).startswith("idea-"))
