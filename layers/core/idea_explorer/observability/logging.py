"""One sink turns each event of a run into its log line. Contents, prompts and secrets never enter it."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

from idea_explorer.domain.events import (
    Failed,
    RunEvent,
    RunFinished,
    StatusChanged,
    StepFinished,
    ToolCallEnd,
    TryingAgain,
)
from idea_explorer.domain.events import ToolCallError as ToolCallFailed
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports import Log

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

SERVICE = "idea-explorer"
FIELDS = "fields"
CALLER = 3  # a line names the code that logged it, not this module


class PowertoolsLog:
    """Structured lines by Powertools: JSON, one per line, with what is known of the exploration."""

    def __init__(self, logger: "Logger") -> None:
        self._logger = logger

    def info(self, message: str, **fields: object) -> None:
        self._logger.info(message, extra={FIELDS: fields}, stacklevel=CALLER)

    def warning(self, message: str, **fields: object) -> None:
        self._logger.warning(message, extra={FIELDS: fields}, stacklevel=CALLER)

    def error(self, message: str, **fields: object) -> None:
        self._logger.error(message, extra={FIELDS: fields}, stacklevel=CALLER)


class SilentLog:
    """For people who watch the progress instead."""

    def info(self, message: str, **fields: object) -> None:
        pass

    def warning(self, message: str, **fields: object) -> None:
        pass

    def error(self, message: str, **fields: object) -> None:
        pass


def stream_log(stream: TextIO) -> PowertoolsLog:
    """A log that writes its lines to a stream of this process."""
    import logging

    handler = logging.StreamHandler(stream)
    return PowertoolsLog(powertools_logger(logger_handler=handler, level="INFO"))


def powertools_logger(**options: Any) -> "Logger":
    """The logger of every function. Fields are merged on the way out, because the standard library
    reserves names, `name` among them, that a tool_call line must have."""
    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

    class Flat(LambdaPowertoolsFormatter):
        def serialize(self, log: Any) -> str:
            fields = log.pop(FIELDS, {})
            return super().serialize({**log, **fields})

    return Logger(service=SERVICE, logger_formatter=Flat(), **options)


class LogSink:
    """The log lines of one exploration."""

    def __init__(self, log: Log, exploration: Exploration) -> None:
        self._log = log
        self._id = exploration.id

    def emit(self, event: RunEvent) -> None:
        match event:
            case ToolCallEnd() | ToolCallFailed():
                fields = event.record.as_json()
                if event.record.was_retried:
                    fields["wasRetried"] = True
                self._log.info(
                    "tool_call", explorationId=self._id, step=event.record.step, **fields
                )
            case StepFinished():
                usage = event.usage.model_dump(by_alias=True)
                self._log.info(
                    "step_finished",
                    explorationId=self._id,
                    step=event.step,
                    cost=event.cost,
                    **usage,
                )
            case TryingAgain():
                self._log.warning(
                    "model_retry_attempt" if event.step else "repository_retry_attempt",
                    explorationId=self._id,
                    step=event.step,
                    attempt=event.attempt,
                    seconds=event.seconds,
                    errorType=event.error_type,
                    error=event.reason,
                )
            case StatusChanged():
                self._log.info(
                    "status_changed",
                    explorationId=self._id,
                    fromStatus=event.from_,
                    toStatus=event.to,
                )
            case Failed():
                self._log.error(
                    "exploration_error",
                    explorationId=self._id,
                    code=event.code,
                    error=event.message,
                )
            case RunFinished():
                self._log.info("exploration_finished", **_summed_up(event.exploration))
            case _:
                pass


def _summed_up(ended: Exploration) -> JsonObject:
    """A run in figures: never what was asked, read or written."""
    stats, request = ended.run.stats, ended.request
    return {
        "explorationId": ended.id,
        "run": ended.run.number,
        "status": ended.status,
        "toolset": request.toolset,
        "mode": request.mode,
        "model": ended.model_name,
        "steps": stats.steps,
        "inputTokens": stats.usage.input_tokens,
        "outputTokens": stats.usage.output_tokens,
        "cacheReadTokens": stats.usage.cache_read_tokens,
        "cacheWriteTokens": stats.usage.cache_write_tokens,
        "searches": stats.usage.searches,
        "cost": stats.cost_usd,
        "durationMs": _duration_ms(ended),
        "stepDurationsMs": [*stats.step_durations],
        "toolCalls": len(stats.tool_calls),
        "toolErrors": sum(not record.ok for record in stats.tool_calls),
        "tools": dict(Counter(record.known_name for record in stats.tool_calls)),
        "stopReason": stats.stop_reason,
        "errorCode": ended.run.receipt.code if ended.run.receipt else None,
    }


def _duration_ms(ended: Exploration) -> int | None:
    """How long the last run worked: waits for a person have moved its deadline, and so do not count."""
    if ended.run.deadline_at is None or ended.run.finished_at is None:
        return None
    began = ended.run.deadline_at - timedelta(seconds=ended.request.deadline_seconds)
    return max(0, round((ended.run.finished_at - began).total_seconds() * 1_000))
