"""What runs explorations, and what tells of them outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject


class Webhooks(Protocol):
    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        """POST to a public https address; gives the 2xx status, raises ExternalError otherwise."""
        ...


class WorkQueue(Protocol):
    """Messages that name a stored exploration. Delivered at least once, in any order."""

    def send(self, exploration_id: ExplorationId, run: int, *, delay_seconds: int = 0) -> None: ...

    def dead_letter(self, body: str, reason: str) -> None:
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
    """A workflow whose executions may wait for an answer."""

    def answer(self, token: str, output: JsonObject) -> bool:
        """Let an execution that waits go on; False where it waits no longer."""
        ...


class Secrets(Protocol):
    def get(self, name: str, field: str | None = None, *, fresh: bool = False) -> str:
        """A secret's value, at most some minutes old, or with `fresh` as it is now; raises
        ConfigurationError.

        Where the secret is a JSON object and `field` is given, the value is that field's.
        """
        ...


class SecretStore(Protocol):
    """Secrets as an operator sees them: read and written at once, past every cache."""

    def read(self, name: str) -> str:
        """The current value, empty where none was set yet."""
        ...

    def write(self, name: str, value: str) -> None: ...
