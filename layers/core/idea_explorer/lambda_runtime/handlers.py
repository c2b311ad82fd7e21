"""The edge to Lambda: the events it delivers, and the error names that the workflow handles."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from pydantic import AwareDatetime, ConfigDict, Field, SecretStr, ValidationError

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import (
    ErrorCode,
    ExplorerError,
    ExternalError,
    NoFreeSlotError,
    UndeliveredError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.observability.logging import PowertoolsLog, powertools_logger

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from idea_explorer.ports import Log
    from idea_explorer.usecases.settle import Cause

Event: TypeAlias = Mapping[str, Any]

# How an execution ended, in the words of the workflow's Catch and of EventBridge. Any other is a failure.
CAUSES: dict[str, Cause] = {
    "States.Timeout": "timed_out",
    "TIMED_OUT": "timed_out",
    "ABORTED": "stopped",
}
PUBLISH_TIMED_OUT = "PublishTimedOut"  # named by the workflow's state PublishFailed


class RetryableError(Exception):
    """The workflow may try again; workflow/exploration.asl.yaml names this class."""


class ThrottledError(Exception):
    """The workflow may try again, but not soon: a service asked for a pause. Named there too."""


class InternalError(Exception):
    """An unexpected error. Its message is only the error's class: more might quote an idea."""


class Failure(DomainModel):
    """What a Catch of the workflow stores. `cause` is text of AWS, or a function's error as JSON."""

    model_config = ConfigDict(frozen=True)

    error: str = Field(alias="Error")
    cause: str = Field(default="", alias="Cause")

    @property
    def sentence(self) -> str | None:
        """Our own sentences only: what AWS says is for operators."""
        if self.error == PUBLISH_TIMED_OUT:
            return self.cause
        if self.error not in {RetryableError.__name__, ThrottledError.__name__}:
            return None
        try:
            return _FunctionError.model_validate_json(self.cause).errorMessage
        except ValidationError:
            return None


class _FunctionError(DomainModel):
    errorMessage: str  # noqa: N815  Lambda's spelling


class Work(DomainModel):
    """One call of the workflow: run an exploration, settle one whose run has stopped, or store the token
    that ends the wait for a person's decision. `expired`: nobody decided in time; `branched`: nobody
    works on the run's branches any more.

    During a release, a new workflow calls the old function and the other way round: fields may be unknown
    to one of them.
    """

    model_config = ConfigDict(frozen=True)

    id: ExplorationId
    run: int
    deadline_seconds: int | None = None
    entered_at: AwareDatetime | None = None
    retries: int = 0
    settle: bool = False
    expired: bool = False
    branched: bool = False
    token: SecretStr | None = None
    cause: str = ""
    failure: Failure | None = None
    unattended: bool = False  # no workflow is left to send the webhook

    @property
    def task(self) -> TaskStart | None:
        return TaskStart(self.entered_at, self.retries) if self.entered_at else None

    @property
    def why(self) -> Cause:
        return CAUSES.get(self.cause, "broken")

    @property
    def error(self) -> ExplorerError | None:
        """What the workflow caught, if it has a sentence for people."""
        sentence = self.failure.sentence if self.failure else None
        if not sentence:
            return None
        code, _, rest = sentence.partition(": ")
        error = ExplorerError(rest if code in get_args(ErrorCode) else sentence)
        if code in get_args(ErrorCode):
            error.code = cast("ErrorCode", code)
        return error


def work_in(event: Event) -> Work:
    """Parse a call of the workflow, or EventBridge's event that an execution, named `{id}-{run}`, ended."""
    detail = event.get("detail")
    if detail is None:
        return Work.model_validate(event)
    exploration_id, _, run = str(detail["name"]).rpartition("-")
    return Work(
        id=ExplorationId(exploration_id),
        run=int(run),
        settle=True,
        cause=str(detail["status"]),
        unattended=True,
    )


def messages_in(event: Event) -> list[QueueMessage]:
    """The messages of an SQS event. By hand: Powertools loads the classes of all sources (ADR 9)."""
    return [
        QueueMessage(
            id=record["messageId"],
            body=record["body"],
            receives=int(record.get("attributes", {}).get("ApproximateReceiveCount", 1)),
        )
        for record in event["Records"]
    ]


def each_message(event: Event, work: Callable[[QueueMessage], JsonObject]) -> JsonObject:
    """Handle each message. Those that failed are reported, so that SQS delivers only them again.

    By hand, because Powertools' batch processor adds an eighth to the start (ADR 9).
    """
    results: list[JsonObject] = []
    failed: list[JsonObject] = []
    for message in messages_in(event):
        try:
            with known_errors():
                results.append(work(message))
        except Exception as error:  # noqa: BLE001  whatever it was, SQS delivers the message again
            log().error("message_failed", messageId=message.id, error=str(error))
            failed.append({"itemIdentifier": message.id})
    return {"results": list(results), "batchItemFailures": list(failed)}


def entry(work: Callable[[Event], JsonObject]) -> Callable[[Event, object], JsonObject]:
    """Make a handler for Lambda: logged, and raising only errors that the workflow knows."""

    def handler(event: Event, context: object) -> JsonObject:  # noqa: ARG001
        with known_errors():
            return work(event)

    return logged(handler)


def logged(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Add Lambda's request id to every line that a handler logs."""
    wrapped: Callable[..., Any] = _logger().inject_lambda_context(handler, clear_state=True)
    return wrapped


def request_id() -> str | None:
    """Lambda's id of the current invocation."""
    known = _logger().get_current_keys().get("function_request_id")
    return known if isinstance(known, str) else None


@contextmanager
def known_errors() -> Iterator[None]:
    try:
        yield
    except (UndeliveredError, NoFreeSlotError):
        raise  # the workflow knows these names, and waits longer
    except ExplorerError as error:
        if not error.retryable:
            raise
        asked = error.retry_after if isinstance(error, ExternalError) else None
        named = RetryableError if asked is None else ThrottledError
        raise named(f"{error.code}: {error.sentence}") from None
    except Exception as error:  # noqa: BLE001  named by its class only
        kind = type(error).__name__
        frames = "".join(traceback.format_tb(error.__traceback__))
        log().error("unexpected_error", errorType=kind, traceback=frames)
        raise InternalError(kind) from None


def correlate(exploration_id: str) -> None:
    """Add the exploration's id to every further log line of this invocation."""
    _logger().append_keys(explorationId=exploration_id, correlation_id=exploration_id)


@cache
def log() -> Log:
    return PowertoolsLog(_logger())


@cache
def _logger() -> Logger:
    return powertools_logger()
