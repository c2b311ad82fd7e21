"""Proposed changes and plans, and the decision of a person about each."""

import hashlib
import re
import uuid
from datetime import datetime
from typing import Literal, NamedTuple

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.checks import CheckResult
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.patterns import lazy_pattern

ProposalKind = Literal["edit", "create", "delete", "move", "plan", "checks"]
# what was done to the file, once a change is approved
DONE: dict[ProposalKind, str] = {
    "edit": "written",
    "create": "written",
    "delete": "deleted",
    "move": "moved",
    "plan": "accepted",
    "checks": "allowed",
}
BASE_MOVED = "base_moved"


def describe_approval(*, edited: bool, in_part: bool) -> str:
    if not edited:
        return "approved"
    return "approved in part" if in_part else "approved after an edit"


_BOM = "\ufeff"
# Two slashes alone are an operator, a comment or part of a path as well.
_ADDRESS = lazy_pattern(r"(?:(?:https?|ftp)://|www\.|(?<!\S)//\w)\S+", re.IGNORECASE)


class Proposal(DomainModel, frozen=True):
    """The whole new content of one file, or a plan as Markdown, or the commands of a repository's checks; the
    last two have no diff. `base_sha` is the blob that it replaces, None for a new file. A file that is moved
    goes to `new_path`; one that is deleted has no content."""

    path: str
    kind: ProposalKind
    content: str
    diff: str
    base_sha: str | None
    content_hash: str
    description: str
    new_path: str | None = None

    @property
    def is_change(self) -> bool:
        """Whether approving it writes a file."""
        return self.kind not in {"plan", "checks"}

    @property
    def paths(self) -> set[str]:
        """The files that approving it writes or removes."""
        return {self.path, self.new_path or self.path} if self.is_change else set()

    @property
    def danger(self) -> str | None:
        """What makes this file dangerous to change; None for an ordinary one."""
        from idea_explorer.domain.dangerous_paths import find_danger

        if danger := find_danger(self.path):
            return danger
        danger = find_danger(self.new_path) if self.new_path else None
        return danger and f"becomes {self.new_path}, which {danger}"

    @property
    def base(self) -> str | None:
        """The file before the change, None for a new one: the diff applied in reverse, and verified by its
        hash. Raises ValueError if that is not known."""
        from idea_explorer.domain.diffs import revert_diff

        if self.base_sha is None:
            return None
        base = revert_diff(self.content, self.diff)
        if blob_sha(base.encode("utf-8")) != self.base_sha:
            raise ValueError("the diff does not lead back to the base")
        return base

    def diff_to(self, content: str) -> str:
        """The diff to another content than the proposed one; raises ValueError as above."""
        from idea_explorer.domain.diffs import unified_diff

        return unified_diff(self.path, self.base, content, self.new_path)


def propose(path: RepositoryPath, content: str, description: str, base: bytes | None) -> Proposal:
    """Propose new content for a file that contains `base`. Line ends and a byte order mark stay those of
    the base, because a model does not see them."""
    old = None if base is None else base.decode("utf-8")
    return _propose(
        "create" if old is None else "edit",
        path,
        old,
        content if old is None else _match_style(old, content),
        description,
    )


def propose_delete(path: RepositoryPath, description: str, base: bytes) -> Proposal:
    return _propose("delete", path, base.decode("utf-8"), None, description)


def propose_move(
    path: RepositoryPath, new_path: RepositoryPath, description: str, base: bytes
) -> Proposal:
    text = base.decode("utf-8")
    return _propose("move", path, text, text, description, new_path)


def _propose(
    kind: ProposalKind,
    path: str,
    old: str | None,
    new: str | None,
    description: str,
    new_path: str | None = None,
) -> Proposal:
    from idea_explorer.domain.diffs import unified_diff

    return Proposal(
        path=path,
        kind=kind,
        content=new or "",
        diff=unified_diff(path, old, new, new_path),
        base_sha=None if old is None else blob_sha(old.encode("utf-8")),
        content_hash=content_hash(new or ""),
        # it becomes the subject of a commit, and the model has read private code
        description=_ADDRESS.sub("(link removed)", description),
        new_path=new_path,
    )


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _match_style(old: str, new: str) -> str:
    from idea_explorer.domain.replacements import keep_line_ends

    new = keep_line_ends(old, new)
    if old.startswith(_BOM) and not new.startswith(_BOM):
        new = _BOM + new
    return new


