"""The messages of a request, built from the entries of a transcript.

Each request extends the one before it, so prompt caches and signed thinking stay valid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from idea_explorer.domain.cited_sources import IN_SEARCH_RESULT, CitedDocument, list_documents
from idea_explorer.domain.json import Block, JsonObject, citations_of, dump_canonical, json_size
from idea_explorer.domain.search_results import build_search_results
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    Opening,
    StoredResult,
    ToolsRan,
)

THINKING = frozenset({"thinking", "redacted_thinking"})
NOT_RUN: JsonObject = {
    "ok": False,
    "error_type": "not_run",
    "message": "The exploration ended before this call had a result.",
}


@dataclass(frozen=True, slots=True)
class Messages:
    """The `messages` of a request, and how many bytes of JSON they are. `fixed_size` are those of the system
    prompt and the tools, which stay the same. `paused_at` is described in `ModelRequest`."""

    turns: Sequence[JsonObject]
    size: int
    fixed_size: int
    paused_at: tuple[int, int] | None = None


class Conversation:
    """The messages of a transcript while it grows. What an entry adds is built and measured once."""

    def __init__(self) -> None:
        self._built = 0  # entries whose turns are there
        self._turns: list[JsonObject] = []
        self._sizes: list[tuple[JsonObject, int]] = []
        self._fixed_size = 0
        self._paused_at: tuple[int, int] | None = None
        self._waiting: list[StoredResult] = []
        self._cited = False

    def follow(self, entries: Sequence[AnyEntry]) -> Messages:
        """The messages of the next request. The entries are those of the call before, and more."""
        for entry in entries[self._built :]:
            self._add(entry)
        self._built = len(entries)
        return Messages(tuple(self._turns), self._measure(), self._fixed_size, self._paused_at)

    def _measure(self) -> int:
        """A turn that has changed is another object, and so are all that follow it."""
        same = 0
        for (measured, _), turn in zip(self._sizes, self._turns, strict=False):
            if measured is not turn:
                break
            same += 1
        del self._sizes[same:]
        self._sizes += [(turn, json_size(turn)) for turn in self._turns[same:]]
        return sum(size for _, size in self._sizes)

    def _add(self, entry: AnyEntry) -> None:
        turns = self._turns
        match entry:
            case Opening():
                self._cited = entry.cites_results
                self._fixed_size = measure_fixed(entry.system, entry.tools)
                turns[:] = [dict(message) for message in entry.turns]
                _extend(turns, "user", entry.content)
                if entry.new_effort:
                    turns.append(_effort_change(entry.new_effort))
            case ConversationRestarted():
                turns[:] = [{"role": "user", "content": [*entry.content]}]
                self._paused_at = None
            case ModelCallFinished() if content := prepare_answer(entry):
                goes_on = turns[-1]["role"] == "assistant"
                self._paused_at = (len(turns) - 1, len(_blocks(turns[-1]))) if goes_on else None
                _extend(turns, "assistant", content)
            case ToolsRan() if entry.pending:
                self._waiting = list(entry.results)
            case ToolsRan():
                self._add_results(entry.results)
            case ApprovalsDecided():
                results = [*self._waiting, *entry.results]
                self._add_results(_sort_by_call(results, _blocks(turns[-1])))
                self._waiting = []
            case BranchesFinished():
                _extend(turns, "user", entry.content)
            case Instruction():
                _drop_unanswered_calls(turns)
                if self._paused_at and self._paused_at[0] >= len(turns):  # the turn was dropped
                    self._paused_at = None
                _extend(turns, "user", [*entry.attached, {"type": "text", "text": entry.text}])
                if entry.effort:
                    turns.append(_effort_change(entry.effort))

    def _add_results(self, results: Sequence[StoredResult]) -> None:
        blocks = [_result_block(result, cited=self._cited) for result in results]
        _extend(self._turns, "user", blocks)


def measure_fixed(system: Sequence[Block], tools: Sequence[Block]) -> int:
    """The bytes as JSON of what every request of a conversation repeats."""
    return json_size([*system]) + json_size([*tools])


def build_messages(entries: Sequence[AnyEntry]) -> list[JsonObject]:
    """The `messages` of the next request."""
    return [*Conversation().follow(entries).turns]


def list_blocks(messages: Sequence[JsonObject]) -> list[Block]:
    return [block for message in messages for block in _blocks(message)]


def build_prior_turns(entries: Sequence[AnyEntry], *, same_model: bool) -> list[JsonObject]:
    """The turns of a finished exploration, ready for another question. The run may have ended anywhere: a
    call without a result gets `NOT_RUN`, an unfinished search is left out. Thinking is signed for one
    model, so another model does not get it; nor does it get changes of effort, which it may not
    support."""
    turns = build_messages(entries)
    if not same_model:
        turns = [
            {**turn, "content": [b for b in _blocks(turn) if b.get("type") not in THINKING]}
            for turn in turns
            if turn["role"] != "system"
        ]
    if turns and turns[-1]["role"] == "assistant":
        answer = _drop_trailing_thinking(_drop_pending(_blocks(turns[-1])))
        turns[-1:] = [
            {"role": "assistant", "content": [*answer]},
            {"role": "user", "content": [*_results_for(answer, entries)]},
        ]
    return [turn for turn in turns if turn["content"] or turn["role"] == "system"]


def without_search_results(entries: Sequence[AnyEntry]) -> list[AnyEntry]:
    """The entries as a model gets them that takes no `search_result` blocks, nor citations of them."""

    def convert(entry: AnyEntry) -> AnyEntry:
        match entry:
            case Opening():
                return replace(entry, cites_results=False)
            case ModelCallFinished():
                content = [_drop_result_citations(block) for block in entry.content]
                return replace(entry, content=content)
            case _:
                return entry

    return [convert(entry) for entry in entries]


def _drop_result_citations(block: Block) -> Block:
    citations = citations_of(block)
    rest = [c for c in citations if c.get("type") != IN_SEARCH_RESULT]
    return block if len(rest) == len(citations) else {**block, "citations": [*rest]}


def find_documents(entries: Sequence[AnyEntry]) -> list[CitedDocument]:
    """The documents of a conversation, in their order."""
    documents: list[CitedDocument] = []
    for entry in entries:
        match entry:
            case Opening():
                turns = [block for turn in entry.turns for block in _blocks(turn)]
                paths = {passage.source for passage in entry.passages}
                documents = [*list_documents(turns, paths), *list_documents(entry.content, paths)]
            case ModelCallFinished():
                documents += list_documents(entry.content, set())
            case Instruction():
                documents += list_documents(entry.attached, set())
    return documents


def find_effort(turns: Sequence[JsonObject], effort: str | None) -> str | None:
    """The effort in effect after these turns, which began with `effort`."""
    for message in reversed(turns):
        changed = message.get("output_config")
        if isinstance(changed, dict):
            return str(changed.get("effort"))
    return effort


def prepare_answer(answer: ModelCallFinished) -> list[Block]:
    """The blocks of an answer that may be sent back. A call cut off by the output limit is dropped, as
    if the model had not begun it."""
    # the API rejects empty text; white space is sent back as it came
    content = [b for b in answer.content if b.get("type") != "text" or b.get("text")]
    if answer.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        content = _drop_pending([b for b in content if b.get("type") != "tool_use"])
    return content if answer.stop_reason == "pause_turn" else _drop_trailing_thinking(content)


def find_pending_server_calls(content: Sequence[Block]) -> set[str]:
    """Server-side calls without a result yet: the turn has to be sent back to finish them."""
    called = {str(b.get("id")) for b in content if b.get("type") == "server_tool_use"}
    answered = {str(b.get("tool_use_id")) for b in content if "tool_use_id" in b}
    return called - answered


def _blocks(message: JsonObject) -> list[Block]:
    content = message["content"]
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict)]


def _extend(turns: list[JsonObject], role: str, content: Sequence[Block]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1] = {**turns[-1], "content": [*_blocks(turns[-1]), *content]}
    else:
        turns.append({"role": role, "content": [*content]})


def _effort_change(effort: str) -> JsonObject:
    """Takes effect with the next answer, and stays in place in every later request."""
    return {"role": "system", "content": [], "output_config": {"effort": effort}}


def _sort_by_call(results: list[StoredResult], answer: Sequence[Block]) -> list[StoredResult]:
    """The results of one step in the order of its calls, however late a person's decision came."""
    order = {block.get("id"): index for index, block in enumerate(answer)}
    return sorted(results, key=lambda result: order.get(result.call_id, len(order)))


