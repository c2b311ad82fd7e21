"""Reaching what a run depends on, before anything is paid for."""

from collections.abc import Callable
from typing import TypeVar

from idea_explorer.agent.requests import MODEL_CALLS, announce_retry
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import ExternalError, OutOfReachError
from idea_explorer.domain.retry import Retry, retry
from idea_explorer.ports import EventSink

T = TypeVar("T")

WAITING_SHARE = 0.5  # of the time for gathering; the rest is for the run itself
SLICE_SECONDS = 1.0  # how soon a cancel ends a pause


def call_until_reachable(
    call: Callable[[], T], deadline: Deadline, sink: EventSink, cancelled: Callable[[], bool]
) -> T:
    """Call, and call again while the failure may pass and the deadline leaves time for it.

    Raises OutOfReachError where it does not pass in that time, or somebody cancels meanwhile.
    """
    clock = deadline.clock

    def wait(again: Retry) -> None:
        sink.emit(announce_retry(again, step=0))
        left = again.seconds
        while left > 0:
            clock.sleep(min(left, SLICE_SECONDS))
            left -= SLICE_SECONDS
            if cancelled():
                raise again.error

    try:
        until = clock.monotonic() + WAITING_SHARE * deadline.gathering_left
        return retry(call, MODEL_CALLS, clock, until=until, wait=wait)
    except ExternalError as error:
        if not error.retryable:
            raise
        raise OutOfReachError(error) from error
