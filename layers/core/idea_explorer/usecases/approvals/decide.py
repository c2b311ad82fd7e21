"""Store a person's decision on a proposed change or plan. The first one stands."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from idea_explorer.domain.approvals import Approval, Decision
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import ConflictError, InvalidRequestError, MissingError
from idea_explorer.domain.events import ApprovalDecided
from idea_explorer.domain.plan import count_questions, parse_plan
from idea_explorer.domain.request import Text
from idea_explorer.usecases.approvals.wait import all_decided, go_on
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable

MAX_CONTENT = 1_000_000  # as large as a file that the tools read
MAX_REASON = 2_000  # it goes back to the model


class DecisionRequest(DomainModel):
    """`content` replaces what was proposed; `reason` tells the model why a change was rejected. A change to
    a dangerous file is approved only with `confirm_danger`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    decision: Decision
    content: Annotated[Text, Field(max_length=MAX_CONTENT)] | None = None
    reason: Annotated[Text, Field(max_length=MAX_REASON)] | None = None
    confirm_danger: bool = False

    @model_validator(mode="after")
    def _content_is_approved(self) -> Self:
        if self.decision == "reject" and self.content is not None:
            raise ValueError("'content' goes with approve only")
        return self


def decide(
    exploration_id: str,
    approval_id: str,
    request: DecisionRequest,
    owner: str,
    deps: Deps,
) -> Approval:
    """Store the decision, and wake the run once nothing is undecided.

    Safe to repeat, and a repetition wakes the run again in case the first call was lost. Raises
    ConflictError where another decision is stored, InvalidRequestError where a confirmation is missing or
    the edited content is no plan.
    """
    exploration = find_readable(exploration_id, owner, deps)
    asked = next((a for a in deps.approvals.approvals(exploration.id) if a.id == approval_id), None)
    if asked is None:
        raise MissingError(f"Exploration {exploration.id} did not ask for {approval_id}.")
    is_new = asked.decision is None
    if is_new and exploration.cancel_requested:
        raise ConflictError(f"Exploration {exploration.id} is being cancelled.")
    if is_new and exploration.status != "awaiting_approval":
        raise ConflictError(
            f"Exploration {exploration.id} is {exploration.status}; it is no longer waiting for a decision."
        )
    danger = asked.proposal.danger
    if request.decision == "approve" and danger and not request.confirm_danger:
        rule = f"must be true: {asked.proposal.path} {danger}"
        raise InvalidRequestError(
            f"{asked.proposal.path} {danger}, so approving the change needs its own confirmation.",
            hint="Read the change, then approve it alone with confirm_danger.",
            fields={"confirm_danger": rule},
        )
    if is_new and asked.proposal.kind == "plan" and request.content is not None:
        parse_plan(request.content, most=count_questions(exploration.request.depth_limits))
    mine = asked.model_copy(
        update={
            "decision": request.decision,
            "content": request.content,
            "reason": request.reason,
            "decided_by": owner,
            "decided_at": deps.clock.now(),
        }
    )
    stored = deps.approvals.decide(mine)
    if stored.decision == "expire":
        raise ConflictError("The time to decide is over; nothing was written.")
    if not stored.says_the_same(mine):
        raise ConflictError(f"The decision was made already: {stored.decision}.")
    if is_new and stored == mine:
        decided = ApprovalDecided(
            approval_id=stored.id, decision=request.decision, reason=request.reason
        )
        deps.events.append(exploration.id, None, decided)
    if exploration.status == "awaiting_approval" and all_decided(exploration.id, deps):
        go_on(exploration, deps)
    return stored
