"""Ask a person to approve the changes that a run proposes."""

from idea_explorer.agent.state import State
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.events import ApprovalRequested
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import EventSink, Transcript
from idea_explorer.usecases.deps import Deps


def request_approvals(
    exploration: Exploration, transcript: Transcript, sink: EventSink, deps: Deps
) -> None:
    """Request a decision on every pending change. Safe to repeat."""
    now = deps.clock.now()
    for call in State(transcript.entries).waiting:
        proposal = call.proposal
        deps.approvals.request_approval(
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
                danger=proposal.danger,
            )
        )
