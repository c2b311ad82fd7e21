"""Make up for what was lost: starts that were not made, runs that died, webhooks that nobody sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.usecases.admission import admit, launch
from idea_explorer.usecases.approvals.wait import mark_decided
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import request_notice, request_webhook
from idea_explorer.usecases.settle import settle

MAX_PER_SWEEP = 100  # of each kind; the next sweep, a minute later, finds the rest
WAITING_STATUSES: tuple[Status, ...] = ("queued", "awaiting_approval")
STARTED_TOO_LONG = timedelta(minutes=1)  # a worker has begun by then, unless the launch was lost
DECIDED_TOO_LONG = timedelta(minutes=1)  # by then the call that decided has let the run go on
UNDELIVERED_TOO_LONG = timedelta(minutes=10)  # by then the workflow has sent it, or never will


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did, and the backlog that it left."""

    started: int
    launched_again: int
    settled: int
    webhooks_requested: int
    slots_freed: int
    waiting: int
    running: int
    oldest_waiting_seconds: float


def sweep(deps: Deps) -> SweepResult:
    """Settle abandoned runs, launch again those that no worker has begun, free slots that are held for
    nothing, start what waits, and request overdue webhooks: a run that ended outside its workflow has
    nobody else to retry them."""
    now = deps.clock.now()
    settled = _settle_abandoned(now, deps)
    launched = _launch_again(now, deps)
    freed = deps.admission.free_stale_slots()
    _list_unlisted(now, deps)
    _continue_decided(now, deps)
    started = admit(deps)
    overdue = deps.explorations.due_deliveries(now - UNDELIVERED_TOO_LONG, limit=MAX_PER_SWEEP)
    for exploration in overdue:
        request_notice(exploration, deps)
    waiting = [waiting.since for waiting in deps.admission.longest_waiting()]
    result = SweepResult(
        started=len(started),
        launched_again=launched,
        settled=settled,
        webhooks_requested=len(overdue),
        slots_freed=freed,
        waiting=deps.admission.count_waiting(),
        running=len(deps.admission.slots().holders),
        oldest_waiting_seconds=(now - min(waiting, default=now)).total_seconds(),
    )
    deps.log.info(
        "swept",
        started=result.started,
        launchedAgain=launched,
        settled=settled,
        webhooksRequested=len(overdue),
        slotsFreed=freed,
        waiting=result.waiting,
        running=result.running,
    )
    return result


def _settle_abandoned(now: datetime, deps: Deps) -> int:
    abandoned = now - timedelta(seconds=deps.running_too_long_seconds)
    settled = 0
    for exploration in deps.explorations.unchanged_since("running", abandoned, limit=MAX_PER_SWEEP):
        with _logged_failure(exploration.id, deps):
            ended = settle(exploration.id, exploration.run.number, "broken", deps)
            request_webhook(ended, deps)
            settled += ended.is_final
    return settled


def _launch_again(now: datetime, deps: Deps) -> int:
    """Those that hold a slot, and resumed runs that only publish, which hold none."""
    moment = now - STARTED_TOO_LONG
    unchanged = deps.explorations.unchanged_since("running", moment, limit=MAX_PER_SWEEP)
    starting = {exploration.id for exploration in unchanged if exploration.is_starting}
    launched = 0
    for exploration_id in starting | set(deps.admission.slots().holders):
        with _logged_failure(exploration_id, deps):
            exploration = deps.explorations.load(exploration_id)
            if exploration.is_starting and exploration.updated_at < moment:
                launched += launch(exploration, deps)
    return launched


def _list_unlisted(now: datetime, deps: Deps) -> None:
    """Records that an earlier version queued, or that were restored, are not listed as waiting."""
    moment = now - timedelta(seconds=deps.queued_too_long_seconds)
    for status in WAITING_STATUSES:
        found = deps.explorations.unchanged_since(status, moment, limit=MAX_PER_SWEEP)
        deps.admission.add_waiting(found)


def _continue_decided(now: datetime, deps: Deps) -> None:
    """Runs whose last decision, or request to cancel, was stored by a call that died before it let them go
    on. From here they wait for a slot like any other."""
    found = deps.explorations.unchanged_since(
        "awaiting_approval", now - DECIDED_TOO_LONG, limit=MAX_PER_SWEEP
    )
    for exploration in found:
        with _logged_failure(exploration.id, deps):
            if exploration.cancel_requested:
                deps.wake(exploration)
            elif exploration.run.decided_at is None:
                asked = deps.approvals.approvals(exploration.id)
                if asked and all(approval.decision for approval in asked):
                    mark_decided(exploration.id, deps)


@contextmanager
def _logged_failure(exploration_id: ExplorationId, deps: Deps) -> Iterator[None]:
    """One exploration that cannot be handled must not keep the others from it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  whatever it is, the next sweep tries again
        kind = type(error).__name__
        deps.log.warning("sweep_failed_for", explorationId=exploration_id, errorType=kind)
