"""Ask a person to approve the changes that a run proposes."""

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from idea_explorer.agent.state import State
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.checks import CheckResult
from idea_explorer.domain.events import ApprovalRequested
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.transcript import AnyEntry, ToolsRan
from idea_explorer.ports import EventSink, Transcript
from idea_explorer.usecases.deps import Deps


def request_approvals(
    exploration: Exploration, transcript: Transcript, sink: EventSink, deps: Deps
) -> None:
    """Request a decision on every pending change. Safe to repeat."""
    now = deps.clock.now()
    checks = _find_last_checks(transcript.entries)
    for call in State(transcript.entries).waiting:
        proposal = call.proposal
        deps.approvals.request_approval(
            Approval(
                id=call.approval_id,
                exploration_id=exploration.id,
                call_id=call.call_id,
                proposal=proposal,
                requested_at=now,
                checks=checks,
            )
        )
        sink.emit(
            ApprovalRequested(
                approval_id=call.approval_id,
                tool_call_id=call.call_id,
                path=proposal.path,
                new_path=proposal.new_path,
                description=proposal.description,
                diff=proposal.diff,
                base_sha=proposal.base_sha or "",
                content_hash=proposal.content_hash,
                danger=proposal.danger,
            )
        )


MAX_CHECKS = 20
MAX_SHOWN_CHARS = 4_000  # of what each printed: the person decides on a change, and wants its end


def _find_last_checks(entries: Sequence[AnyEntry]) -> tuple[CheckResult, ...]:
    """What the checks said when they last ran, for the person who decides on what comes after."""
    ran = [result for entry in entries if isinstance(entry, ToolsRan) for result in entry.results]
    last = next((r.payload for r in reversed(ran) if r.name == "run_checks" and r.record.ok), {})
    try:
        found = TypeAdapter(list[CheckResult]).validate_python(last.get("checks", []))
    except ValidationError:
        return ()
    return tuple(
        result.model_copy(update={"output": result.output[-MAX_SHOWN_CHARS:]})
        for result in found[:MAX_CHECKS]
    )
