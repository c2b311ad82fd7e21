"""Apply what a person decided on the changes that a run proposed."""

from collections.abc import Sequence

from idea_explorer.agent.state import State
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import (
    AuthFailedError,
    BaseMovedError,
    ConfigurationError,
    ExplorerError,
)
from idea_explorer.domain.events import (
    ApprovalDecided,
    ToolCallEnd,
    ToolCallError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    PendingCall,
    StoredResult,
    WrittenChange,
)
from idea_explorer.ports import ChangeWriter, EventSink, Transcript
from idea_explorer.usecases.deps import Deps

EXPIRED = "approval_expired"
TOO_LATE = "Nobody decided in time."


def has_expired(entries: Sequence[AnyEntry], run: int) -> bool:
    """Whether the run ends because nobody decided on one of its changes in time."""
    last = entries[-1] if entries else None
    return (
        isinstance(last, ApprovalsDecided)
        and last.run == run
        and any(result.record.error_type == EXPIRED for result in last.results)
    )


def apply_decisions(
    exploration: Exploration,
    transcript: Transcript,
    writer: ChangeWriter | None,
    sink: EventSink,
    deps: Deps,
) -> None:
    """Write what was approved, exactly once, and give the model its results.

    Events are emitted only after all of it is stored, so that a repetition ends no call twice. While
    anything is undecided, as after a kill or a resume, nothing is done: the run asks the same again.
    """
    waiting = State(transcript.entries).waiting
    decided = {a.id: a for a in deps.approvals.approvals(exploration.id) if a.decision}
    if not waiting or any(call.approval_id not in decided for call in waiting):
        return
    if writer is None:
        raise ConfigurationError("This exploration has no place to write changes to.")
    results: list[StoredResult] = []
    endings: list[ApprovalDecided | ToolCallEnd | ToolCallError] = []
    written: list[WrittenChange] = []
    step = State(transcript.entries).steps
    for call in waiting:
        approval = decided[call.approval_id]
        result = _outcome(exploration, approval, writer)
        if result.ok:
            change = WrittenChange(path=approval.proposal.path, content=approval.approved_content)
            written.append(change)
        record = _record(call, result, step)
        asked = ToolCall(id=call.call_id, name=call.name, input=call.input)
        results.append(StoredResult.of(asked, result, record))
        if approval.decision == "expire":  # a person's own decision was announced when they made it
            expired = ApprovalDecided(approval_id=approval.id, decision="expire", reason=TOO_LATE)
            endings.append(expired)
        endings.append(_ending(call, result, record))
    transcript.append(
        ApprovalsDecided(
            step=step, run=exploration.run.number, results=tuple(results), written=tuple(written)
        )
    )
    for ending in endings:
        sink.emit(ending)


def _outcome(exploration: Exploration, approval: Approval, writer: ChangeWriter) -> ToolResult:
    path = approval.proposal.path
    if approval.decision == "reject":
        because = f": {approval.reason}" if approval.reason else ""
        return ToolResult.failure("rejected", f"User rejected changes{because}")
    if approval.decision == "expire":
        return ToolResult.failure(
            EXPIRED, f"Nobody decided in time, so nothing was written to {path}."
        )
    try:
        at = writer.write_change(exploration, approval)
    except BaseMovedError as error:
        return ToolResult.failure("base_moved", error.sentence)
    except ExplorerError as error:
        if error.retryable:
            raise
        kind = "auth_failed" if isinstance(error, AuthFailedError) else "internal_error"
        return ToolResult.failure(kind, error.sentence)
    fields: JsonObject = {
        "path": path,
        "approvalId": approval.id,
        "decision": "approve",
        "edited": approval.is_edited,
        "commit": at.commit,
        "branch": at.branch,
    }
    if approval.is_edited:
        fields["content"] = approval.approved_content
    how = "approved after an edit" if approval.is_edited else "approved"
    return ToolResult.success(fields, f"{path} {how} and written")


def _record(call: PendingCall, result: ToolResult, step: int) -> ToolRecord:
    # 0: how long the person took says nothing about the tool
    return ToolRecord(
        name=call.name,
        path=call.proposal.path,
        duration_ms=0,
        ok=result.ok,
        error_type=result.error_type,
        step=step,
    )


def _ending(
    call: PendingCall, result: ToolResult, record: ToolRecord
) -> ToolCallEnd | ToolCallError:
    """The event that ends the call."""
    if result.ok:
        return ToolCallEnd(
            tool_call_id=call.call_id,
            summary=result.summary,
            output=result.payload,
            record=record,
        )
    return ToolCallError(
        tool_call_id=call.call_id,
        error=result.summary,
        retryable=False,
        was_retried=False,
        record=record,
    )
