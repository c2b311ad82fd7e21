"""Results of tools as `search_result` blocks, and conversations that keep the form they began with."""

import json
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.search_results import LONGEST, build_search_results, split_text
from idea_explorer.domain.tools import Passage, ToolRecord, make_passage
from idea_explorer.domain.transcript import (
    AnyEntry,
    ModelCallFinished,
    Opening,
    StoredResult,
    ToolsRan,
)
from idea_explorer.domain.transcript_json import dump_entry, parse_entry
from idea_explorer.domain.turns import build_messages, build_prior_turns, without_search_results
from idea_explorer.domain.usage import Usage
from tests.fakes.anthropic_turns import result_citation

READ: JsonObject = {"ok": True, "content": "Tea sells.", "bytes": 10}


def stored(
    *passages: Passage, name: str = "read_research", payload: JsonObject = READ, ok: bool = True
) -> StoredResult:
    return StoredResult(
        call_id="c",
        name=name,
        input={},
        payload=payload,
        sha256="0",
        record=ToolRecord(name=name, duration_ms=1, ok=ok),
        passages=passages,
    )


def conversation(result: StoredResult, *, cites_results: bool) -> list[AnyEntry]:
    call: JsonObject = {"type": "tool_use", "id": "c", "name": result.name, "input": {}}
    return [
        Opening(
            model_id="m",
            system=[],
            tools=[],
            content=[{"type": "text", "text": "Tea"}],
            cites_results=cites_results,
        ),
        ModelCallFinished(
            step=1, content=[call], stop_reason="tool_use", usage=Usage(), duration_ms=1
        ),
        ToolsRan(step=1, results=(result,)),
    ]


def sent(result: StoredResult, *, cites_results: bool) -> Any:
    last = build_messages(conversation(result, cites_results=cites_results))[-1]["content"]
    assert isinstance(last, list)
    return last[0]


TEA = make_passage("ideas/market/tea.md", "Tea sells.", title="The tea market")


def test_a_document_is_one_result_under_the_path_that_the_tool_takes() -> None:
    assert sent(stored(TEA), cites_results=True) == {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [
            {
                "type": "search_result",
                "source": "market/tea.md",
                "title": "The tea market",
                "content": [{"type": "text", "text": "Tea sells."}],
                "citations": {"enabled": True},
            }
        ],
    }


def test_a_conversation_that_began_with_json_goes_on_with_it() -> None:
    result = sent(stored(TEA), cites_results=False)

    assert result == {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": '{"bytes":10,"content":"Tea sells.","ok":true}',
    }


def test_a_transcript_of_before_has_the_form_of_before() -> None:
    opening = json.loads(dump_entry(conversation(stored(TEA), cites_results=True)[0]))
    del opening["cites_results"]

    older = parse_entry(json.dumps(opening))
    assert isinstance(older, Opening)
    assert older.cites_results is False


def test_errors_and_empty_results_stay_json() -> None:
    failed: JsonObject = {"ok": False, "error_type": "file_not_found", "message": "No."}
    error = sent(stored(payload=failed, ok=False), cites_results=True)
    nothing = sent(
        stored(name="search_research", payload={"ok": True, "totalFound": 0}), cites_results=True
    )
    blank = sent(stored(make_passage("ideas/a.md", " \n")), cites_results=True)

    assert (json.loads(error["content"]), error["is_error"]) == (failed, True)
    assert json.loads(nothing["content"]) == {"ok": True, "totalFound": 0}
    assert isinstance(blank["content"], str)


def test_results_of_other_tools_stay_json() -> None:
    assert build_search_results(stored(TEA, name="read_file")) == []


def test_what_the_model_has_to_know_besides_stands_in_the_last_block() -> None:
    payload: JsonObject = {
        "ok": True,
        "totalFound": 9,
        "results": [{"path": "a b.md", "note": "only the excerpt"}],
        "truncated": True,
    }
    found = stored(TEA, make_passage("a b.md", "Two"), name="search_research", payload=payload)

    first, second = cast("list[dict[str, Any]]", build_search_results(found))

    assert first["content"] == [{"type": "text", "text": "Tea sells."}]
    text, note = second["content"]
    assert text == {"type": "text", "text": "Two"}
    assert json.loads(note["text"]) == {
        "totalFound": 9,
        "note on a b.md": "only the excerpt",
        "truncated": True,
    }


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \n."), max_size=4_000))
def test_the_pieces_of_a_text_are_the_text_and_none_is_blank(text: str) -> None:
    pieces = split_text(text)

    assert "".join(pieces) == (text if text.strip() else "")
    assert all(piece.strip() for piece in pieces)


def test_texts_are_split_where_a_reader_would() -> None:
    paragraph = "A sentence about tea. " * 12
    text = f"# Tea\n\n{paragraph}\n\n{paragraph}\n\nThe end."

    first, second, third = split_text(text)

    assert first.startswith("# Tea")
    assert second.startswith("A sentence")
    assert third == "The end."
    assert max(map(len, split_text("word. " * 5_000))) <= LONGEST
    assert all(piece.endswith(". ") for piece in split_text("word. " * 5_000))
    assert max(map(len, split_text("x" * 5_000))) == LONGEST


def test_a_model_without_search_results_continues_with_json_and_without_their_citations() -> None:
    entries = conversation(stored(TEA), cites_results=True)
    cited = result_citation("market/tea.md", "The tea market", "Tea sells.", result=0, block=0)
    said: JsonObject = {"type": "text", "text": "It sells.", "citations": [cited]}
    entries.append(
        ModelCallFinished(
            step=2, content=[said], stop_reason="end_turn", usage=Usage(), duration_ms=1
        )
    )

    turns = build_prior_turns(without_search_results(entries), same_model=False)

    assert "search_result" not in json.dumps(turns)
    assert build_prior_turns(entries, same_model=True)[3]["content"] == [said]
