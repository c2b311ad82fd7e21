"""The routes where a person sees what a run proposes, and decides."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.fitting import Room
from idea_explorer.domain.approvals import Approval, ProposalKind, Verdict
from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find

ApprovalStatus = Literal["pending", "approved", "rejected", "expired"]
STATUSES: dict[Verdict, ApprovalStatus] = {
    "approve": "approved",
    "reject": "rejected",
    "expire": "expired",
}


class ApprovalView(BaseModel):
    """A proposed change and what became of it. `content` is the proposed content of one that waits, and
    null where the answer would grow too large; a diff then ends in a line that says so."""

    id: str
    status: ApprovalStatus
    path: str
    kind: ProposalKind
    description: str
    diff: str
    base_sha: str | None
    content_hash: str
    content: str | None
    edited: bool
    reason: str | None
    requested_at: datetime
    decided_at: datetime | None
    decided_by: str | None


class ApprovalList(BaseModel):
    """In the order of asking."""

    approvals: list[ApprovalView]


def list_approvals(call: Call, deps: Deps) -> Answer:
    exploration = find(call.path["exploration_id"], call.owner, deps)
    views = [approval_view(a, exploration) for a in deps.approvals.approvals(exploration.id)]
    return Answer(200, ApprovalList(approvals=_fitting(views)))


def _fitting(views: list[ApprovalView]) -> list[ApprovalView]:
    """With the texts that fit: diffs before contents, and what waits before what is decided."""
    room = Room()
    by_need = sorted(views, key=lambda view: view.status != "pending")
    diffs = {view.id: room.cut(view.diff) for view in by_need}
    contents = {view.id: view.content and room.whole(view.content) for view in by_need}
    return [
        view.model_copy(update={"diff": diffs[view.id], "content": contents[view.id]})
        for view in views
    ]


def decide_approval(call: Call, deps: Deps) -> Answer:
    stored = decide(
        call.path["exploration_id"],
        call.path["approval_id"],
        call.parsed(DecisionRequest),
        call.owner,
        deps,
    )
    exploration = deps.explorations.load(stored.exploration_id)
    return Answer(200, approval_view(stored, exploration))


def approval_view(approval: Approval, exploration: Exploration) -> ApprovalView:
    proposal = approval.proposal
    open_ended = "pending" if exploration.status == "awaiting_approval" else "expired"
    waits = approval.decision is None and open_ended == "pending"
    return ApprovalView(
        id=approval.id,
        status=STATUSES[approval.decision] if approval.decision else open_ended,
        path=proposal.path,
        kind=proposal.kind,
        description=proposal.description,
        diff=proposal.diff,
        base_sha=proposal.base_sha,
        content_hash=proposal.content_hash,
        content=proposal.content if waits else None,
        edited=approval.is_edited,
        reason=approval.reason,
        requested_at=approval.requested_at,
        decided_at=approval.decided_at,
        decided_by=approval.decided_by,
    )
