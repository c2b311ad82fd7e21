"""Find what was lost: queued explorations without a message, running ones without an execution."""

from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.dispatch import touch
from idea_explorer.usecases.notify import ask, request_webhook
from idea_explorer.usecases.settle import settle

MOST_AT_ONCE = 100  # the rest is found five minutes later
UNDELIVERED_TOO_LONG_SECONDS = 600  # whoever was to send a message that is due has done so by then


@dataclass(frozen=True, slots=True)
class Swept:
    sent_again: int
    settled: int
    told: int


def sweep(deps: Deps) -> Swept:
    """Send stale queued explorations again, close running ones that nothing works on any more, and have
    overdue webhooks sent: a run that ended outside of its workflow has nothing else that tries again."""
    now = deps.clock.now()
    sent = settled = 0
    moment = now - timedelta(seconds=deps.queued_too_long_seconds)
    queued = deps.explorations.unchanged_since("queued", moment)
    for exploration in queued[:MOST_AT_ONCE]:
        if touch(exploration, deps):
            deps.queue().send(exploration.id, exploration.run.number)
            sent += 1
    moment = now - timedelta(seconds=deps.running_too_long_seconds)
    running = deps.explorations.unchanged_since("running", moment)
    for exploration in running[:MOST_AT_ONCE]:
        ended = settle(exploration.id, exploration.run.number, "broken", deps)
        request_webhook(ended, deps)
        settled += ended.is_final
    overdue = deps.explorations.due_deliveries(
        now - timedelta(seconds=UNDELIVERED_TOO_LONG_SECONDS)
    )[:MOST_AT_ONCE]
    for exploration in overdue:
        ask(exploration, deps)
    deps.log.info("swept", sentAgain=sent, settled=settled, told=len(overdue))
    return Swept(sent, settled, len(overdue))
