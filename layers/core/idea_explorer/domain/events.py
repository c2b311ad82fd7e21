"""The events of a run: a closed set, from which the log, metrics, history and live view are made.

Fields are named as the live view sends them, in camelCase (`event_json.py`). Those marked `UNSENT` are for
the log, metrics and spans.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, SkipValidation
from pydantic.alias_generators import to_camel

from idea_explorer.domain.approvals import ApprovalOutcome
from idea_explorer.domain.errors import ErrorCode
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.plan import Plan
from idea_explorer.domain.run import Status
from idea_explorer.domain.text import one_line
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.domain.usage import Usage

Count: TypeAlias = Annotated[int, Field(ge=0)]
Cost: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # in dollars


UNSENT = Field(exclude=True)


def sent_name(field: str) -> str:
    return to_camel(field.rstrip("_"))  # as in `from_`: `from` is a Python keyword


class StreamEvent:
    __slots__ = ()
    __pydantic_config__ = ConfigDict(alias_generator=sent_name, populate_by_name=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventUsage(StreamEvent):
    """Billed tokens, as events name them."""

    input_tokens: Count
    output_tokens: Count
    cache_read_tokens: Count
    cache_write_tokens: Count

    @classmethod
    def of(cls, usage: Usage) -> "EventUsage":
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(StreamEvent):
    """A run begins, or goes on after a resume."""

    type: Literal["message_start"] = "message_start"
    message_id: str
    conversation_id: str
    model_id: Annotated[str, UNSENT] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(StreamEvent):
    """A part of the text that the model writes."""

    type: Literal["text_delta"] = "text_delta"
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(StreamEvent):
    """A part of the summary of the model's thinking: progress, never part of a report."""

    type: Literal["thinking_delta"] = "thinking_delta"
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart(StreamEvent):
    """A tool is called, with these arguments."""

    type: Literal["tool_call_start"] = "tool_call_start"
    tool_call_id: str
    tool_name: str
    input: JsonObject
    branch: Count | None = None  # that made the call; None: the run itself
    question: Count | None = None  # of the plan, by its number, that the call looks into
    during_answer: Annotated[bool, UNSENT] = False  # run by Anthropic


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnd(StreamEvent):
    """A tool call has ended with a result."""

    type: Literal["tool_call_end"] = "tool_call_end"
    tool_call_id: str
    summary: str
    result_count: Count | None = None
    duration_ms: Count | None = None
    output: JsonObject | None = None
    branch: Count | None = None
    record: Annotated[ToolRecord, UNSENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallError(StreamEvent):
    """A tool call has failed."""

    type: Literal["tool_call_error"] = "tool_call_error"
    tool_call_id: str
    error: str
    retryable: bool
    was_retried: bool
    branch: Count | None = None
    record: Annotated[ToolRecord, UNSENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(StreamEvent):
    """An answer of the model is complete."""

    type: Literal["step_finished"] = "step_finished"
    step: Count
    usage: EventUsage
    cost: Cost | None = None
    duration_ms: Count | None = None
    stop_reason: Annotated[str, UNSENT] = ""
    blocks: Annotated[SkipValidation[Sequence[Block]], UNSENT] = ()  # the whole answer


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAccepted(StreamEvent):
    """The plan that the run follows from here on. `edited`: a person changed what the model wrote."""

    type: Literal["plan_accepted"] = "plan_accepted"
    plan: Plan
    edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStarted(StreamEvent):
    """A question of the plan is researched by an exploration of its own. Its tool calls carry its number."""

    type: Literal["branch_started"] = "branch_started"
    branch: Count
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFinished(StreamEvent):
    """May come twice for the same branch, after a crash."""

    type: Literal["branch_finished"] = "branch_finished"
    branch: Count
    status: Status
    cost: Cost | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(StreamEvent):
    """A change waits for a person's decision."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    tool_call_id: str
    path: str
    new_path: str | None = None  # of a file that is moved
    description: str
    diff: str
    base_sha: str
    content_hash: str
    danger: str | None = None  # why approving it needs a confirmation of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided(StreamEvent):
    """A person has decided on a change, or the time for that is over."""

    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    decision: ApprovalOutcome
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChanged(StreamEvent):
    """The exploration has another status."""

    type: Literal["status_changed"] = "status_changed"
    from_: Status
    to: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(StreamEvent):
    """A run ends or waits; its usage so far."""

    type: Literal["message_end"] = "message_end"
    usage: EventUsage
    outcome: Annotated[str, UNSENT] = ""
    stop_reason: Annotated[str, UNSENT] = ""
    error: Annotated[str, UNSENT] = ""
    error_code: Annotated[ErrorCode | None, UNSENT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent(StreamEvent):
    """A run has failed."""

    type: Literal["error"] = "error"
    code: ErrorCode
    message: str


AnyEvent: TypeAlias = Annotated[
    MessageStart
    | TextDelta
    | ThinkingDelta
    | ToolCallStart
    | ToolCallEnd
    | ToolCallError
    | StepFinished
    | PlanAccepted
    | BranchStarted
    | BranchFinished
    | ApprovalRequested
    | ApprovalDecided
    | StatusChanged
    | MessageEnd
    | ErrorEvent,
    Field(discriminator="type"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled:
    """A failed model call will be retried, or, as step 0, a failed look at the repository. Only for
    listeners in this process: it is never sent or stored, because the live view's events are a closed
    set."""

    step: int
    attempt: int  # the next one
    attempts: int
    seconds: float
    reason: str
    error_type: str

    @property
    def sentence(self) -> str:
        after = f"in {math.ceil(self.seconds)} s" if self.seconds else "at once"
        tries = f"attempt {self.attempt} of {self.attempts}"
        return f"{one_line(self.reason, 160).rstrip('.')}. Trying again {after} ({tries})."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStarted:
    """A model call starts, with this input. The events of an earlier call without a `step_finished` no
    longer count. Never sent or stored, as above."""

    step: int
    system: Sequence[Block] = ()
    messages: Sequence[JsonObject] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """A run reached its final status. For the log; the history has `status_changed`."""

    exploration: Exploration


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportVerified:
    """A model has judged the report, or failed to. For log and metrics: it is no step of the run."""

    usage: EventUsage
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookGivenUp:
    """The webhook of a run will not be sent again. For log and metrics; the record has the delivery."""

    error: str


RunEvent: TypeAlias = (
    AnyEvent | RetryScheduled | AnswerStarted | RunFinished | ReportVerified | WebhookGivenUp
)
