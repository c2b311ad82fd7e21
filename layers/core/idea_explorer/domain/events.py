"""The events of a run: a closed set, from which the log, metrics, history and live view are made.

Fields are named as the live view sends them. Fields marked `exclude` are for the log, metrics and spans
and are never sent.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, SkipValidation, TypeAdapter
from pydantic.alias_generators import to_camel

from idea_explorer.domain.approvals import ApprovalOutcome
from idea_explorer.domain.base import DomainModel
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


class StreamEvent(DomainModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class EventUsage(StreamEvent):
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cache_read_tokens: int = Field(ge=0)
    cache_write_tokens: int = Field(ge=0)

    @classmethod
    def of(cls, usage: Usage) -> "EventUsage":
        return cls(**usage.model_dump(exclude={"searches"}))


class MessageStart(StreamEvent):
    type: Literal["message_start"] = "message_start"
    message_id: str
    conversation_id: str
    model_id: str = Field(default="", exclude=True)


class TextDelta(StreamEvent):
    type: Literal["text_delta"] = "text_delta"
    content: str


class ThinkingDelta(StreamEvent):
    """A part of the summary of the model's thinking: progress, never part of a report."""

    type: Literal["thinking_delta"] = "thinking_delta"
    content: str


class ToolCallStart(StreamEvent):
    type: Literal["tool_call_start"] = "tool_call_start"
    tool_call_id: str
    tool_name: str
    input: JsonObject
    branch: Count | None = None  # that made the call; None: the run itself
    question: Count | None = None  # of the plan, by its number, that the call looks into
    during_answer: bool = Field(default=False, exclude=True)  # run by Anthropic


class ToolCallEnd(StreamEvent):
    type: Literal["tool_call_end"] = "tool_call_end"
    tool_call_id: str
    summary: str
    result_count: Count | None = None
    duration_ms: Count | None = None
    output: JsonObject | None = None
    branch: Count | None = None
    record: ToolRecord = Field(exclude=True)


class ToolCallError(StreamEvent):
    type: Literal["tool_call_error"] = "tool_call_error"
    tool_call_id: str
    error: str
    retryable: bool
    was_retried: bool
    branch: Count | None = None
    record: ToolRecord = Field(exclude=True)


class StepFinished(StreamEvent):
    type: Literal["step_finished"] = "step_finished"
    step: Count
    usage: EventUsage
    cost: Cost | None = None
    duration_ms: Count | None = None
    stop_reason: str = Field(default="", exclude=True)
    blocks: SkipValidation[Sequence[Block]] = Field(default=(), exclude=True)  # the whole answer


class PlanAccepted(StreamEvent):
    """The plan that the run follows from here on. `edited`: a person changed what the model wrote."""

    type: Literal["plan_accepted"] = "plan_accepted"
    plan: Plan
    edited: bool = False


class BranchStarted(StreamEvent):
    """A question of the plan is researched by an exploration of its own. Its tool calls carry its number."""

    type: Literal["branch_started"] = "branch_started"
    branch: Count
    question: str


class BranchFinished(StreamEvent):
    """May come twice for the same branch, after a crash."""

    type: Literal["branch_finished"] = "branch_finished"
    branch: Count
    status: Status
    cost: Cost | None = None
    error: str | None = None


class ApprovalRequested(StreamEvent):
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


class ApprovalDecided(StreamEvent):
    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    decision: ApprovalOutcome
    reason: str | None = None


class StatusChanged(StreamEvent):
    type: Literal["status_changed"] = "status_changed"
    # `from` is a Python keyword
    from_: Status = Field(alias="from")
    to: Status


class MessageEnd(StreamEvent):
    type: Literal["message_end"] = "message_end"
    usage: EventUsage
    outcome: str = Field(default="", exclude=True)
    stop_reason: str = Field(default="", exclude=True)
    error: str = Field(default="", exclude=True)
    error_code: ErrorCode | None = Field(default=None, exclude=True)


class ErrorEvent(StreamEvent):
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


class RetryScheduled(DomainModel, frozen=True):
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


class AnswerStarted(DomainModel, frozen=True):
    """A model call starts, with this input. The events of an earlier call without a `step_finished` no
    longer count. Never sent or stored, as above."""

    step: int
    system: SkipValidation[Sequence[Block]] = ()
    messages: SkipValidation[Sequence[JsonObject]] = ()


class RunFinished(DomainModel, frozen=True):
    """A run reached its final status. For the log; the history has `status_changed`."""

    exploration: Exploration


class ReportVerified(DomainModel, frozen=True):
    """A model has judged the report, or failed to. For log and metrics: it is no step of the run."""

    usage: EventUsage
    cost: float


class WebhookGivenUp(DomainModel, frozen=True):
    """The webhook of a run will not be sent again. For log and metrics; the record has the delivery."""

    error: str


RunEvent: TypeAlias = (
    AnyEvent | RetryScheduled | AnswerStarted | RunFinished | ReportVerified | WebhookGivenUp
)


@cache  # slow to build, and most functions only write single events
def _adapter() -> TypeAdapter[AnyEvent]:
    return TypeAdapter(AnyEvent)


def parse_event(data: str) -> AnyEvent:
    """Parse an event as it was sent; raises ValidationError for an unknown type or a value that no event
    has. Fields that are never sent are empty."""
    event = json.loads(data)
    if isinstance(event, dict) and event.get("type") in {"tool_call_end", "tool_call_error"}:
        event["record"] = ToolRecord(
            name="", duration_ms=event.get("durationMs", 0), ok=event["type"] == "tool_call_end"
        )
    return _adapter().validate_python(event)


def event_schemas(ref_template: str) -> JsonObject:
    """JSON Schemas of the events as they are sent, by name; `Event` is any of them."""
    event = _adapter().json_schema(mode="serialization", ref_template=ref_template)
    schemas: dict[str, JsonObject] = {**event.pop("$defs"), "Event": event}
    for schema in schemas.values():
        sent, required = schema.get("properties"), schema.get("required")
        if isinstance(sent, dict) and "type" in sent and isinstance(required, list):
            schema["required"] = ["type", *required]  # it has a default, and is always sent
    return {**schemas}


def dump_event(event: AnyEvent) -> str:
    """The event as the live view sends it, without optional fields that are None."""
    return event.model_dump_json(by_alias=True, exclude_none=True)