Decision = Literal["approve", "reject"]
ApprovalOutcome = Literal[Decision, "expire"]  # "expire": nobody decided in time
_NAMESPACE = uuid.UUID("8c1f3c0e-0a8e-4b8f-9d55-51a1c9d4b0a7")


class FileChange(NamedTuple):
    """What an approved change does to one file: `base_sha` is the blob before it, `content` what the file
    holds after it; None is no file."""

    path: str
    base_sha: str | None
    content: str | None


class AppliedChange(DomainModel, frozen=True):
    """What became of an approved change. Without `error_type` it is written; `message` says why it is not,
    or why it is not committed. `mode` are the permissions that the file had before, in a folder."""

    at: datetime
    commit: str | None = None
    branch: str | None = None
    error_type: str | None = None
    message: str = ""
    mode: int | None = None

    @property
    def is_stale(self) -> bool:
        """Whether nothing was written because the file had changed since the proposal was made."""
        return self.error_type == BASE_MOVED


class Approval(DomainModel, frozen=True):
    """A request for a decision and, once made, the decision, and what became of it. The first decision
    stands. `checks` are those that ran last before it was asked for; `hunks` are those that a person chose,
    where they chose some."""

    id: str
    exploration_id: ExplorationId
    call_id: str
    proposal: Proposal
    requested_at: datetime
    decision: ApprovalOutcome | None = None
    content: str | None = None
    hunks: tuple[int, ...] = ()
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    checks: tuple[CheckResult, ...] = ()
    applied: AppliedChange | None = None

    @property
    def is_edited(self) -> bool:
        """Whether the person changed the proposed content."""
        return self.content is not None and self.content != self.proposal.content

    @property
    def how(self) -> str:
        """How it was approved, in a sentence."""
        return describe_approval(edited=self.is_edited, in_part=bool(self.hunks))

    @property
    def approved_content(self) -> str:
        return self.proposal.content if self.content is None else self.content

    @property
    def approved_diff(self) -> str:
        """The diff of what was approved; raises ValueError if the base is not known."""
        return (
            self.proposal.diff_to(self.approved_content) if self.is_edited else self.proposal.diff
        )

    @property
    def masked_diff(self) -> str:
        """The same as a model may see it: both texts are masked as a whole, because a diff may hold a part of
        a key without its beginning."""
        from idea_explorer.domain.diffs import unified_diff
        from idea_explorer.domain.redaction import mask_secrets

        proposal, base = self.proposal, self.proposal.base
        old = None if base is None else mask_secrets(base)
        new = mask_secrets(self.approved_content)
        return unified_diff(proposal.path, old, new, proposal.new_path)

    @property
    def is_written(self) -> bool:
        return self.applied is not None and self.applied.error_type is None

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """What it does to files, in the order in which it is safe to do it."""
        proposal = self.proposal
        gone = FileChange(proposal.path, proposal.base_sha, None)
        match proposal.kind:
            case "plan" | "checks":
                return ()
            case "delete":
                return (gone,)
            case "move":
                assert proposal.new_path is not None
                return (FileChange(proposal.new_path, None, self.approved_content), gone)
            case _:
                return (FileChange(proposal.path, proposal.base_sha, self.approved_content),)

    def says_the_same(self, other: "Approval") -> bool:
        """Whether another decision is equivalent, so that repeating it is not a conflict."""
        mine = (self.decision, self.approved_content if self.decision == "approve" else None)
        theirs = (other.decision, other.approved_content if other.decision == "approve" else None)
        return mine == theirs


def approval_id(exploration_id: ExplorationId, call_id: str) -> str:
    """The same id for the same call, so that a resumed run does not ask twice."""
    return str(uuid.uuid5(_NAMESPACE, f"{exploration_id}\n{call_id}"))
