"""The entries of a transcript: an append-only record of a conversation, in the Messages API's own blocks.

Each entry is stored before anything acts on it, so a run that dies resumes from here. What a run knows
(steps, spend, evidence, progress) is always computed from its entries. The opening holds the system
prompt, tools and settings, which every request repeats word for word: a change would invalidate prompt
caches and signed thinking.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.branches import BranchFindings, BranchTask
from idea_explorer.domain.claims import Claim
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.json import Block, JsonObject, dump_canonical
from idea_explorer.domain.tools import Passage, ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.usage import Usage

WriteReason = Literal[
    "max_steps",
    "deadline",
    "budget",
    "repeated_call",  # in older transcripts, as is the next
    "no_new_evidence",
    "no_progress",
    "cut_calls",
    "empty_answer",
    "pauses",
    "context_window",
    "rejected",
    "incomplete",
    "branches",
    "unsupported",
]
RewriteReason = Literal["no_text", "incomplete", "unsupported", "cut_call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What every request of this exploration starts with. `turns` are those of the exploration that this
    one continues, as they were sent and answered."""

    kind: Literal["opening"] = "opening"
    model_id: str
    system: list[Block]
    tools: list[Block]
    turns: list[JsonObject] = field(default_factory=list)
    content: list[Block]
    requests: list[str] | None = (
        None  # what people wrote, also in `turns`; None in older transcripts
    )
    passages: list[Passage] = field(default_factory=list)  # documents attached to the request
    thinking: JsonObject | None = None
    effort: str | None = None
    write_effort: str | None = None  # while writing, where it differs
    framework: Framework | None = None  # what the report must contain
    changes_effort: bool = False  # whether the model can change effort within a conversation
    new_effort: str | None = None  # from here on, where `turns` ended with another
    question: str = ""  # of a branch: the question of its parent's plan, which `content` attaches
    private: bool = False  # of a branch: its parent had read private text when it asked
    reviews_plan: bool = False  # nothing is searched before a person has accepted the plan
    adds_result: bool = (
        False  # whether the report ends with what the toolset's result tool returned
    )
    cites_results: bool = False  # whether results of tools are sent as `search_result` blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStarted:
    """A model call is about to be made. `reserved` is the most it can cost, and what it counts as
    having cost if no answer follows."""

    kind: Literal["asked"] = "asked"
    step: int
    tools_off: bool
    max_tokens: int
    reserved: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallFinished:
    """A complete answer of the model."""

    kind: Literal["answered"] = "answered"
    step: int
    content: list[Block]
    stop_reason: str
    stop_detail: str = ""
    usage: Usage
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallFailed:
    """A model call without a complete answer. Its text is for people and never sent back."""

    kind: Literal["cut"] = "cut"
    step: int
    text: str
    usage: Usage
    reason: str
    overflow: bool = False  # the conversation is too long for the model
    rejected: bool = False  # for another reason, such as thinking that is no longer valid


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """The result of a tool call. Without slots: it keeps its payload as text."""

    call_id: str
    name: str
    input: JsonObject
    payload: JsonObject
    sha256: str
    record: ToolRecord
    passages: tuple[Passage, ...] = ()
    texts_in: tuple[str, ...] = ()  # only while it is stored (`transcript_json.py`)

    @classmethod
    def of(cls, call: ToolCall, result: ToolResult, record: ToolRecord) -> "StoredResult":
        stored = cls(
            call_id=call.id,
            name=call.name,
            input=call.input,
            payload=result.payload,
            sha256=result.sha256,
            record=record,
            passages=result.passages,
        )
        stored.__dict__["canonical"] = result.canonical  # as a cached property keeps it
        return stored

    @cached_property
    def canonical(self) -> str:
        """The payload as text. It may be large, so what the tool's result has is used again."""
        return dump_canonical(self.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that waits for a person's decision."""

    call_id: str
    name: str
    input: JsonObject
    approval_id: str
    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsRan:
    """The results of one step's calls, in the order of the calls, and the calls that wait for approval."""

    kind: Literal["tools_ran"] = "tools_ran"
    step: int
    results: tuple[StoredResult, ...]
    pending: tuple[PendingCall, ...] = ()
    refused: bool = False  # nothing ran: the model called tools when told to write


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenChange:
    """An approved change, which every tool sees from then on. Without content the file is gone."""

    path: str
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsDecided:
    """The results of the calls that waited for approval."""

    kind: Literal["decided"] = "decided"
    step: int
    run: int = 0  # that gave the results; 0 in older transcripts
    results: tuple[StoredResult, ...]
    written: tuple[WrittenChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A message to the model: write, write again, continue a cut-off answer, or resume."""

    kind: Literal["said"] = "said"
    purpose: Literal["write", "rewrite", "continue", "resume"]
    reason: WriteReason | None = None
    again: RewriteReason | None = None
    run: int | None = None  # that a resume started
    effort: str | None = None  # from here on, where it changes
    attached: list[Block] = field(default_factory=list)  # what the text is about, as documents
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRestarted:
    """A new conversation to write the report in, because the old one is too long or does not end."""

    kind: Literal["restarted"] = "restarted"
    reason: WriteReason
    content: list[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesStarted:
    """Questions of the plan are about to be researched, each by an exploration of its own."""

    kind: Literal["branches_started"] = "branches_started"
    branches: tuple[BranchTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesFinished:
    """What became of them. `content` is what the model is told: to write from the findings, or, where
    there are none, to research the questions itself."""

    kind: Literal["branches_finished"] = "branches_finished"
    findings: tuple[BranchFindings, ...]
    content: list[Block]

    @property
    def has_answers(self) -> bool:
        return any(found.text for found in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationStarted:
    """A model is about to judge the report. `reserved` is the most that it can cost, and what it counts as
    having cost if nothing follows."""

    kind: Literal["verifying"] = "verifying"
    model_id: str
    reserved: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationFinished:
    """The verdict on each cited sentence of the report as it stood here. Without a model's call
    `model_id` is empty; `error` says why a call gave no verdicts."""

    kind: Literal["verified"] = "verified"
    model_id: str = ""
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    claims: tuple[Claim, ...] = ()


AnyEntry: TypeAlias = Annotated[
    Opening
    | ModelCallStarted
    | ModelCallFinished
    | ModelCallFailed
    | ToolsRan
    | ApprovalsDecided
    | Instruction
    | ConversationRestarted
    | BranchesStarted
    | BranchesFinished
    | VerificationStarted
    | VerificationFinished,
    Field(discriminator="kind"),
]
