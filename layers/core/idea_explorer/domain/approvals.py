"""A person's decision about a proposed change, bound to the content that was proposed."""

import uuid
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.proposals import Proposal

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
