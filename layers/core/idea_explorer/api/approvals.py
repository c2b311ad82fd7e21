"""The routes for reviewing the changes that a run proposes."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import Field

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.approvals import Approval, ApprovalOutcome, ProposalKind, content_hash
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.checks import CheckResult
from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.approvals.decide import (
    DecisionRequest,
    EditRequest,
    Preview,
    decide,
    preview,
)
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable

MAX_RESPONSE_BYTES = 5_000_000  # Lambda allows 6 MB; this leaves room for the other fields
# a diff marks a line that is not part of the file with a backslash
TRUNCATED = "\\ The rest of this diff does not fit into one response.\n"

ApprovalStatus = Literal["pending", "approved", "rejected", "expired", "stale", "failed"]
STATUSES: dict[ApprovalOutcome, ApprovalStatus] = {
    "approve": "approved",
    "reject": "rejected",
    "expire": "expired",
}


class ApprovalView(DomainModel):
    """A proposed change and its outcome. `content` is the proposed file while the change is pending, and
    null if the response would be too large; a diff that is cut ends in a line that says so. `danger` says
    why approving the change takes `confirm_danger`; an ordinary file has none. A change that is approved is
    written at `applied_at`; one that is `stale` or `failed` was approved and not written, and `message` says
    why. A file that is moved goes to `new_path`. Where a person approved an edited version, `approved_diff`
    is its diff, and `hunks` are those that they chose, if they chose some. `checks` are the repository's own
    checks that ran last before; what they printed is data of strangers."""

    id: str
    status: ApprovalStatus
    path: str
    new_path: str | None = Field(default=None, exclude_if=lambda path: path is None)
    kind: ProposalKind
    danger: str | None = Field(default=None, exclude_if=lambda danger: danger is None)
    description: str
    diff: str
    base_sha: str | None
    content_hash: str
    content: str | None
    edited: bool
    hunks: list[int] = Field(default_factory=list, exclude_if=lambda hunks: not hunks)
    approved_diff: str = Field(default="", exclude_if=lambda diff: not diff)
    reason: str | None
    requested_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    applied_at: datetime | None = Field(default=None, exclude_if=lambda at: at is None)
    commit: str | None = Field(default=None, exclude_if=lambda commit: commit is None)
    message: str = Field(default="", exclude_if=lambda message: not message)
    checks: list[CheckResult] = Field(default_factory=list, exclude_if=lambda checks: not checks)


class ApprovalPreview(DomainModel):
    """What approving a change with an edit would write."""

    diff: str
    content_hash: str


class ApprovalList(DomainModel):
    """In the order in which the run proposed them."""

    approvals: list[ApprovalView]


def list_approvals(call: ApiCall, deps: Deps) -> ApiResponse:
    exploration = find_readable(call.path["exploration_id"], call.owner, deps)
    views = [build_approval_view(a, exploration) for a in deps.approvals.approvals(exploration.id)]
    return ApiResponse(200, ApprovalList(approvals=_limit_texts(views)))


def _limit_texts(views: list[ApprovalView]) -> list[ApprovalView]:
    """Keep the texts that fit into a response: diffs before contents, pending changes first."""
    budget = ResponseBudget()
    pending_first = sorted(views, key=lambda view: view.status != "pending")
    diffs = {view.id: budget.truncate_diff(view.diff) for view in pending_first}
    approved = {
        view.id: view.approved_diff and budget.truncate_diff(view.approved_diff)
        for view in pending_first
    }
    contents = {view.id: view.content and budget.take(view.content) for view in pending_first}
    return [
        view.model_copy(
            update={
                "diff": diffs[view.id],
                "approved_diff": approved[view.id],
                "content": contents[view.id],
            }
        )
        for view in views
    ]


def decide_approval(call: ApiCall, deps: Deps) -> ApiResponse:
    stored = decide(
        call.path["exploration_id"],
        call.path["approval_id"],
        call.parse_body(DecisionRequest),
        call.owner,
        deps,
    )
    exploration = deps.explorations.load(stored.exploration_id)
    return ApiResponse(200, build_approval_view(stored, exploration))


def preview_approval(call: ApiCall, deps: Deps) -> ApiResponse:
    shown = preview(
        call.path["exploration_id"],
        call.path["approval_id"],
        call.parse_body(EditRequest),
        call.owner,
        deps,
    )
    view = build_preview(shown)
    diff = ResponseBudget().truncate_diff(view.diff)
    return ApiResponse(200, view.model_copy(update={"diff": diff}))


def build_preview(shown: Preview) -> ApprovalPreview:
    return ApprovalPreview(diff=shown.diff, content_hash=content_hash(shown.content))


def build_approval_view(approval: Approval, exploration: Exploration) -> ApprovalView:
    proposal, applied = approval.proposal, approval.applied
    status = _status_of(approval, exploration)
    return ApprovalView(
        id=approval.id,
        status=status,
        path=proposal.path,
        new_path=proposal.new_path,
        kind=proposal.kind,
        danger=proposal.danger,
        description=proposal.description,
        diff=proposal.diff,
        base_sha=proposal.base_sha,
        content_hash=proposal.content_hash,
        content=proposal.content if status == "pending" else None,
        edited=approval.is_edited,
        hunks=[*approval.hunks],
        approved_diff=_find_approved_diff(approval),
        reason=approval.reason,
        requested_at=approval.requested_at,
        decided_at=approval.decided_at,
        decided_by=approval.decided_by,
        applied_at=applied.at if applied and approval.is_written else None,
        commit=applied.commit if applied else None,
        message=applied.message if applied else "",
        checks=[*approval.checks] if status == "pending" else [],
    )


def _find_approved_diff(approval: Approval) -> str:
    """The diff of what a person made of a change; "" where they took it as it was, or it is not known."""
    if not (approval.proposal.is_change and approval.is_edited):
        return ""
    try:
        return approval.approved_diff
    except ValueError:  # of an older version, without a diff that leads back
        return ""


def _status_of(approval: Approval, exploration: Exploration) -> ApprovalStatus:
    if approval.decision is None:
        return "pending" if exploration.status == "awaiting_approval" else "expired"
    if approval.applied and not approval.is_written:
        return "stale" if approval.applied.is_stale else "failed"
    return STATUSES[approval.decision]


class ResponseBudget:
    """The bytes that are left for texts in one response."""

    def __init__(self, size: int = MAX_RESPONSE_BYTES) -> None:
        self._left = size

    def take(self, text: str) -> str | None:
        """Return the text and deduct its size, or return None if it does not fit."""
        size = _size(text)
        if size > self._left:
            return None
        self._left -= size
        return text

    def truncate_diff(self, diff: str) -> str:
        """Return as many lines as fit, followed by TRUNCATED if some do not."""
        for shorter in _shorten(diff, self._left - _size(TRUNCATED)):
            if taken := self.take(shorter):
                return taken
        return diff and TRUNCATED


def _shorten(diff: str, room: int) -> Iterator[str]:
    """The whole diff, then ever fewer of its lines."""
    yield diff
    rest = diff
    while rest and room > 0:
        share = min(0.9, room / _size(rest))
        rest = rest[: int(len(rest) * share)].rpartition("\n")[0]
        yield f"{rest}\n{TRUNCATED}" if rest else TRUNCATED


def _size(text: str) -> int:
    """Bytes in the response: a JSON string inside the JSON that a function returns."""
    body = json.dumps(text, ensure_ascii=False)
    return len(json.dumps(body, ensure_ascii=False).encode())
