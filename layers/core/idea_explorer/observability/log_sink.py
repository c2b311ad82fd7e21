"""Logs the events of a run. It never logs contents, prompts or secrets."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from idea_explorer.domain.event_json import sent_fields
from idea_explorer.domain.events import (
    ErrorEvent,
    PlanAccepted,
    ReportVerified,
    RetryScheduled,
    RunEvent,
    RunFinished,
    StatusChanged,
    StepFinished,
    ToolCallEnd,
    WebhookGivenUp,
)
from idea_explorer.domain.events import ToolCallError as ToolCallFailed
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject

if TYPE_CHECKING:
    from idea_explorer.ports import Log


class LogSink:
    """Logs the events of one exploration."""

    def __init__(self, log: Log, exploration: Exploration) -> None:
        self._info = partial(log.info, explorationId=exploration.id)
        self._warning = partial(log.warning, explorationId=exploration.id)
        self._error = partial(log.error, explorationId=exploration.id)

    def emit(self, event: RunEvent) -> None:
        match event:
            case ToolCallEnd() | ToolCallFailed():
                fields = event.record.as_json()
                if event.record.was_retried:
                    fields["wasRetried"] = True
                self._info("tool_call", step=event.record.step, **fields)
            case StepFinished():
                usage = sent_fields(event.usage)
                self._info("step_finished", step=event.step, cost=event.cost, **usage)
            case ReportVerified():
                usage = sent_fields(event.usage)
                self._info("report_verified", cost=event.cost, **usage)
            case PlanAccepted():
                asked = event.plan.sub_questions
                self._info(
                    "plan_accepted",
                    questions=len(asked),
                    tools=dict(Counter(one.tool for one in asked)),
                    known=len(event.plan.known),
                    edited=event.edited,
                )
            case RetryScheduled():
                self._warning(
                    "model_retry_attempt" if event.step else "repository_retry_attempt",
                    step=event.step,
                    attempt=event.attempt,
                    seconds=event.seconds,
                    errorType=event.error_type,
                    error=event.reason,
                )
            case StatusChanged():
                self._info("status_changed", fromStatus=event.from_, toStatus=event.to)
            case ErrorEvent():
                self._error("exploration_error", code=event.code, error=event.message)
            case WebhookGivenUp():
                self._warning("webhook_given_up", error=event.error)
            case RunFinished():
                self._info("exploration_finished", **_summarize(event.exploration))


def _summarize(exploration: Exploration) -> JsonObject:
    """The run in numbers."""
    run, request = exploration.run, exploration.request
    stats, usage = run.stats, run.stats.usage
    branch = exploration.branch_of
    part: JsonObject = {"parentId": branch.parent, "branch": branch.number} if branch else {}
    return {
        **part,
        "run": run.number,
        "status": exploration.status,
        "toolset": request.toolset,
        "mode": request.mode,
        **({"depth": exploration.depth} if exploration.depth else {}),
        "model": exploration.model_name,
        "steps": stats.steps,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "searches": usage.searches,
        "cost": stats.cost_usd,
        "durationMs": _duration_ms(exploration),
        "stepDurationsMs": [*stats.step_durations],
        "toolCalls": len(stats.tool_calls),
        "toolErrors": sum(not record.ok for record in stats.tool_calls),
        "tools": dict(Counter(record.known_name for record in stats.tool_calls)),
        **({"verification": asdict(stats.verification)} if stats.verification else {}),
        "stopReason": stats.stop_reason,
        "errorCode": run.receipt.code if run.receipt else None,
    }


def _duration_ms(exploration: Exploration) -> int | None:
    seconds = exploration.seconds_worked
    return None if seconds is None else round(seconds * 1_000)
