"""The transcript: everything that was said, in the Messages API's own blocks, append-only.

Each entry is stored before anything acts on it, so a run that dies is picked up from here, and what
a run knows (steps, spend, evidence, progress) is always computed from its entries, never kept beside
them. System prompt, tools and settings stand in the opening and are re-sent word for word: changing
what came before would invalidate prompt caches and signed thinking.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.json import Block, JsonObject, dump_canonical
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.usage import Usage

WriteReason = Literal[
    "max_steps",
    "deadline",
    "budget",
    "repeated_call",
    "no_new_evidence",
    "empty_answer",
    "pauses",
    "context_window",
    "rejected",
    "incomplete",
]
RewriteReason = Literal["no_text", "incomplete"]
THINKING = frozenset({"thinking", "redacted_thinking"})


class TranscriptEntry(BaseModel):
    model_config = ConfigDict(frozen=True)


class Opening(TranscriptEntry):
    """The first thing said: what every later request of this exploration starts with.

    `turns` are those of the exploration that this one goes on from, as they were sent and answered.
    """

    kind: Literal["opening"] = "opening"
    model_id: str
    system: list[Block]
    tools: list[Block]
    turns: list[JsonObject] = []
    content: list[Block]
    passages: list[Passage] = []  # documents that the request brought along
    thinking: JsonObject | None = None
    effort: str | None = None  # of the conversation
    write_effort: str | None = None  # where it differs while writing
    framework: Framework | None = None  # what the report must have
    changes_effort: bool = False  # whether the model takes another within the conversation
    new_effort: str | None = None  # from here on, where the turns before ended with another


class ModelCallStarted(TranscriptEntry):
    """A model call is about to be made. `reserved` is the most it can cost; if no answer follows,
    that is what it is taken to have cost."""

    kind: Literal["asked"] = "asked"
    step: int
    tools_off: bool
    max_tokens: int
    reserved: Usage


class ModelCallFinished(TranscriptEntry):
    """A whole answer of the model."""

    kind: Literal["answered"] = "answered"
    step: int
    content: list[Block]
    stop_reason: str
    stop_detail: str = ""
    usage: Usage
    duration_ms: int


class ModelCallFailed(TranscriptEntry):
    """A call that ended without a whole answer. Its text is kept for people, never sent back."""

    kind: Literal["cut"] = "cut"
    step: int
    text: str
    usage: Usage
    reason: str
    overflow: bool = False  # refused, because the conversation is too long for the model
    rejected: bool = False  # refused for another reason, such as thinking that is no longer valid


class StoredResult(TranscriptEntry):
    call_id: str
    name: str
    input: JsonObject
    payload: JsonObject
    sha256: str
    record: ToolRecord
    passages: tuple[Passage, ...] = ()

    @classmethod
    def of(cls, call: ToolCall, result: ToolResult, record: ToolRecord) -> "StoredResult":
        return cls(
            call_id=call.id,
            name=call.name,
            input=call.input,
            payload=result.payload,
            sha256=result.sha256,
            record=record,
            passages=result.passages,
        )


class PendingCall(TranscriptEntry):
    """A call whose result is a person's decision."""

    call_id: str
    name: str
    input: JsonObject
    approval_id: str
    proposal: Proposal


class ToolsRan(TranscriptEntry):
    """The results of one step's calls, in the order of the calls, and the calls that still wait."""

    kind: Literal["tools_ran"] = "tools_ran"
    step: int
    results: tuple[StoredResult, ...]
    pending: tuple[PendingCall, ...] = ()
    refused: bool = False  # nothing ran: the report was asked for, and these calls came instead


class WrittenChange(TranscriptEntry):
    """A change that was approved and written, as every tool sees it from then on."""

    path: str
    content: str


class ApprovalsDecided(TranscriptEntry):
    """What became of the calls that waited: a result for each of them."""

    kind: Literal["decided"] = "decided"
    step: int
    run: int = 0  # in which the results were given; not known of older ones
    results: tuple[StoredResult, ...]
    written: tuple[WrittenChange, ...] = ()


class Instruction(TranscriptEntry):
    """Words of ours: to write, to write again, to go on after a cut, or to take up a resumed run."""

    kind: Literal["said"] = "said"
    purpose: Literal["write", "rewrite", "continue", "resume"]
    reason: WriteReason | None = None
    again: RewriteReason | None = None
    run: int | None = None  # the run that a resume began
    effort: str | None = None  # from here on, where it changes
    text: str


class ConversationRestarted(TranscriptEntry):
    """A new conversation that only writes: the old turns do not fit, or do not end."""

    kind: Literal["restarted"] = "restarted"
    reason: WriteReason
    content: list[Block]


AnyEntry: TypeAlias = Annotated[
    Opening
    | ModelCallStarted
    | ModelCallFinished
    | ModelCallFailed
    | ToolsRan
    | ApprovalsDecided
    | Instruction
    | ConversationRestarted,
    Field(discriminator="kind"),
]
_ADAPTER: TypeAdapter[AnyEntry] = TypeAdapter(AnyEntry)