def _drop_unanswered_calls(turns: list[JsonObject]) -> None:
    """The API rejects a call without a result, such as one beside a refusal."""
    if turns[-1]["role"] != "assistant":
        return
    calls_dropped = [b for b in _blocks(turns[-1]) if b.get("type") != "tool_use"]
    content = _drop_trailing_thinking(calls_dropped)
    turns[-1:] = [{**turns[-1], "content": [*content]}] if content else []


def _drop_trailing_thinking(content: Sequence[Block]) -> list[Block]:
    """A finished turn may not end in thinking, nor consist of nothing else."""
    rest = list(content)
    while rest and rest[-1].get("type") in THINKING:
        rest.pop()
    return [] if all(_is_blank(block) for block in rest) else rest


def _is_blank(block: Block) -> bool:
    is_blank_text = block.get("type") == "text" and not str(block.get("text") or "").strip()
    return is_blank_text or block.get("type") in THINKING


def _drop_pending(content: list[Block]) -> list[Block]:
    pending = find_pending_server_calls(content)
    return [block for block in content if str(block.get("id")) not in pending]


def _results_for(answer: Sequence[Block], entries: Sequence[AnyEntry]) -> list[Block]:
    """A result for each call of the last answer, in its order."""
    opening, last = entries[0], entries[-1]
    cited = isinstance(opening, Opening) and opening.cites_results
    results = last.results if isinstance(last, ToolsRan) else ()
    known = {result.call_id: _result_block(result, cited=cited) for result in results}
    called = [str(block.get("id")) for block in answer if block.get("type") == "tool_use"]
    return [
        known.get(call_id) or _block(call_id, dump_canonical(NOT_RUN), ok=False)
        for call_id in called
    ]


def _result_block(result: StoredResult, *, cited: bool) -> Block:
    if cited and (found := build_search_results(result)):
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": [*found]}
    return _block(result.call_id, result.canonical, ok=result.record.ok)


def _block(call_id: str, content: str, *, ok: bool) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return block if ok else block | {"is_error": True}
