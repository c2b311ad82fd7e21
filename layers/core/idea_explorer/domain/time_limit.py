"""Running something that has no time limit of its own, and not waiting longer than that."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TimeLimitExceededError(Exception):
    """Not the builtin TimeoutError, which the call itself may raise."""


def run_with_time_limit(call: Callable[[], T], seconds: float, *, name: str) -> T:
    """Run a call in a thread of this name, and return or raise what it does.

    Raises TimeLimitExceededError when the time is up. A thread cannot be stopped: the call goes on in a
    daemon thread, and its result is dropped.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(min(seconds, threading.TIMEOUT_MAX))
    if errors:
        raise errors[0]
    if not results:
        raise TimeLimitExceededError(name)
    return results[0]
