"""Close the record of a run that ended without saying so: timed out, stopped by hand, or broken off."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.minimum_cost import price_report
from idea_explorer.agent.state import State
from idea_explorer.domain.deadline import Clock
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
from idea_explorer.domain.report import choose_report, find_title, find_verdict, strip_preamble
from idea_explorer.domain.run import Receipt, Stats, Status
from idea_explorer.domain.usage import Price
from idea_explorer.ports import EventSink, Explorations, Reports, Spend, Transcripts
from idea_explorer.usecases.allowance import charge
from idea_explorer.usecases.outcome import stats_of, unproposed_changes
from idea_explorer.usecases.run_events import close_run

OVERTAKEN = (LeaseLostError, ConflictError, MissingError)  # it is somebody else's now, or gone
Cause = Literal["timed_out", "stopped", "broken", "approval_expired"]


@dataclass(frozen=True, slots=True)
class Ending:
    status: Status
    code: ErrorCode
    message: str


ENDINGS: dict[Cause, Ending] = {
    "timed_out": Ending("timed_out", "TIMEOUT", "The deadline passed before the report was whole."),
    "stopped": Ending("cancelled", "CANCELLED", "The run was stopped; what was there is kept."),
    "approval_expired": Ending(
        "partial",
        "TIMEOUT",
        "Nobody decided on the proposed changes in time; what was there is kept.",
    ),
    "broken": Ending("failed", "INTERNAL_ERROR", "The run broke off; what was there is kept."),
}
UNPUBLISHED = Ending("failed", "INTERNAL_ERROR", "The report was written but not published.")


@dataclass(frozen=True)
class Books:
    """The records that settling reads and closes."""

    explorations: Explorations
    transcripts: Transcripts
    reports: Reports
    clock: Clock
    prices: Mapping[str, Price]
    sinks_for: Callable[[Exploration], Sequence[EventSink]]
    spend: Spend | None = None


def settle(
    exploration_id: ExplorationId,
    run: int,
    cause: Cause,
    books: Books,
    *,
    error: ExplorerError | None = None,
) -> Exploration:
    """Give a run its final status from its last checkpoint; one that has it, or has gone on, stays.

    It takes the lease: a worker that goes on after its time writes nothing more. `error` is what the
    run ended with, where that is known: its sentence says what to do.
    """
    try:
        now = books.clock.now()
        exploration = books.explorations.take_over(exploration_id, lambda e: _open_run(e, run, now))
    except ConflictError:
        return books.explorations.load(exploration_id)
    if exploration.status == "awaiting_approval" and cause == "timed_out":
        cause = "approval_expired"
    settled = _unpublished(exploration, cause, books) or _from_checkpoint(
        exploration, cause, books, error
    )
    charge(exploration, settled.run.stats.cost_usd, books.spend)
    receipt = settled.run.receipt
    close_run(
        exploration,
        settled,
        explorations=books.explorations,
        sinks=books.sinks_for(settled),
        failure=ErrorEvent(code=receipt.code, message=receipt.message) if receipt else None,
    )
    return settled


def _open_run(exploration: Exploration, run: int, now: datetime) -> Exploration:
    if exploration.is_final or exploration.run.number != run:
        raise ConflictError(f"Run {run} of exploration {exploration.id} is closed.")
    return exploration.started(at=now) if exploration.status == "queued" else exploration


def _unpublished(exploration: Exploration, cause: Cause, books: Books) -> Exploration | None:
    """A run that came to its outcome and was not published: what there was to publish is kept."""
    if exploration.run.outcome is None:
        return None
    receipt, now = exploration.run.receipt, books.clock.now()
    has_text = receipt is None or receipt.has_partial_text
    if exploration.run.outcome == "failed" or not has_text:
        return exploration.finished(exploration.run.outcome, at=now)
    ending = ENDINGS[cause] if cause == "stopped" else UNPUBLISHED
    told = _receipt(exploration, ending, exploration.run.stats, has_text=True)
    unpublished = told.model_copy(update={"stage": "publish"})
    return exploration.finished(ending.status, at=now, receipt=unpublished)


def _from_checkpoint(
    exploration: Exploration, cause: Cause, books: Books, error: ExplorerError | None
) -> Exploration:
    ending = ENDINGS["stopped" if exploration.cancel_requested else cause]
    if error and ending.status == "failed":
        ending = Ending("failed", error.code, error.sentence)
    entries = books.transcripts.open(exploration.id, exploration.lease).entries
    ending = replace(ending, message=ending.message + unproposed_changes(exploration, entries))
    text = strip_preamble(choose_report(entries))
    if text:
        books.reports.save_report(exploration.id, exploration.lease, text)
    state = State(entries) if entries else None
    stats = (
        stats_of(state, cause, books.prices) if state else Stats(stop_reason=cause, cost_usd=0.0)
    )
    price = books.prices.get(state.opening.model_id) if state else None
    return exploration.finished(
        ending.status,
        at=books.clock.now(),
        stats=stats,
        min_resume_usd=price_report(state, Budget(price=price)) if state else None,
        title=find_title(text, exploration.request.idea),
        verdict=find_verdict(text),
        receipt=_receipt(exploration, ending, stats, has_text=bool(text)),
    )


def _receipt(exploration: Exploration, ending: Ending, stats: Stats, *, has_text: bool) -> Receipt:
    return Receipt.of(exploration.id, ending.code, ending.message, stats=stats, has_text=has_text)
