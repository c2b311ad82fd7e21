"""Conversations that the model's context window does not hold."""

from pathlib import Path

import pytest

from idea_explorer.agent.budget import estimate_tokens
from idea_explorer.agent.fresh_start import MAX_EVIDENCE_TOKENS
from idea_explorer.domain.errors import TooLongError
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import Reply, calls, last_texts, raw, says, scripted

REPORT = "# A tea room"
OVERFLOW = raw({"type": "text", "text": ""}, stop_reason="model_context_window_exceeded")
REFUSED = TooLongError("The conversation is too large for Claude (400).")


@pytest.mark.parametrize("overflow", [OVERFLOW, REFUSED], ids=["stopped", "refused"])
def test_a_new_conversation_holds_no_more_than_fits(tmp_path: Path, overflow: Reply) -> None:
    paths = [f"d{n}.md" for n in range(14)]
    wanted: list[tuple[str, JsonObject]] = [("read_research", {"path": path}) for path in paths]
    b = Bench(tmp_path, model := scripted([calls(*wanted), overflow, says(REPORT)]))
    for path in paths:
        b.write(path, f"{path}: {'word ' * 10_000}")
    done = b.run()
    last = model.requests[-1]
    assert done.status == "completed"
    assert all(f"{path}: word" in last_texts(last)[-1] for path in paths)
    assert estimate_tokens(last) < MAX_EVIDENCE_TOKENS + 10_000
    assert replay(b.entries(done)).divergence == ""


@pytest.mark.parametrize("overflow", [OVERFLOW, REFUSED], ids=["stopped", "refused"])
def test_a_conversation_that_never_fits_fails_after_one_new_one(
    tmp_path: Path, overflow: Reply
) -> None:
    b = Bench(tmp_path, model := scripted([calls(("list_research", {})), overflow]))
    b.write("a.md", "x")
    done = b.run()
    assert (done.status, done.run.stats.stop_reason) == ("failed", "context_window")
    assert model.writing == [False, False, True]
    assert done.run.receipt is not None
    assert "The conversation is too l" in done.run.receipt.message
    b.with_model(model := scripted([calls(("read_research", {"path": "a.md"})), says(REPORT)]))
    assert b.resume(done).run.outcome == "completed"
    assert model.writing == [False, False]


def test_a_request_that_is_too_long_from_the_start_is_not_sent_again(tmp_path: Path) -> None:
    b = Bench(tmp_path, model := scripted([REFUSED]))
    done = b.run()
    assert (done.status, len(model.requests)) == ("failed", 1)
    assert done.run.receipt is not None
    assert done.run.receipt.code == "VALIDATION_ERROR"


SEARCH: list[Block] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1",
     "content": [{"type": "web_search_result", "url": "https://example.org/s1", "title": "T",
                  "encrypted_content": "…", "page_age": None}]},
]  # fmt: skip


def test_a_new_conversation_holds_what_was_cited_of_the_web(tmp_path: Path) -> None:
    cited: Block = {
        "type": "text",
        "text": "Tea sells.",
        "citations": [
            {"type": "web_search_result_location", "url": "https://example.org/s1", "title": "T",
             "cited_text": "Sales of tea have doubled.", "encrypted_index": "…"}
        ],
    }  # fmt: skip
    searched = raw(*SEARCH, cited, stop_reason="model_context_window_exceeded")
    model = scripted([searched, says(REPORT)])
    Bench(tmp_path, model).run()
    assert "Sales of tea have doubled." in last_texts(model.requests[-1])[-1]
