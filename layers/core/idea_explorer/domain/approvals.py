"""Proposed changes, and the decision of a person about each."""

import hashlib
import uuid
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.code import blob_sha
from idea_explorer.domain.diffs import unified_diff
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RepositoryPath

ProposalKind = Literal["edit", "create"]
_BOM = "\ufeff"


class Proposal(BaseModel):
    """The whole new content of one file. `base_sha` is the blob that it replaces, None for a new file."""

    model_config = ConfigDict(frozen=True)

    path: str
    kind: ProposalKind
    content: str
    diff: str
    base_sha: str | None
    content_hash: str
    description: str


def propose(path: RepositoryPath, content: str, description: str, base: bytes | None) -> Proposal:
    """Propose new content for a file that contains `base`.

    Line ends and a byte order mark stay those of the base, because a model does not see them.
    """
    old = None if base is None else base.decode("utf-8")
    new = content if old is None else _match_style(old, content)
    return Proposal(
        path=path,
        kind="create" if base is None else "edit",
        content=new,
        diff=unified_diff(path, old, new),
        base_sha=None if base is None else blob_sha(base),
        content_hash=content_hash(new),
        description=description,
    )


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _match_style(old: str, new: str) -> str:
    if "\r\n" in old and "\n" not in old.replace("\r\n", "") and "\r\n" not in new:
        new = new.replace("\n", "\r\n")
    if old.startswith(_BOM) and not new.startswith(_BOM):
        new = _BOM + new
    return new


Decision = Literal["approve", "reject"]
ApprovalOutcome = Literal[Decision, "expire"]  # "expire": nobody decided in time
_NAMESPACE = uuid.UUID("8c1f3c0e-0a8e-4b8f-9d55-51a1c9d4b0a7")


class Approval(BaseModel):
    """A request for a decision and, once made, the decision. The first decision stands."""

    model_config = ConfigDict(frozen=True)

    id: str
    exploration_id: ExplorationId
    call_id: str
    proposal: Proposal
    requested_at: datetime
    decision: ApprovalOutcome | None = None
    content: str | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None

    @property
    def is_edited(self) -> bool:
        """Whether the person changed the proposed content."""
        return self.content is not None and self.content != self.proposal.content

    @property
    def approved_content(self) -> str:
        return self.proposal.content if self.content is None else self.content

    def says_the_same(self, other: "Approval") -> bool:
        """Whether another decision is equivalent, so that repeating it is not a conflict."""
        mine = (self.decision, self.approved_content if self.decision == "approve" else None)
        theirs = (other.decision, other.approved_content if other.decision == "approve" else None)
        return mine == theirs


def approval_id(exploration_id: ExplorationId, call_id: str) -> str:
    """The same id for the same call, so that a resumed run does not ask twice."""
    return str(uuid.uuid5(_NAMESPACE, f"{exploration_id}\n{call_id}"))
