"""A person's decision about a proposed change, bound to the content that was proposed."""

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
    """The whole new content of one file. `base_sha` names the content it replaces; None: no file yet."""

    model_config = ConfigDict(frozen=True)

    path: str
    kind: ProposalKind
    content: str
    diff: str
    base_sha: str | None
    content_hash: str
    description: str


def propose(path: RepositoryPath, content: str, description: str, base: bytes | None) -> Proposal:
    """The proposal to make `content` of the file that now holds `base`.

    A model does not see line ends and byte order marks, so the base's are kept.
    """
    old = None if base is None else base.decode("utf-8")
    new = content if old is None else _in_the_style_of(old, content)
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


def _in_the_style_of(old: str, new: str) -> str:
    if "\r\n" in old and "\n" not in old.replace("\r\n", "") and "\r\n" not in new:
        new = new.replace("\n", "\r\n")
    if old.startswith(_BOM) and not new.startswith(_BOM):
        new = _BOM + new
    return new


Decision = Literal["approve", "reject"]
Verdict = Literal[Decision, "expire"]  # the last where nobody decided in time
_NAMESPACE = uuid.UUID("8c1f3c0e-0a8e-4b8f-9d55-51a1c9d4b0a7")


class Approval(BaseModel):
    """A request for a decision and, once there is one, the decision. The first decision stands."""

    model_config = ConfigDict(frozen=True)

    id: str
    exploration_id: ExplorationId
    call_id: str
    proposal: Proposal
    requested_at: datetime
    decision: Verdict | None = None
    content: str | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None

    @property
    def is_edited(self) -> bool:
        """Whether the person approved something else than was proposed."""
        return self.content is not None and self.content != self.proposal.content

    @property
    def approved_content(self) -> str:
        return self.proposal.content if self.content is None else self.content

    def says_the_same(self, other: "Approval") -> bool:
        """Whether another decision comes to the same, so that repeating it is no conflict."""
        mine = (self.decision, self.approved_content if self.decision == "approve" else None)
        theirs = (other.decision, other.approved_content if other.decision == "approve" else None)
        return mine == theirs


def approval_id(exploration_id: ExplorationId, call_id: str) -> str:
    """The same for the same call, every time: a run that is taken up again asks nothing twice."""
    return str(uuid.uuid5(_NAMESPACE, f"{exploration_id}\n{call_id}"))
