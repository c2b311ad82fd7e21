"""Find what was lost: queued explorations without a message, running ones without an execution."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.dispatch import Desk, touch

QUEUED_TOO_LONG_SECONDS = 900  # a message that waits for room is looked at far more often
RUNNING_TOO_LONG_SECONDS = 7_200  # longer than any deadline and all attempts at publishing together
MOST_AT_ONCE = 100  # the rest is found five minutes later


@dataclass(frozen=True, slots=True)
class Swept:
    sent_again: int
    settled: int


def sweep(
    desk: Desk,
    settle: Callable[[Exploration], Exploration],
    *,
    queued_seconds: int = QUEUED_TOO_LONG_SECONDS,
    running_seconds: int = RUNNING_TOO_LONG_SECONDS,
) -> Swept:
    """Send stale queued explorations again, and close running ones that nothing works on any more."""
    now = desk.clock.now()
    sent = settled = 0
    queued = desk.explorations.unchanged_since("queued", now - timedelta(seconds=queued_seconds))
    for exploration in queued[:MOST_AT_ONCE]:
        if touch(exploration, desk.explorations, now):
            desk.queue.send(exploration.id, exploration.run)
            sent += 1
    running = desk.explorations.unchanged_since("running", now - timedelta(seconds=running_seconds))
    for exploration in running[:MOST_AT_ONCE]:
        settled += settle(exploration).is_final
    desk.log.info("swept", sentAgain=sent, settled=settled)
    return Swept(sent, settled)
