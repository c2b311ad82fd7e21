"""Asking a person, and acting on the answer: the two ends of a suspended step."""

from collections.abc import Sequence
from datetime import datetime

from idea_explorer.agent.state import State
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import (
    AuthFailedError,
    BaseMovedError,
    ConfigurationError,
    ExplorerError,
)
from idea_explorer.domain.events import (
    ApprovalDecided,
    ApprovalRequested,
    ToolCallEnd,
    ToolCallError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    PendingCall,
    StoredResult,
    WrittenChange,
)
from idea_explorer.ports import Approvals, ChangeWriter, EventSink, Explorations, Transcript

EXPIRED = "approval_expired"
TOO_LATE = "Nobody decided in time."


def ask(
    exploration: Exploration,
    transcript: Transcript,
    approvals: Approvals,
    sink: EventSink,
    now: datetime,
) -> None:
    """Ask for a decision on everything that waits; safe to repeat."""
    for call in State(transcript.entries).waiting:
        proposal = call.proposal
        approvals.request_approval(
            Approval(
                id=call.approval_id,
                exploration_id=exploration.id,
                call_id=call.call_id,
                proposal=proposal,
                requested_at=now,
            )
        )
        sink.emit(
            ApprovalRequested(
                approval_id=call.approval_id,
                tool_call_id=call.call_id,
                path=proposal.path,
                description=proposal.description,
                diff=proposal.diff,
                base_sha=proposal.base_sha or "",
                content_hash=proposal.content_hash,
            )
        )


def all_decided(approvals: Sequence[Approval]) -> bool:
    return all(approval.decision for approval in approvals)


def expire(
    exploration_id: ExplorationId,
    run: int,
    *,
    explorations: Explorations,
    approvals: Approvals,
    clock: Clock,
) -> None:
    """Close what a run asked for and nobody decided on in time, so that it can come to its end.

    A decision that is made at this very moment stands where it was first.
    """
    exploration = explorations.load(exploration_id)
    if exploration.run.number != run or exploration.status != "awaiting_approval":
        return
    for approval in approvals.approvals(exploration_id):
        if approval.decision is None:
            over = {"decision": "expire", "decided_at": clock.now()}
            approvals.decide(approval.model_copy(update=over))


def is_over(entries: Sequence[AnyEntry], run: int) -> bool:
    """Whether the run ends here because nobody decided on one of its changes."""
    last = entries[-1] if entries else None
    return (
        isinstance(last, ApprovalsDecided)
        and last.run == run
        and any(result.record.error_type == EXPIRED for result in last.results)
    )


def act(
    exploration: Exploration,
    transcript: Transcript,
    approvals: Approvals,
    writer: ChangeWriter | None,
    sink: EventSink,
) -> None:
    """Write what was approved and give the model its results. What was written stays written once.

    Nothing is told before all of it is kept, so that a repetition tells no call's end a second time.
    Where anything is still undecided, as after a kill while asking or a resume, nothing is done: the
    run comes to the same question again.
    """
    waiting = State(transcript.entries).waiting
    decided = {a.id: a for a in approvals.approvals(exploration.id) if a.decision}
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
        if approval.decision == "expire":  # what a person decided was told when they did
            closed = ApprovalDecided(approval_id=approval.id, decision="expire", reason=TOO_LATE)
            endings.append(closed)
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
    # how long a person took is not how long the tool took
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
