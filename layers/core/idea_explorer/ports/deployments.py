"""A deployment as its operator sees it from outside: for the smoke test."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from idea_explorer.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StackInfo:
    name: str
    status: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """An execution of the workflow. `error` and `cause` are those of one that failed."""

    status: str
    error: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class LoggedError:
    """A line of a function's log, as one sentence."""

    function: str
    text: str


class Deployment(Protocol):
    """Reads with the operator's rights and changes nothing. Raises ExternalError or ConfigurationError."""

    def describe(self) -> StackInfo: ...

    def queue_sources(self, queue_url: str) -> Mapping[str, str]:
        """The event sources that take messages from a queue: the state of each by its id."""

    def missing_roles(self) -> Sequence[str]:
        """The roles of the stack that no longer exist."""

    def has_value(self, secret: str) -> bool:
        """Whether a secret was ever set. Its value is not read."""

    def execution(self, state_machine: str, name: str) -> ExecutionInfo | None: ...

    def recent_errors(self, since: datetime) -> Sequence[LoggedError]:
        """What the functions logged as errors, newest first; empty where the logs may not be read."""
