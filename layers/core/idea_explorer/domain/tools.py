"""A tool call, its outcome, and what is remembered of it."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.evidence import Passage
from idea_explorer.domain.json import JsonObject, digest, dump_canonical

SharedErrorType = Literal[
    "invalid_arguments",
    "unknown_tool",
    "timeout",
    "network_error",
    "rate_limited",
    "service_unavailable",
    "auth_failed",
    "internal_error",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asked for. `input` is untrusted and not yet checked."""

    id: str
    name: str
    input: JsonObject

    @property
    def key(self) -> str:
        """Equal for the same call, whatever the order of its arguments."""
        return f"{self.name} {dump_canonical(self.input)}"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found: `fields` go to the model, the rest to people, logs and the evidence ledger."""

    fields: JsonObject
    summary: str
    result_count: int | None = None
    size: int | None = None
    passages: tuple[Passage, ...] = field(default=())
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call, well-formed whatever happened."""

    payload: JsonObject
    summary: str
    error_type: str | None = None
    transient: bool = False
    retry_after: float | None = None
    was_retried: bool = False
    result_count: int | None = None
    size: int | None = None
    passages: tuple[Passage, ...] = field(default=())
    proposal: Proposal | None = None  # the result waits for a person

    @property
    def ok(self) -> bool:
        return self.error_type is None

    @property
    def sha256(self) -> str:
        """Equal for equal findings; how long they took does not count."""
        return digest({name: v for name, v in self.payload.items() if name != "durationMs"})

    @classmethod
    def success(cls, output: ToolOutput) -> "ToolResult":
        return cls(
            payload={"ok": True, **output.fields},
            summary=output.summary,
            result_count=output.result_count,
            size=output.size,
            passages=output.passages,
            proposal=output.proposal,
        )

    @classmethod
    def failure(
        cls,
        error_type: str,
        message: str,
        *,
        hint: str = "",
        transient: bool = False,
        retry_after: float | None = None,
    ) -> "ToolResult":
        payload: JsonObject = {"ok": False, "error_type": error_type, "message": message}
        if hint:
            payload["hint"] = hint
        return cls(
            payload=payload,
            summary=message,
            error_type=error_type,
            transient=transient,
            retry_after=retry_after,
        )

    @classmethod
    def from_error(cls, error: ToolError) -> "ToolResult":
        return cls.failure(
            error.error_type,
            error.message,
            transient=error.transient,
            retry_after=error.retry_after,
        )


class ToolRecord(BaseModel):
    """One line of the log and of `stats.tool_calls`; never holds contents."""

    model_config = ConfigDict(frozen=True)

    name: str
    path: str | None = None
    duration_ms: int
    ok: bool
    bytes: int | None = None
    error_type: str | None = None
    was_retried: bool = False  # told by the log alone, and so is the step that made the call
    step: int | None = None

    @property
    def known_name(self) -> str:
        """A name to count by. A model may make up any, and each would be a count of its own."""
        return "unknown" if self.error_type == "unknown_tool" else self.name

    def as_json(self) -> JsonObject:
        """The contract's spelling, with absent fields left out."""
        named: JsonObject = {
            "name": self.name,
            "path": self.path,
            "durationMs": self.duration_ms,
            "ok": self.ok,
            "bytes": self.bytes,
            "errorType": self.error_type,
        }
        return {key: value for key, value in named.items() if value is not None}
