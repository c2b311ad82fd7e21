"""Find what was lost: queued explorations without a message, running ones without an execution."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.dispatch import Desk, touch

QUEUED_TOO_LONG_SECONDS = 900  # a message that waits for room is looked at far more often
RUNNING_TOO_LONG_SECONDS = 7_200  # longer than any deadline and all attempts at publishing together
MOST_AT_ONCE = 100  # the rest is found five minutes later


UNDELIVERED_TOO_LONG_SECONDS = 600  # whoever was to send a message that is due has done so by then


@dataclass(frozen=True, slots=True)
class Swept:
    sent_again: int
    settled: int
    told: int


def sweep(
    desk: Desk,
    settle: Callable[[Exploration], Exploration],
    *,
    queued_seconds: int = QUEUED_TOO_LONG_SECONDS,
    running_seconds: int = RUNNING_TOO_LONG_SECONDS,
) -> Swept:
    """Send stale queued explorations again, close running ones that nothing works on any more, and have
    overdue webhooks sent: a run that ended outside of its workflow has nothing else that tries again."""
    now = desk.clock.now()
    sent = settled = 0
    queued = desk.explorations.unchanged_since("queued", now - timedelta(seconds=queued_seconds))
    for exploration in queued[:MOST_AT_ONCE]:
        if touch(exploration, desk.explorations, now):
            desk.queue.send(exploration.id, exploration.run.number)
            sent += 1
    running = desk.explorations.unchanged_since("running", now - timedelta(seconds=running_seconds))
    for exploration in running[:MOST_AT_ONCE]:
        settled += settle(exploration).is_final
    overdue = desk.explorations.due_deliveries(
        now - timedelta(seconds=UNDELIVERED_TOO_LONG_SECONDS)
    )[:MOST_AT_ONCE]
    for exploration in overdue:
        desk.tell(exploration)
    desk.log.info("swept", sentAgain=sent, settled=settled, told=len(overdue))
    return Swept(sent, settled, len(overdue))
