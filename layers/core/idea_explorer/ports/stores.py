"""What is kept of explorations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol

from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.run import Status
from idea_explorer.domain.toolsets import ToolsetName
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.uploads import FileId
from idea_explorer.ports.reading import FileInfo, UploadedFile


class Transcript(Protocol):
    """The transcript of one exploration, opened under a lease."""

    @property
    def entries(self) -> Sequence[AnyEntry]: ...

    def append(self, entry: AnyEntry) -> None:
        """Durable when it returns; raises LeaseLostError when another worker has taken over."""
        ...


@dataclass(frozen=True, slots=True)
class Filter:
    status: Status | None = None
    mode: str | None = None
    toolset: ToolsetName | None = None


@dataclass(frozen=True, slots=True)
class ExplorationPage:
    explorations: Sequence[Exploration]
    cursor: str | None


class Explorations(Protocol):
    """Records of explorations. Whoever changes one holds its lease; an older lease writes nothing.

    Events that tell of a change are stored with it, both or neither: whoever sees the new status can
    read them, and a repetition after a crash does not tell them twice.
    """

    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        """Store a new one and the first events of its history; False where the id is taken already."""
        ...

    def load(self, exploration_id: ExplorationId) -> Exploration:
        """Raises MissingError."""
        ...

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: Callable[[Exploration], Exploration],
        tell: Callable[[Exploration, Exploration], Sequence[AnyEvent]] = lambda *_: (),
    ) -> Exploration:
        """Apply `change` and take a new lease, at once: from now on all older leases are lost.

        What `change` raises is raised, and then nothing has happened. `tell` gives the events of the
        change from the record before and after it.
        """
        ...

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        """Raises LeaseLostError unless the stored lease is the exploration's.

        A cancel request that came meanwhile stays: only a take-over can withdraw it.
        """
        ...

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        """Raises MissingError."""
        ...

    def is_cancelled(self, exploration_id: ExplorationId) -> bool: ...

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        """An owner's explorations, newest first; raises InvalidRequestError for a foreign cursor."""
        ...

    def count_running(self) -> int: ...

    def unchanged_since(self, status: Status, moment: datetime) -> Sequence[Exploration]:
        """Explorations that have been in a status that is not final, unchanged, since before a moment:
        oldest first."""
        ...

    def due_deliveries(self, moment: datetime) -> Sequence[Exploration]:
        """Explorations that have ended and whose message was due before a moment, by `delivery_due`:
        the longest overdue first."""
        ...


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    number: int
    type: str
    data: str


class EventLog(Protocol):
    """The history of an exploration: numbers 1, 2, 3 … without gap or repeat."""

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        """Raises LeaseLostError when another worker has taken over.

        No lease is for those who run nothing and only say what happened, as the API does; they get
        MissingError where there is no such exploration.
        """
        ...

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        """The next events, at most `limit` and at most about a megabyte; none when there are none."""
        ...


class Reports(Protocol):
    """Reports as markdown, readable whatever became of publishing them."""

    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        """Raises LeaseLostError when another worker has taken over."""
        ...

    def load_report(self, exploration_id: ExplorationId) -> str:
        """Raises MissingError where nothing was written."""
        ...


class Transcripts(Protocol):
    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript: ...


@dataclass(frozen=True, slots=True)
class Upload:
    """How to send a file's content: POST a form of these fields and then `file`, or PUT it as it is."""

    method: Literal["POST", "PUT"]
    url: str
    fields: Mapping[str, str]


class Uploads(Protocol):
    """Files that owners have sent. Nobody reaches another's, whatever id they name."""

    @property
    def origin(self) -> str:
        """Where a browser sends them to; empty where that is the API's own address."""
        ...

    def presign(self, owner: str, name: str, size: int) -> tuple[FileId, Upload]:
        """Make room for a file of at most `size` bytes; raises InvalidRequestError."""
        ...

    def has(self, owner: str, file_id: str) -> bool:
        """Whether the owner has sent the file."""
        ...

    def about(self, owner: str, file_id: str) -> FileInfo:
        """Raises MissingError."""
        ...

    def read(self, owner: str, file_id: str) -> UploadedFile:
        """Raises MissingError. What comes back is untrusted data."""
        ...


class Spend(Protocol):
    """What each owner's explorations have cost, day by day, and what is held back for those that run."""

    def reserve(self, owner: str, day: date, run: str, usd: float, *, limit: float) -> float:
        """Hold `usd` back for a run, or as much of it as the owner's day still has; gives what is held.

        However many do so at once, what an owner's runs hold and have spent stays within `limit`. A
        repeat replaces what the run held before.
        """
        ...

    def record(self, owner: str, day: date, run: str, usd: float) -> None:
        """What a run has cost in all; nothing is held back for it any more.

        It may be repeated, and what was recorded is never lowered: a worker that has been overtaken
        knows less than the one that came after it.
        """
        ...

    def spent(self, owner: str, day: date) -> float:
        """What the owner's runs have cost on that day, or hold where that is more."""
        ...


class Approvals(Protocol):
    """Requests for a person's decision. A request is stored once, and so is its decision."""

    def request_approval(self, approval: Approval) -> None:
        """Store a request; one that is there stays as it is."""
        ...

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        """All of an exploration, in the order of asking."""
        ...

    def decide(self, decided: Approval) -> Approval:
        """Store the decision unless there is one; what is stored then is returned.

        Raises MissingError where nobody asked.
        """
        ...

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        """Keep the workflow's token, which never leaves the server."""
        ...

    def token(self, exploration_id: ExplorationId) -> str | None: ...


class Idempotency(Protocol):
    def once(
        self,
        owner: str,
        key: str,
        request: JsonObject,
        act: Callable[[], JsonObject],
        *,
        seconds: float,
    ) -> JsonObject:
        """Act once per owner and key; a repetition gets the first answer.

        Raises InvalidRequestError where the key came with another request, and ConflictError while
        the first is being worked on, for at most `seconds`. What `act` raises is raised, and then
        the key is free again.
        """
        ...
