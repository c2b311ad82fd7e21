"""What the first message shows of a related document: its beginning, and what it left open."""

from idea_explorer.domain.related_research import (
    MAX_EXCERPT,
    MAX_OPEN,
    describe_document,
    find_unresolved,
    render_related,
)
from idea_explorer.domain.similar_research import Similar

SIMILAR = Similar(
    path="ideas/2026-04-22-tea/research.md",
    title="Tea rooms",
    verdict="PIVOT",
    date="2026-04-22",
    score=0.8,
)
TEXT = """\
---
idea: Tea rooms
---

# Tea rooms

> Offline run.

A tea room **pays** where [rents](https://rents.example) are low,
and nowhere else.

## Market

Rents fell by 4% ([Rents](https://a.example)). There are 300 rooms in Leeds ([R](https://r.ex) ⚠ unverified).
A room seats forty people on average. [Seats](https://s.example) ⚠ not supported by its source

## Questions worth answering

1. **Who pays?** Students or pensioners.
- What does a licence cost?

## Sources

1. Rooms ⚠ unverified: not found
"""


def test_a_document_is_shown_by_its_beginning_and_by_what_it_left_open() -> None:
    document = describe_document(SIMILAR, TEXT)
    assert document.text.split("\n") == [
        "Tea rooms",
        "document: 2026-04-22-tea/research.md; date: 2026-04-22; verdict: PIVOT",
        "A tea room pays where rents are low, and nowhere else.",
        "Left open:",
        "- There are 300 rooms in Leeds",
        "- A room seats forty people on average.",
        "- Who pays? Students or pensioners.",
        "- What does a licence cost?",
    ]
    assert (document.passage.source, document.passage.text) == (SIMILAR.path, document.text)
    assert document.text in render_related([document, document])


def test_what_people_wrote_by_hand_is_taken_as_it_is() -> None:
    bare = SIMILAR.model_copy(update={"date": None, "verdict": None})
    document = describe_document(bare, "Just a note.")
    assert document.text == "Tea rooms\ndocument: 2026-04-22-tea/research.md\nJust a note."
    assert describe_document(bare, "").excerpt == ""


def test_sizes_are_bounded() -> None:
    document = describe_document(SIMILAR, "tea " * 10_000)
    assert len(document.excerpt) <= MAX_EXCERPT
    claims = "".join(f"Claim {'a' * 30} {n} ⚠ unverified.\n" for n in range(50))
    assert len(find_unresolved(claims)) == MAX_OPEN


def test_marks_and_questions_are_read_in_other_languages() -> None:
    german = """\
# Teestuben

Eine Teestube lohnt sich.

## Markt

In Leipzig gibt es 300 Stuben davon ([R](https://r.ex) ⚠ nicht belegt).
Jede hat vierzig Plätze im Saal. [S](https://s.example) ⚠ von der Quelle nicht gestützt

## Offene Fragen

- Wer zahlt das?

## Quellen

1. Eine Liste von Stuben ⚠ nicht belegt: nicht gefunden
"""
    found = describe_document(SIMILAR, german, ["question", "frage"])
    assert found.unresolved == (
        "In Leipzig gibt es 300 Stuben davon",
        "Jede hat vierzig Plätze im Saal.",
        "Wer zahlt das?",
    )
