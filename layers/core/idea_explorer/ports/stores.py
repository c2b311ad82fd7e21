"""Where explorations are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from idea_explorer.domain.approvals import Approval
    from idea_explorer.domain.events import AnyEvent
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.file_kinds import FileSample
    from idea_explorer.domain.ids import ExplorationId, FileId
    from idea_explorer.domain.run import Status
    from idea_explorer.domain.toolsets import ToolsetName
    from idea_explorer.domain.transcript import AnyEntry
    from idea_explorer.ports.reading import FileInfo, UploadedFile


class Transcript(Protocol):
    """The transcript of one exploration, opened under a lease, and what is stored with it.

    Everything that was added is stored by the next `append` or `flush`, all or nothing. So the entries of a
    step, its events and the record that they change can never disagree. One run writes to it, from any of
    its threads.
    """

    @property
    def entries(self) -> Sequence[AnyEntry]:
        """Those that are stored, and those that were added."""

    @property
    def unsaved(self) -> int | None:
        """The number of the write that will store what was added; None if all is stored."""

    def add(self, entry: AnyEntry) -> None:
        """For an entry on which nothing acts before another one is appended."""

    def add_event(self, event: AnyEvent) -> None:
        """Pieces of a text that follow each other become one event."""

    def set_record(self, exploration: Exploration) -> None:
        """Replaces a record that was set before and is not stored yet."""

    def append(self, entry: AnyEntry) -> None:
        """Add an entry and store everything, durable once it returns."""

    def flush(self) -> None:
        """Store everything that was added; raises LeaseLostError if another worker has taken over. What an
        ExternalError keeps from being stored is stored by the next call."""


@dataclass(frozen=True, slots=True)
class Filter:
    status: Status | None = None
    mode: str | None = None
    toolset: ToolsetName | None = None


@dataclass(frozen=True, slots=True)
class ExplorationPage:
    """`left_out` is how many of the page another version stored that this one cannot read."""

    explorations: Sequence[Exploration]
    cursor: str | None
    left_out: int = 0


RecordChange: TypeAlias = "Callable[[Exploration], Exploration]"
EventsOfChange: TypeAlias = "Callable[[Exploration, Exploration], Sequence[AnyEvent]]"


def no_events(_before: Exploration, _after: Exploration) -> Sequence[AnyEvent]:
    return ()


class Explorations(Protocol):
    """Exploration records. A writer must hold the exploration's lease; an older lease writes nothing.

    The events of a change are stored with it atomically: whoever sees the new status can read them, and
    a retry after a crash does not store them twice.
    """

    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        """Store a new record and the first events of its history; False if the id is taken."""

    def load(self, exploration_id: ExplorationId) -> Exploration:
        """Raises MissingError."""

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: RecordChange,
        tell: EventsOfChange = no_events,
        *,
        slots: int | None = None,
    ) -> Exploration:
        """Apply `change` and take a new lease atomically, which invalidates all older leases.

        If `change` raises, nothing is stored. `tell` returns the events of the change, given the record
        before and after it. With `slots`, an exploration that `change` lets explore also takes one of so
        many slots, which the change that ends its exploring frees; raises NoFreeSlotError.
        """

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        """Raises LeaseLostError unless the stored lease is the exploration's.

        A cancel request made in the meantime survives: only a take-over can withdraw it.
        """

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        """Raises MissingError."""

    def is_cancelled(self, exploration_id: ExplorationId) -> bool: ...

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        """An owner's explorations, newest first; raises InvalidRequestError for an invalid cursor."""

    def unchanged_since(
        self, status: Status, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        """Explorations in a status that is not final, last updated before the moment; oldest first."""

    def due_deliveries(
        self, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        """Finished explorations whose webhook was due before the moment (see `delivery_due`); the longest
        overdue first."""


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    number: int
    type: str
    data: str


class EventLog(Protocol):
    """The history of an exploration, numbered 1, 2, 3 … without gaps or repeats."""

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        """Raises LeaseLostError if another worker has taken over.

        Pass no lease to record an event without running the exploration, as the API does; that raises
        MissingError if there is no such exploration.
        """

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        """The next events: at most `limit`, and at most about a megabyte."""

    def read_last(self, exploration_id: ExplorationId, *, limit: int) -> Sequence[NumberedEvent]:
        """The last events, in their order: at most `limit`, and at most about a megabyte."""


class Reports(Protocol):
    """Reports as markdown, readable whether or not publishing succeeded."""

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        """Raises LeaseLostError if another worker has taken over."""

    def load_report(self, exploration_id: ExplorationId) -> str:
        """Raises MissingError if none was written."""


class Transcripts(Protocol):
    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript: ...


@dataclass(frozen=True, slots=True)
class Upload:
    """How to upload a file: POST a form of these fields followed by `file`, or PUT the bytes."""

    method: Literal["POST", "PUT"]
    url: str
    fields: Mapping[str, str]


class Uploads(Protocol):
    """Files that owners have uploaded. Nobody can reach another owner's, whatever id they send."""

    @property
    def origin(self) -> str:
        """Where a browser uploads to; empty if that is the API's own address."""

    def presign(self, owner: str, name: str, size: int) -> tuple[FileId, Upload]:
        """Allow one upload of at most `size` bytes; raises InvalidRequestError."""

    def sample(self, owner: str, file_id: str) -> FileSample:
        """What tells the kind of the file, without all of it. Raises MissingError."""

    def about(self, owner: str, file_id: str) -> FileInfo:
        """Raises MissingError."""

    def read(self, owner: str, file_id: str) -> UploadedFile:
        """Raises MissingError. The content is untrusted data."""


class Approvals(Protocol):
    """Requests for a person's decision. Each request is stored once, and so is its decision."""

    def request_approval(self, approval: Approval) -> None:
        """Store a request; an existing one is left unchanged."""

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        """All requests of an exploration, in the order they were made."""

    def decide(self, decided: Approval) -> Approval:
        """Store the decision unless there is one, and return the stored one; raises MissingError."""

    def apply(self, applied: Approval) -> Approval:
        """Store what became of an approved change unless that is stored, and return the stored one; raises
        MissingError."""

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        """Store the workflow's task token, which never leaves the server."""

    def token(self, exploration_id: ExplorationId) -> str | None: ...
