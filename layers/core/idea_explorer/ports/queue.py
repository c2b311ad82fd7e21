"""How explorations are queued, run and reported, and where secrets come from."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.ids import ExplorationId
    from idea_explorer.domain.json import JsonObject


class Webhooks(Protocol):
    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        """POST to a public https address and return the 2xx status; raises ExternalError otherwise."""


class WorkQueue(Protocol):
    """Messages that name a stored exploration, delivered at least once and in any order."""

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None: ...

    def dead_letter(self, body: str, reason: str) -> None:
        """Send a message that can never be processed to where an operator finds it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do. `attempts` includes the current one."""

    number: int
    exploration_id: ExplorationId
    run: int
    attempts: int


class Jobs(Protocol):
    """The workers' end of a queue. A job stays with the process that took it until that has ended."""

    def take(self) -> Job | None:
        """Claim the job that has been due the longest."""

    def release_lost(self) -> None:
        """Make jobs due again whose process has ended; call it about once a second."""

    def put_back(self, job: Job, *, delay_seconds: float = 0.0) -> None: ...

    def leave(self, job: Job) -> None:
        """The process is about to end: whoever takes the job next begins the same attempt."""

    def done(self, job: Job) -> None: ...


class Workflow(Protocol):
    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        """Start the execution of a run; idempotent. False if it is known to have been started before."""

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        """Whether the execution of a run has been started and has not ended."""


class Notices(Protocol):
    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        """Request that a run's webhook be sent soon, by another process; raises ExternalError."""


class Executions(Workflow, Protocol):
    """A workflow whose executions can wait for an answer."""

    def answer(self, token: str, output: JsonObject) -> bool:
        """Let a waiting execution continue; False if it is no longer waiting."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message of the queue, or an asynchronous call of a function, that could not be processed."""

    kind: Literal["message", "call"]
    id: str
    body: str
    reason: str
    sent_at: datetime
    receipt: str
    function: str = ""


class DeadLetters(Protocol):
    def receive_all(self) -> AbstractContextManager[list[DeadLetter]]:
        """All dead letters, the oldest first; nobody else gets them meanwhile."""

    def retry(self, letter: DeadLetter) -> None: ...

    def drop(self, letter: DeadLetter) -> None: ...


class Secrets(Protocol):
    def get(self, name: str, field: str | None = None, *, fresh: bool = False) -> str:
        """A secret's value, at most a few minutes old, or current with `fresh`; raises ConfigurationError.

        If the secret is a JSON object and `field` is given, the value is that field's.
        """


class SecretStore(Protocol):
    """Secrets as an operator sees them: read and written directly, past every cache."""

    def read(self, name: str) -> str:
        """The current value; empty if none has been set yet."""

    def write(self, name: str, value: str) -> None: ...