def parse_entry(data: bytes | str) -> AnyEntry:
    return _ADAPTER.validate_json(data)


def dump_entry(entry: AnyEntry) -> bytes:
    return _ADAPTER.dump_json(entry, exclude_defaults=False)


def build_messages(entries: Sequence[AnyEntry]) -> list[JsonObject]:
    """The `messages` of the next request. Each request extends the one before."""
    turns: list[JsonObject] = []
    waiting: list[StoredResult] = []
    for entry in entries:
        match entry:
            case Opening():
                turns = [dict(message) for message in entry.turns]
                _extend(turns, "user", entry.content)
                if entry.new_effort:
                    turns.append(_effort_change(entry.new_effort))
            case ConversationRestarted():
                turns = [{"role": "user", "content": [*entry.content]}]
            case ModelCallFinished() if sendable(entry):
                _extend(turns, "assistant", sendable(entry))
            case ToolsRan():
                waiting = [] if not entry.pending else list(entry.results)
                if not entry.pending:
                    _extend(turns, "user", [result_block(result) for result in entry.results])
            case ApprovalsDecided():
                results = _in_order([*waiting, *entry.results], blocks_of(turns[-1]))
                _extend(turns, "user", [result_block(result) for result in results])
            case Instruction():
                _drop_unanswered(turns)
                _extend(turns, "user", [{"type": "text", "text": entry.text}])
                if entry.effort:
                    turns.append(_effort_change(entry.effort))
            case _:
                pass
    return turns


def _drop_unanswered(turns: list[JsonObject]) -> None:
    """A call that nothing came of, such as one beside a refusal, cannot stand in a conversation."""
    if turns[-1]["role"] != "assistant":
        return
    said = closed([b for b in blocks_of(turns[-1]) if b.get("type") != "tool_use"])
    turns[-1:] = [{**turns[-1], "content": [*said]}] if said else []


def blocks_of(message: JsonObject) -> list[Block]:
    content = message["content"]
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict)]


def _effort_change(effort: str) -> JsonObject:
    """It takes effect with the answer that follows, and stays where it is in every later request."""
    return {"role": "system", "content": [], "output_config": {"effort": effort}}


def find_effort(turns: Sequence[JsonObject], effort: str | None) -> str | None:
    """The effort in effect after some turns that began with one."""
    for message in reversed(turns):
        changed = message.get("output_config")
        if isinstance(changed, dict):
            return str(changed.get("effort"))
    return effort


def _in_order(results: list[StoredResult], answer: Sequence[Block]) -> list[StoredResult]:
    """The results of one step in the order of its calls, whenever each of them came."""
    order = {block.get("id"): index for index, block in enumerate(answer)}
    return sorted(results, key=lambda result: order.get(result.call_id, len(order)))


def sendable(answer: ModelCallFinished) -> list[Block]:
    """What of an answer may go back. A call cut off by the output limit is never half-executed:
    it is left out, as if the model had not begun it."""
    content = [block for block in answer.content if not _is_empty_text(block)]
    if answer.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        content = [block for block in content if block.get("type") != "tool_use"]
        content = without_pending(content)
    return content if answer.stop_reason == "pause_turn" else closed(content)


def closed(content: Sequence[Block]) -> list[Block]:
    """The blocks of a turn that has ended: it may not end in thinking, and not be all thinking."""
    said = list(content)
    while said and said[-1].get("type") in THINKING:
        said.pop()
    return [] if all(_says_nothing(block) for block in said) else said


def _says_nothing(block: Block) -> bool:
    """An answer of nothing but thinking cannot stand in a conversation."""
    blank = block.get("type") == "text" and not str(block.get("text") or "").strip()
    return blank or block.get("type") in THINKING


def pending_server_calls(content: Sequence[Block]) -> set[str]:
    """Server-side calls that have no result yet: the turn has to be sent back to finish them."""
    called = {str(b.get("id")) for b in content if b.get("type") == "server_tool_use"}
    answered = {str(b.get("tool_use_id")) for b in content if "tool_use_id" in b}
    return called - answered


def without_pending(content: list[Block]) -> list[Block]:
    pending = pending_server_calls(content)
    return [block for block in content if str(block.get("id")) not in pending]


def _is_empty_text(block: Block) -> bool:
    """The API takes none. White space is no such text: a turn goes back as it came."""
    return block.get("type") == "text" and not block.get("text")


def _extend(turns: list[JsonObject], role: str, content: Sequence[Block]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1] = {**turns[-1], "content": [*blocks_of(turns[-1]), *content]}
    else:
        turns.append({"role": role, "content": [*content]})


def result_block(result: StoredResult) -> Block:
    """A result as the model reads it."""
    block: Block = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": dump_canonical(result.payload),
    }
    if not result.record.ok:
        block["is_error"] = True
    return block
