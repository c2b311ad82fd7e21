"""Find what was lost: queued explorations without a message, running ones without an execution."""

from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.dispatch import touch
from idea_explorer.usecases.notify import request_notice, request_webhook
from idea_explorer.usecases.settle import settle

MAX_PER_SWEEP = 100  # the next sweep, five minutes later, finds the rest
UNDELIVERED_TOO_LONG_SECONDS = 600  # by then the workflow has sent its webhook, or never will


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How many were sent to the queue again, settled, and had their webhook requested."""

    sent_again: int
    settled: int
    webhooks_requested: int


def sweep(deps: Deps) -> SweepResult:
    """Send stale queued explorations again, settle abandoned runs, and request overdue webhooks: a run
    that ended outside its workflow has nobody else to retry them."""
    now = deps.clock.now()
    sent = settled = 0
    stale = now - timedelta(seconds=deps.queued_too_long_seconds)
    for exploration in deps.explorations.unchanged_since("queued", stale)[:MAX_PER_SWEEP]:
        if touch(exploration, deps):
            deps.queue().send(exploration.id, exploration.run.number)
            sent += 1
    abandoned = now - timedelta(seconds=deps.running_too_long_seconds)
    for exploration in deps.explorations.unchanged_since("running", abandoned)[:MAX_PER_SWEEP]:
        ended = settle(exploration.id, exploration.run.number, "broken", deps)
        request_webhook(ended, deps)
        settled += ended.is_final
    undelivered = now - timedelta(seconds=UNDELIVERED_TOO_LONG_SECONDS)
    overdue = deps.explorations.due_deliveries(undelivered)[:MAX_PER_SWEEP]
    for exploration in overdue:
        request_notice(exploration, deps)
    deps.log.info("swept", sentAgain=sent, settled=settled, told=len(overdue))
    return SweepResult(sent, settled, len(overdue))
