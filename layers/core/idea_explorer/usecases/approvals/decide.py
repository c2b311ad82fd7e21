"""Store a person's decision on a proposed change or plan. The first one stands."""

from contextlib import suppress
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from idea_explorer.domain.approvals import Approval, Decision, Proposal, content_hash
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.diffs import count_hunks, select_hunks
from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    InvalidRequestError,
    MissingError,
)
from idea_explorer.domain.events import ApprovalDecided
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.plan import count_questions, parse_plan
from idea_explorer.domain.replacements import keep_line_ends
from idea_explorer.domain.request import Text
from idea_explorer.domain.text import pluralize
from idea_explorer.ports import ChangeWriter
from idea_explorer.usecases.approvals.wait import all_decided, go_on
from idea_explorer.usecases.approvals.write import write_approved
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable

MAX_CONTENT = 1_000_000  # as large as a file that the tools read
MAX_REASON = 2_000  # it goes back to the model
MAX_HUNKS = 10_000  # more than a file of the most bytes has
HunkNumber = Annotated[int, Field(ge=1)]


class EditRequest(DomainModel):
    """What a person makes of a proposal: another content of the whole file, or only some of its hunks,
    counted from 1. With `keep_line_ends` the content comes from a form, which knows LF alone: its lines get
    the line ends that they have in the proposal."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    content: Annotated[Text, Field(max_length=MAX_CONTENT)] | None = None
    hunks: Annotated[list[HunkNumber], Field(min_length=1, max_length=MAX_HUNKS)] | None = None
    keep_line_ends: bool = False

    @model_validator(mode="after")
    def _is_one_edit(self) -> Self:
        if self.content is not None and self.hunks is not None:
            raise ValueError("'content' and 'hunks' do not go together")
        return self


class DecisionRequest(EditRequest):
    """A decision, with the person's edit if they made one; `reason` tells the model why a change was
    rejected. A change to a dangerous file is approved only with `confirm_danger`. `content_hash` is that of
    the content that was shown: no other content is approved then."""

    decision: Decision
    reason: Annotated[Text, Field(max_length=MAX_REASON)] | None = None
    confirm_danger: bool = False
    content_hash: Annotated[str, Field(max_length=64)] | None = None

    @model_validator(mode="after")
    def _edit_is_approved(self) -> Self:
        for name in ("content", "hunks"):
            if self.decision == "reject" and getattr(self, name) is not None:
                raise ValueError(f"'{name}' goes with approve only")
        return self


@dataclass(frozen=True, slots=True)
class Preview:
    """A proposal as a person would approve it."""

    content: str
    diff: str


def preview(
    exploration_id: str, approval_id: str, request: EditRequest, owner: str, deps: Deps
) -> Preview:
    """What approving a proposal with this edit would write. Stores nothing."""
    exploration = find_readable(exploration_id, owner, deps)
    asked = _find(exploration, approval_id, deps)
    content = _edit(asked.proposal, request, exploration)
    shown = asked.model_copy(update={"content": content})
    try:
        diff = shown.approved_diff if asked.proposal.is_change else ""
    except ValueError as error:
        raise _unknown_base(asked.proposal) from error
    return Preview(shown.approved_content, diff)


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
    asked = _find(exploration, approval_id, deps)
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
    # a plan that was accepted once is not held to the rules of today
    is_known_plan = asked.proposal.kind == "plan" and not is_new
    content = request.content if is_known_plan else _edit(asked.proposal, request, exploration)
    mine = asked.model_copy(
        update={
            "decision": request.decision,
            "content": content,
            "hunks": tuple(request.hunks or ()) if content is not None else (),
            "reason": request.reason,
            "decided_by": owner,
            "decided_at": deps.clock.now(),
        }
    )
    if request.content_hash not in {None, content_hash(mine.approved_content)}:
        raise ConflictError("This is not the content that was shown.", hint="Look at it again.")
    # before the decision is stored: what is not configured can be put right, and the decision made then
    writer = _find_writer(exploration, mine, deps)
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
    if writer:
        stored = _write_at_once(exploration, stored, writer, deps)
    if exploration.status == "awaiting_approval" and all_decided(exploration.id, deps):
        go_on(exploration, deps)
    return stored


def _find_writer(exploration: Exploration, approval: Approval, deps: Deps) -> ChangeWriter | None:
    """What writes the change now; None if nothing is to be written, or the run has to try again."""
    waits = exploration.status == "awaiting_approval" and not exploration.cancel_requested
    is_change = approval.decision == "approve" and approval.proposal.kind != "plan"
    if deps.writer_for is None or approval.applied or not (waits and is_change):
        return None
    try:
        return deps.writer_for(exploration)
    except ExplorerError as error:
        if not error.retryable:
            raise
        return None


def _write_at_once(
    exploration: Exploration, approval: Approval, writer: ChangeWriter, deps: Deps
) -> Approval:
    """A failure that may pass is left to the run, which tries again."""
    try:
        return write_approved(exploration, approval, lambda _: writer, deps)
    except ExplorerError as error:
        if not error.retryable:
            raise
        return approval


def _find(exploration: Exploration, approval_id: str, deps: Deps) -> Approval:
    asked = next((a for a in deps.approvals.approvals(exploration.id) if a.id == approval_id), None)
    if asked is None:
        raise MissingError(f"Exploration {exploration.id} did not ask for {approval_id}.")
    return asked


def _edit(proposal: Proposal, request: EditRequest, exploration: Exploration) -> str | None:
    """The content that the person wants instead of the proposed one; None if they want that. Raises
    InvalidRequestError for an edit that makes no sense."""
    if request.hunks is not None:
        return _select_hunks(proposal, request.hunks)
    content = request.content
    if content is None:
        return None
    if proposal.kind == "checks":
        raise _invalid(
            "content",
            "The commands are the repository's own; they are approved as they are, or rejected.",
        )
    if proposal.kind == "delete":
        raise _invalid("content", "A file that is deleted has no content to edit.")
    if proposal.kind == "plan":
        parse_plan(content, most=count_questions(exploration.request.depth_limits))
        return content
    if request.keep_line_ends:
        content = keep_line_ends(proposal.content, content)
    with suppress(ValueError):  # of an older version, without a diff that leads back
        if proposal.kind == "edit" and content == proposal.base:
            raise _invalid(
                "content", f"{proposal.path} holds this already: reject the change instead."
            )
    return content


def _select_hunks(proposal: Proposal, hunks: list[int]) -> str | None:
    if proposal.kind != "edit":
        raise _invalid("hunks", "Only an edit of a file has hunks to choose from.")
    total = count_hunks(proposal.diff)
    if max(hunks) > total:
        raise _invalid("hunks", f"The change has {pluralize(total, 'hunk')}.")
    if len({*hunks}) == total:
        return None
    try:
        return select_hunks(proposal.content, proposal.diff, hunks)
    except ValueError as error:
        raise _unknown_base(proposal) from error


def _unknown_base(proposal: Proposal) -> ConflictError:
    """For a proposal of an older version, without a diff that leads back."""
    return ConflictError(
        f"What {proposal.path} was before is not known any more.",
        hint="Approve the change as it is, or reject it.",
    )


def _invalid(field: str, message: str) -> InvalidRequestError:
    return InvalidRequestError(message, fields={field: message})
