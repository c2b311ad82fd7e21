"""Close a run that ended without recording it: it timed out, was stopped, or broke off."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from idea_explorer.agent.branches import open_branches
from idea_explorer.agent.budget import Budget
from idea_explorer.agent.requests import price_report
from idea_explorer.agent.state import State
from idea_explorer.domain.errors import (
    ConflictError,
    ErrorCode,
    ExplorerError,
    LeaseLostError,
    MissingError,
)
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.report import choose_report
from idea_explorer.domain.report_text import find_verdict, name_report, strip_preamble
from idea_explorer.domain.run import Receipt, Stats, Status
from idea_explorer.ports import Transcript
from idea_explorer.usecases.allowance import record_spend
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.findings import collect_findings
from idea_explorer.usecases.outcome import stats_of, unproposed_changes
from idea_explorer.usecases.run_events import save_end

OVERTAKEN = (LeaseLostError, ConflictError, MissingError)  # another worker has it, or it is gone
Cause = Literal["timed_out", "stopped", "broken", "approval_expired"]


@dataclass(frozen=True, slots=True)
class Ending:
    status: Status
    code: ErrorCode
    message: str


ENDINGS: dict[Cause, Ending] = {
    "timed_out": Ending(
        "timed_out", "TIMEOUT", "The deadline passed before the report was complete."
    ),
    "stopped": Ending("cancelled", "CANCELLED", "The run was stopped; the work so far is kept."),
    "approval_expired": Ending(
        "partial", "TIMEOUT", "Nobody decided in time; the work so far is kept."
    ),
    "broken": Ending(
        "failed", "INTERNAL_ERROR", "The run stopped unexpectedly; the work so far is kept."
    ),
}
UNPUBLISHED = "The report was written but not published"


def settle(
    exploration_id: ExplorationId,
    run: int,
    cause: Cause,
    deps: Deps,
    *,
    error: ExplorerError | None = None,
) -> Exploration:
    """Set the final status of a run from its last checkpoint. A run that has ended, or was resumed, stays.

    Takes the lease: a worker that is still running can write nothing more. `error` is what ended the
    run, if known: its sentence tells a person what to do.
    """
    try:
        now = deps.clock.now()
        exploration = deps.explorations.take_over(exploration_id, lambda e: _open_run(e, run, now))
    except ConflictError:
        return deps.explorations.load(exploration_id)
    if exploration.status == "awaiting_approval" and cause == "timed_out":
        cause = "approval_expired"
    settled = _end_unpublished(exploration, cause, deps, error) or _end_from_checkpoint(
        exploration, cause, deps, error
    )
    record_spend(exploration, settled.run.stats.cost_usd, deps)
    receipt = settled.run.receipt
    failure = ErrorEvent(code=receipt.code, message=receipt.message) if receipt else None
    save_end(exploration, settled, deps, failure)
    return settled


def _open_run(exploration: Exploration, run: int, now: datetime) -> Exploration:
    if exploration.is_final or exploration.run.number != run:
        raise ConflictError(f"Run {run} of exploration {exploration.id} is closed.")
    if exploration.status == "queued":
        return exploration.started(at=now)
    return exploration.replace(decided_at=None)  # it waits no longer to go on


def _end_branches(transcript: Transcript, cause: Cause, deps: Deps) -> None:
    """Settle the branches that the run waits for, so that what they found and cost is known."""
    started = open_branches(transcript.entries)
    if started is None:
        return
    for task in started.branches:
        with suppress(MissingError):  # it was never made
            settle(task.id, deps.explorations.load(task.id).run.number, cause, deps)
    transcript.append(collect_findings(started, deps))


def _end_unpublished(
    exploration: Exploration, cause: Cause, deps: Deps, error: ExplorerError | None
) -> Exploration | None:
    """End a run that has an outcome but was not published. Its report is kept for a resume."""
    if exploration.run.outcome is None:
        return None
    receipt, now = exploration.run.receipt, deps.clock.now()
    has_text = receipt is None or receipt.has_partial_text
    if exploration.run.outcome == "failed" or not has_text:
        return exploration.finished(exploration.run.outcome, at=now)
    ending = ENDINGS[cause] if cause == "stopped" else _unpublished(error)
    receipt = Receipt.of(
        exploration.id,
        ending.code,
        ending.message,
        stats=exploration.run.stats,
        has_text=True,
        stage="publish",
    )
    return exploration.finished(ending.status, at=now, receipt=receipt)


def _unpublished(error: ExplorerError | None) -> Ending:
    if error is None:
        return Ending("failed", "INTERNAL_ERROR", f"{UNPUBLISHED}.")
    return Ending("failed", error.code, f"{UNPUBLISHED}: {error.sentence}")


def _end_from_checkpoint(
    exploration: Exploration, cause: Cause, deps: Deps, error: ExplorerError | None
) -> Exploration:
    ending = ENDINGS["stopped" if exploration.cancel_requested else cause]
    if error and ending.status == "failed":
        ending = Ending("failed", error.code, error.sentence)
    transcript = deps.transcripts.open(exploration.id, exploration.lease)
    _end_branches(transcript, cause, deps)
    entries = transcript.entries
    ending = replace(ending, message=ending.message + unproposed_changes(exploration, entries))
    text = strip_preamble(choose_report(entries))
    if text:
        deps.reports.save_report(exploration.id, exploration.lease, text)
    state = State(entries) if entries else None
    stats = (
        stats_of(state, cause, deps.policy.prices)
        if state
        else Stats(stop_reason=cause, cost_usd=0.0)
    )
    price = deps.policy.prices.get(state.opening.model_id) if state else None
    return exploration.finished(
        ending.status,
        at=deps.clock.now(),
        stats=stats,
        min_resume_usd=price_report(state, Budget(price=price)) if state else None,
        title=name_report(text, exploration.request.idea),
        verdict=find_verdict(text),
        branches=(),
        receipt=Receipt.of(
            exploration.id, ending.code, ending.message, stats=stats, has_text=bool(text)
        ),
    )
