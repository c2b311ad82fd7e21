"""Apply what a person decided on the changes or the plan that a run proposed."""

from collections.abc import Callable
from contextlib import suppress

from idea_explorer.agent.plans import read_plan
from idea_explorer.agent.state import State
from idea_explorer.domain.approvals import DONE, Approval
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.events import (
    ApprovalDecided,
    PlanAccepted,
    ToolCallEnd,
    ToolCallError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import REJECTED, count_questions, parse_plan
from idea_explorer.domain.redaction import mask_secrets
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.transcript import (
    ApprovalsDecided,
    PendingCall,
    StoredResult,
    WrittenChange,
)
from idea_explorer.ports import ChangeWriter, EventSink, Transcript
from idea_explorer.usecases.approvals.wait import EXPIRED
from idea_explorer.usecases.approvals.write import write_approved
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.run_events import emit_all

TOO_LATE = "Nobody decided in time."
MAX_RETURNED = 20_000  # characters of an edited file or diff that go back to the model


def apply_decisions(
    exploration: Exploration,
    transcript: Transcript,
    writer_for: Callable[[Exploration], ChangeWriter] | None,
    sink: EventSink,
    deps: Deps,
) -> None:
    """Write what was approved, exactly once, and give the model its results.

    Events are stored in one transaction with it, so that a repetition ends no call twice. While anything is
    undecided, as after a kill or a resume, nothing is done: the run asks the same again.
    """
    waiting = State(transcript.entries).waiting
    decided = {a.id: a for a in deps.approvals.approvals(exploration.id) if a.decision}
    if not waiting or any(call.approval_id not in decided for call in waiting):
        return
    writer_for_run = writer_for or _refuse_to_write
    results: list[StoredResult] = []
    endings: list[ApprovalDecided | PlanAccepted | ToolCallEnd | ToolCallError] = []
    written: list[WrittenChange] = []
    step = State(transcript.entries).steps
    for call in waiting:
        approval = decided[call.approval_id]
        is_plan = approval.proposal.kind == "plan"
        if is_plan:
            result = _plan_outcome(exploration, approval)
        else:
            if approval.decision == "approve":
                approval = write_approved(exploration, approval, writer_for_run, deps)
            result = _outcome(approval)
        if result.ok:
            changes = approval.changes
            written += [WrittenChange(path=c.path, content=c.content) for c in changes]
        record = _record(call, result, step)
        asked = ToolCall(id=call.call_id, name=call.name, input=call.input)
        stored = StoredResult.of(asked, result, record)
        results.append(stored)
        if approval.decision == "expire":  # a person's own decision was announced when they made it
            expired = ApprovalDecided(approval_id=approval.id, decision="expire", reason=TOO_LATE)
            endings.append(expired)
        if is_plan and result.ok:
            accepted = PlanAccepted(plan=read_plan(stored), edited=approval.is_edited)
            endings.append(accepted)
        endings.append(_ending(call, result, record))
    transcript.add(
        ApprovalsDecided(
            step=step, run=exploration.run.number, results=tuple(results), written=tuple(written)
        )
    )
    emit_all(endings, sink)
    transcript.flush()


def _plan_outcome(exploration: Exploration, approval: Approval) -> ToolResult:
    """What the model gets: the plan as it stands after an edit, or why it has to write another."""
    if approval.decision == "reject":
        because = f": {approval.reason}" if approval.reason else "."
        message = f"{REJECTED}{because}"
        return ToolResult.failure("rejected", message, hint="Write another plan that meets this.")
    if approval.decision == "expire":
        return ToolResult.failure(EXPIRED, "Nobody decided on the plan in time.")
    fields: JsonObject = {"decision": "approve", "edited": approval.is_edited}
    most = count_questions(exploration.request.depth_limits)
    # a plan that was accepted stays so, even if today's code would refuse its headings
    plan = parse_plan(approval.approved_content, most=most, ignore_strays=True)
    if approval.is_edited:
        fields["plan"] = plan.model_dump(mode="json")
    count = pluralize(len(plan.sub_questions), "question")
    fields["message"] = "Follow this plan now."
    return ToolResult.success(fields, f"Plan with {count} {approval.how}")


def _refuse_to_write(_: Exploration) -> ChangeWriter:
    raise ConfigurationError("This exploration has no place to write changes to.")


def _outcome(approval: Approval) -> ToolResult:
    proposal, applied = approval.proposal, approval.applied
    if approval.decision == "reject":
        because = f": {approval.reason}" if approval.reason else ""
        return ToolResult.failure("rejected", f"User rejected changes{because}")
    if applied is None:
        return ToolResult.failure(
            EXPIRED, f"Nobody decided in time, so nothing was written to {proposal.path}."
        )
    if applied.error_type:
        return ToolResult.failure(applied.error_type, applied.message)
    if proposal.kind == "checks":
        allowed: JsonObject = {
            "decision": "approve",
            "message": "Call run_checks again to run them.",
        }
        return ToolResult.success(allowed, "The repository's checks may run")
    fields: JsonObject = {
        "path": proposal.new_path or proposal.path,
        "approvalId": approval.id,
        "decision": "approve",
        "edited": approval.is_edited,
        "commit": applied.commit,
        "branch": applied.branch,
    }
    if approval.is_edited:
        fields |= _describe_edit(approval)
    if approval.hunks:
        fields["hunks"] = [*approval.hunks]
    return ToolResult.success(fields, f"{proposal.path} {approval.how} and {DONE[proposal.kind]}")


def _describe_edit(approval: Approval) -> JsonObject:
    """What the person made of it: the whole file if it is short, and what differs from before."""
    fields: JsonObject = {}
    if len(approval.approved_content) <= MAX_RETURNED:
        fields["content"] = mask_secrets(approval.approved_content)
    with suppress(ValueError):  # of an older version, without a diff that leads back
        diff = approval.masked_diff
        fields["diff"] = diff if len(diff) <= MAX_RETURNED else f"{diff[:MAX_RETURNED]}\n(cut)"
    return fields


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
