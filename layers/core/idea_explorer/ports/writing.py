"""What is written to repositories, exactly once, and how it is undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.approvals import Approval
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.ids import ExplorationId
    from idea_explorer.domain.json import JsonObject
    from idea_explorer.domain.similar_research import IndexEntry, Similar


@dataclass(frozen=True, slots=True)
class WrittenAt:
    commit: str | None
    branch: str | None
    notice: str = ""  # why it is written and not committed
    mode: int | None = None  # permissions that the file had before, in a folder


class ChangeWriter(Protocol):
    """Writes approved changes to the repository or folder that the exploration reads."""

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        """Idempotent. Raises BaseMovedError, and writes nothing, if a file that it changes has changed
        since the proposal was made."""


class Tree(Protocol):
    """The repository that a change is being made to."""

    def read_text(self, path: str) -> str | None:
        """A file's text, or None if there is no such file; raises DocumentError if it cannot be read."""

    def names(self, path: str) -> Sequence[str]:
        """The names directly below a folder; raises NotADocumentError if it is not a folder."""


@dataclass(frozen=True, slots=True)
class Change:
    """Files to write atomically. `path` is the document that people will open."""

    path: str
    message: str
    files: Mapping[str, str]
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class PublishResult:
    """`document` is the path within the repository, `path` what a person opens."""

    document: str
    text: str
    path: str
    url: str | None = None
    commit: str | None = None
    branch: str | None = None
    notice: str | None = None


class PullRequests(Protocol):
    """Opens pull requests for changes that a person has approved."""

    def open_pull_request(self, exploration: Exploration, body: str) -> PublishResult | None:
        """Idempotent; None if nothing was written."""


BuildChange: TypeAlias = Callable[[Tree], Change]


class Publisher(Protocol):
    def check(self) -> None:
        """Raise whatever would make publishing fail now; ConfigurationError if retrying will not help.

        Writes nothing. Call it before spending money on a report.
        """

    def publish(
        self, exploration_id: ExplorationId, run: int, build: BuildChange, *, since: datetime
    ) -> PublishResult:
        """Write the change exactly once per exploration and run, however often it is called.

        `build` is called once for each state of the repository that is tried. Nothing of this
        exploration was written before `since`.
        """


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The files that were reverted, or that the pull request at `url` proposes to revert.

    `is_new` is false if that had been done before. `uncommitted` are files that are restored, and still
    differ from the last commit because a person has not committed their own changes.
    """

    files: Sequence[str]
    is_new: bool
    url: str | None = None
    commit: str | None = None
    uncommitted: Sequence[str] = ()


class Reverter(Protocol):
    """Opens pull requests that revert what an exploration wrote."""

    def propose_revert(self, exploration_id: ExplorationId, *, since: datetime) -> RevertResult:
        """Idempotent. Nothing of the exploration was written before `since`.

        Raises ConflictError if somebody else has changed a file since, and MissingError if nothing was
        written; in both cases nothing is changed.
        """


class Restorer(Protocol):
    """Restores files of a folder to what they were."""

    def restore(
        self,
        exploration_id: ExplorationId,
        plan: Callable[[Tree], Mapping[str, str | None]],
        modes: Mapping[str, int] | None = None,
    ) -> RevertResult:
        """Write the texts of a plan and remove the files it maps to None; safe to repeat after a crash.
        A file that is not there any more gets the permissions that `modes` has for it.

        Commits if the exploration's own changes were committed. If `plan` raises, nothing is changed; it
        may also be called with the tree of the last commit.
        """


class BranchLease(Protocol):
    """Lets one publisher at a time write to a branch. It saves retries; publishing is correct without it."""

    def acquire(self, branch: str, holder: str, *, seconds: float) -> float:
        """0 if the holder has the branch now; otherwise the seconds until it is free."""

    def renew(self, branch: str, holder: str, *, seconds: float) -> None:
        """Extend the lease to `seconds` from now, unless another holder has it."""

    def release(self, branch: str, holder: str) -> None: ...


class ResearchIndex(Protocol):
    """What is known of every document. What a person may read is decided where documents are read: an
    index may be older than they are. Raises ExternalError where it cannot be brought up to date."""

    def find_similar(self, idea: str, *, with_offline: bool = True) -> list[Similar]:
        """The documents that are nearest to an idea, best first; with or without those that only the offline
        model wrote."""

    def find_existing(self, idea: str, mode: str) -> IndexEntry | None:
        """The newest completed research on this very idea in this mode."""

    def find_exploration(self, exploration_id: str) -> IndexEntry | None:
        """The document that says it was written by an exploration."""

    def find_document(self, path: str) -> IndexEntry | None: ...

    def list_documents(
        self, search: str, limit: int, offset: int
    ) -> tuple[Sequence[IndexEntry], int]:
        """A page of the documents that contain every word, newest first, and how many there are."""

    def describe_problems(self) -> JsonObject:
        """The documents of which something could not be read, for one line of the log; those that are
        known since the index was last asked something else."""

    def add(self, document: str, text: str, now: datetime) -> bool:
        """Make a document that was just published known to everybody who shares the index. Returns whether
        all documents were looked at again."""
