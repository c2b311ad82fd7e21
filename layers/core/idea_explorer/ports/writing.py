"""What is written into repositories, once each, and undone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.similar_research import Index


@dataclass(frozen=True, slots=True)
class WrittenAt:
    commit: str | None
    branch: str | None


class ChangeWriter(Protocol):
    """Writes approved changes where the exploration's code lives."""

    def write_change(self, exploration: Exploration, approval: Approval) -> WrittenAt:
        """Write once, however often it is called. Raises BaseMovedError where the file is no longer what
        the proposal was made from; then nothing was written."""
        ...


class Tree(Protocol):
    """The repository as it is under the change that is being made."""

    def read_text(self, path: str) -> str | None:
        """A file's text, or None where there is none; raises DocumentError where it cannot be read."""
        ...

    def names(self, path: str) -> Sequence[str]:
        """Whatever stands directly below a folder; raises NotADocumentError where it is no folder."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """Files to write in one go. `path` is the document that people will open."""

    path: str
    message: str
    files: Mapping[str, str]
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """`document` is the path within the repository, `path` the one a person opens."""

    document: str
    text: str
    path: str
    url: str | None = None
    commit: str | None = None
    branch: str | None = None
    notice: str | None = None


class PullRequests(Protocol):
    """Proposes to a team what a person has approved."""

    def open_pull_request(self, exploration: Exploration, body: str) -> Published | None:
        """Once, however often it is called; None where nothing was written."""
        ...


class Publisher(Protocol):
    def check(self) -> None:
        """Raise what makes every publication fail as things are; ConfigurationError where it will last.

        Nothing is written. To be asked before money is spent on a report.
        """
        ...

    def publish(
        self,
        exploration_id: ExplorationId,
        run: int,
        build: Callable[[Tree], Change],
        *,
        since: datetime,
    ) -> Published:
        """Write the change once per exploration and run, however often it is called.

        `build` may be called several times: once for each state of the repository that is tried.
        Nothing of this exploration was written before `since`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Undone:
    """What an exploration wrote and is undone, or proposed to be undone in the pull request at `url`.

    `is_new` is false where that had been done before.
    """

    files: Sequence[str]
    is_new: bool
    url: str | None = None
    commit: str | None = None


class Reverter(Protocol):
    """Proposes to a team to undo what an exploration wrote to their repository."""

    def propose_revert(self, exploration_id: ExplorationId, *, since: datetime) -> Undone:
        """Once, however often it is called. Nothing of the exploration was written before `since`.

        Raises ConflictError where a file was changed since by somebody else, and MissingError where
        nothing was written; then nothing has happened.
        """
        ...


class Restorer(Protocol):
    """Puts files of a folder back to what they were."""

    def restore(
        self, exploration_id: ExplorationId, plan: Callable[[Tree], Mapping[str, str | None]]
    ) -> Undone:
        """Write the texts of a plan, and remove what is None there; one broken off can be repeated.

        There is a commit where the exploration's own work had been committed. What `plan` raises is
        raised, and then nothing has happened; it may be asked for the last commit as well.
        """
        ...


class BranchLease(Protocol):
    """Lets one publisher at a time write to a branch. A courtesy: what is written is right without it."""

    def acquire(self, branch: str, holder: str, *, seconds: float) -> float:
        """0 where the branch is the holder's now; else the seconds after which it will be free."""
        ...

    def renew(self, branch: str, holder: str, *, seconds: float) -> None:
        """Hold it for so long from now on, unless somebody else has it by now."""
        ...

    def release(self, branch: str, holder: str) -> None: ...


class ResearchIndex(Protocol):
    """What has been published, small enough to be read whole at every request."""

    def load(self) -> Index: ...

    def change(self, change: Callable[[Index], Index]) -> None:
        """Apply `change` to the latest index; it may be called again where another was quicker."""
        ...
