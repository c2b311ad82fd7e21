"""How entries of a transcript are stored: what comes back is what went in, and no text is there twice."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import Passage, ToolCall, ToolRecord, ToolResult, make_passage
from idea_explorer.domain.transcript import ApprovalsDecided, StoredResult, ToolsRan
from idea_explorer.domain.transcript_json import dump_entry, parse_entry

DOCUMENT = "Tea rooms of the north. " * 100
CALL = ToolCall("call-1", "read_research", {"path": "tea.md"})
RECORD = ToolRecord(name="read_research", path="tea.md", duration_ms=3, ok=True)


def ran(payload: JsonObject, *passages: Passage) -> ToolsRan:
    result = ToolResult.success(payload, "Read tea.md", passages=passages)
    return ToolsRan(step=1, results=(StoredResult.of(CALL, result, RECORD),))


def test_a_document_that_was_read_is_stored_once() -> None:
    entry = ran({"content": DOCUMENT, "bytes": 2_400}, make_passage("ideas/tea.md", DOCUMENT))

    stored = dump_entry(entry)

    assert stored.count(DOCUMENT.encode()) == 1
    assert parse_entry(stored) == entry


def test_so_is_what_was_read_after_an_approval() -> None:
    results = ran({"text": DOCUMENT}, make_passage("ideas/tea.md", DOCUMENT)).results
    entry = ApprovalsDecided(step=1, results=results)

    stored = dump_entry(entry)

    assert len(stored) < 1.5 * len(DOCUMENT)
    assert parse_entry(stored) == entry


TEXTS = st.sampled_from(["", "content", "a text", "another text", DOCUMENT])
PAYLOADS = st.dictionaries(
    st.sampled_from(["content", "text", "title", "path", ""]),
    st.one_of(TEXTS, st.integers(), st.none(), st.lists(TEXTS)),
)


@given(PAYLOADS, st.lists(TEXTS))
def test_what_is_read_again_is_what_was_stored(payload: Any, texts: list[str]) -> None:
    entry = ran(payload, *(make_passage(f"{n}.md", text) for n, text in enumerate(texts)))

    assert parse_entry(dump_entry(entry)) == entry


def test_an_entry_of_an_earlier_version_has_its_texts_in_its_passages() -> None:
    entry = ran({"content": DOCUMENT}, make_passage("ideas/tea.md", DOCUMENT))
    older = json.loads(dump_entry(entry))
    for result in older["results"]:
        del result["texts_in"]
        result["passages"][0]["text"] = DOCUMENT

    assert parse_entry(json.dumps(older)) == entry


@pytest.mark.parametrize("texts_in", [["nowhere"], ["bytes"], ["content", "content"]])
def test_an_entry_whose_text_is_missing_cannot_be_read(texts_in: list[str]) -> None:
    entry = ran({"content": DOCUMENT, "bytes": 2_400}, make_passage("ideas/tea.md", DOCUMENT))
    damaged = json.loads(dump_entry(entry))
    damaged["results"][0]["texts_in"] = texts_in

    with pytest.raises(ValueError, match=r"no text in|longer than"):
        parse_entry(json.dumps(damaged))
