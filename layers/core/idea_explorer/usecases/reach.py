"""Reaching what a run depends on, before anything is paid for."""

from collections.abc import Callable
from typing import TypeVar

from idea_explorer.agent.retrying import next_try
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import ExternalError, OutOfReachError
from idea_explorer.ports import EventSink

T = TypeVar("T")

WAITING_SHARE = 0.5  # of the time for gathering; the rest is for what is waited for
SLICE_SECONDS = 1.0  # how soon a cancel ends a wait


def reach(
    call: Callable[[], T], deadline: Deadline, sink: EventSink, cancelled: Callable[[], bool]
) -> T:
    """Make a call, again and again where its failure may pass and the deadline affords the wait.

    Raises OutOfReachError where it does not pass in that time, or somebody cancels meanwhile.
    """
    clock = deadline.clock
    until = clock.monotonic() + WAITING_SHARE * deadline.gathering_left
    failed = 0
    while True:
        try:
            return call()
        except ExternalError as error:
            if not error.retryable:
                raise
            failed += 1
            again = next_try(error, failed, step=0)
            if again is None or clock.monotonic() + again.seconds > until:
                raise OutOfReachError(error) from error
            sink.emit(again)
            left = again.seconds
            while left > 0:
                clock.sleep(min(left, SLICE_SECONDS))
                left -= SLICE_SECONDS
                if cancelled():
                    raise OutOfReachError(error) from error
