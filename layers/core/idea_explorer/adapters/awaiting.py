"""Waiting for a call that blocks, without being deaf meanwhile."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")
ASK_SECONDS = 0.2


def awaited(
    call: Callable[[], Result],
    ask: Callable[[], None],
    *,
    grace_seconds: float,
    discard: Callable[[Result], None],
) -> Result:
    """The call's result, or what it raises. Meanwhile `ask` is called again and again.

    Where `ask` raises, the call is let be, unless it comes to an end in the time of grace; what it
    still brings after that is discarded.
    """
    future: Future[Result] = Future()
    Thread(target=_run, args=(call, future), daemon=True).start()
    try:
        while not wait([future], ASK_SECONDS).done:
            ask()
    except Exception:
        if not wait([future], grace_seconds).done:
            future.add_done_callback(partial(_discard, discard))
            raise
    return future.result()


def _discard(discard: Callable[[Result], None], late: "Future[Result]") -> None:
    if late.exception() is None:
        discard(late.result())


def _run(call: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001  whoever waits raises it
        future.set_exception(error)
