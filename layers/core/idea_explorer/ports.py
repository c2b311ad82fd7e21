"""What the engine needs from outside. Adapters keep these promises; fakes in tests keep them too."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol

from idea_explorer.domain import limits
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.deadline import Clock as Clock
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration, Status
from idea_explorer.domain.files import FileId
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.paths import ResearchPath
from idea_explorer.domain.request import Toolset
from idea_explorer.domain.similar import Index
from idea_explorer.domain.snapshots import Entry
from idea_explorer.domain.symbols import Definition, Import, Parsed
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `tools_off` keeps the tool list, so that caches stay valid, and forbids its use."""

    model_id: str
    system: Sequence[Block]
    tools: Sequence[Block]
    messages: Sequence[JsonObject]
    max_tokens: int
    tools_off: bool


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    content: list[Block]
    stop_reason: str
    usage: Usage
    stop_detail: str = ""


class Watcher(Protocol):
    """Told of everything while an answer streams. Raising from any method breaks the call off."""

    def tick(self) -> None:
        """Something arrived, whatever it was."""
        ...

    def text(self, delta: str) -> None: ...

    def block(self, block: Block) -> None:
        """A content block is whole."""
        ...

    def usage(self, usage: Usage) -> None:
        """What the call has cost so far."""
        ...


class Model(Protocol):
    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one answer; raises ExternalError. What comes back is untrusted data."""
        ...


class EventSink(Protocol):
    def emit(self, event: AnyEvent) -> None: ...


class Log(Protocol):
    """Structured log lines. Never given secrets, file contents or prompts."""

    def info(self, message: str, **fields: object) -> None: ...
    def warning(self, message: str, **fields: object) -> None: ...
    def error(self, message: str, **fields: object) -> None: ...


class Journal(Protocol):
    """The transcript of one exploration, opened under a lease."""

    @property
    def entries(self) -> Sequence[AnyEntry]: ...

    def append(self, entry: AnyEntry) -> None:
        """Durable when it returns; raises LeaseLostError when another worker has taken over."""
        ...


@dataclass(frozen=True, slots=True)
class Document:
    content: str
    size: int


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    path: str
    size: int


class ResearchRepository(Protocol):
    """A team's research below `ideas/`. Paths are relative to it; nothing outside is ever read."""

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        """Raises DocumentError's kinds, or ExternalError. What comes back is untrusted data."""
        ...

    def list(self) -> Sequence[DocumentInfo]: ...

    def read_all(self) -> Sequence[tuple[str, str]]:
        """Path and text of every research document, for search."""
        ...


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a URL answered. `url` is the last one after redirects, `charset` what its header claims."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes


class WebPages(Protocol):
    """Public web pages: of text, html and json types, within bounds of size and time."""

    def fetch(self, url: str) -> WebPage:
        """Raises WebError's kinds, or ExternalError. What comes back is untrusted data."""
        ...


@dataclass(frozen=True, slots=True)
class UploadedFile:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class FileInfo:
    name: str
    size: int


class UploadedFiles(Protocol):
    """The files that the user gave with this exploration, and no others."""

    def list(self) -> Sequence[FileInfo]: ...

    def read_all(self) -> Iterable[UploadedFile]:
        """One file after the other, so that not all need to be in memory. Raises ExternalError."""
        ...


@dataclass(frozen=True, slots=True)
class Filter:
    status: Status | None = None
    mode: str | None = None
    toolset: Toolset | None = None


@dataclass(frozen=True, slots=True)
class Page:
    explorations: Sequence[Exploration]
    cursor: str | None


class Explorations(Protocol):
    """Records of explorations. Whoever changes one holds its lease; an older lease writes nothing."""

    def create(self, exploration: Exploration) -> bool:
        """Store a new one; False where the id is taken already."""
        ...

    def load(self, exploration_id: ExplorationId) -> Exploration:
        """Raises MissingError."""
        ...

    def take_over(
        self, exploration_id: ExplorationId, change: Callable[[Exploration], Exploration]
    ) -> Exploration:
        """Apply `change` and take a new lease, at once: from now on all older leases are lost.

        What `change` raises is raised, and then nothing has happened.
        """
        ...

    def save(self, exploration: Exploration) -> None:
        """Raises LeaseLostError unless the stored lease is the exploration's.

        A cancel request that came meanwhile stays: only a take-over can withdraw it.
        """
        ...

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        """Raises MissingError."""
        ...

    def is_cancelled(self, exploration_id: ExplorationId) -> bool: ...

    def page(self, owner: str, wanted: Filter, *, limit: int, cursor: str | None) -> Page:
        """An owner's explorations, newest first; raises InvalidRequestError for a foreign cursor."""
        ...

    def count_running(self) -> int: ...

    def unchanged_since(self, status: Status, moment: datetime) -> Sequence[Exploration]:
        """Explorations that have been in a status that is not final, unchanged, since before a moment:
        oldest first."""
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


class Journals(Protocol):
    def open(self, exploration_id: ExplorationId, lease: int) -> Journal: ...


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
    ) -> str | None:
        """Write the texts of a plan, and remove what is None there; all of it, or as much as before.

        Gives the commit where the exploration's own work had been committed. What `plan` raises is
        raised, and then nothing has happened.
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


class Webhooks(Protocol):
    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        """POST to a public https address; gives the 2xx status, raises ExternalError otherwise."""
        ...


class WorkQueue(Protocol):
    """Messages that name a stored exploration. Delivered at least once, in any order."""

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None: ...

    def set_aside(self, body: str, reason: str) -> None:
        """Put a message that can never be worked on where an operator will find it."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be done. `attempts` counts this one too."""

    number: int
    exploration_id: ExplorationId
    run: int
    attempts: int


class Jobs(Protocol):
    """The workers' end of a queue. A job that is taken is due again unless its worker keeps it."""

    def take(self) -> Job | None:
        """The job that has been due longest, for this worker alone."""
        ...

    def keep(self, job: Job) -> None:
        """Say that the worker lives; to be called about once a second."""
        ...

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None: ...

    def done(self, job: Job) -> None: ...


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


class Workflow(Protocol):
    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        """Start the execution of a run, once however often it is called.

        False where it is known to have been started before.
        """
        ...


class Notices(Protocol):
    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        """Have the webhook of a run sent soon, by somebody else; raises ExternalError."""
        ...


class Executions(Workflow, Protocol):
    """What can be done with an execution after its start."""

    def state(self, exploration_id: ExplorationId, run: int) -> str | None:
        """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED; None where it was never started."""
        ...

    def stop(self, exploration_id: ExplorationId, run: int, cause: str) -> None:
        """Stop it; nothing happens where it has ended or was never started."""
        ...

    def answer(self, token: str, output: JsonObject) -> bool:
        """Let an execution that waits go on; False where it waits no longer."""
        ...


class Secrets(Protocol):
    def get(self, name: str, field: str | None = None) -> str:
        """A secret's current value, at most some minutes old; raises ConfigurationError.

        Where the secret is a JSON object and `field` is given, the value is that field's.
        """
        ...


class SecretStore(Protocol):
    """Secrets as an operator sees them: read and written at once, past every cache."""

    def read(self, name: str) -> str:
        """The current value, empty where none was set yet."""
        ...

    def write(self, name: str, value: str) -> None: ...


class Snapshot(Protocol):
    """A repository at one commit. It never changes, and holds nothing from outside the repository."""

    @property
    def sha(self) -> str: ...

    @property
    def entries(self) -> Sequence[Entry]: ...

    @property
    def text(self) -> memoryview:
        """All kept contents, each at its entry's `start` and ending in a line feed (see `ended`)."""
        ...


class Symbols(Protocol):
    """What parsers found, by a key that names content and parser: good for every commit that has it."""

    def unknown(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that nothing is stored for yet."""
        ...

    def add(self, parsed: Mapping[str, Parsed]) -> None: ...

    def definitions(self, name: str) -> Sequence[tuple[str, Definition]]:
        """Whatever defines this name, each with its key. May hold keys of other commits."""
        ...

    def imports(self, last: str) -> Sequence[tuple[str, Import]]:
        """Whatever imports something that ends in this segment, or a folder by a relative import."""
        ...

    def bindings(self, name: str) -> Sequence[tuple[str, Import]]:
        """Whatever imports something of this name, or gives this name to what it imports."""
        ...
