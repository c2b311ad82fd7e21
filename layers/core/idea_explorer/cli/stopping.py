"""What asks a run to stop: Ctrl-C, a closed terminal, a job that runs out of time."""

import signal
from collections.abc import Callable
from threading import Thread
from typing import Any

_USUALLY: dict[signal.Signals, Callable[..., Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def at_once() -> None:
    """Let the next of them end the program."""
    for number, handler in _USUALLY.items():
        if _is_heeded(number):
            signal.signal(number, handler)


def gently(action: Callable[[], None]) -> None:
    """Call the action at the first of them; the second ends the program.

    The action has a thread of its own, for the program may be in the middle of what it calls.
    """

    def stop(*_: object) -> None:
        at_once()
        Thread(target=action).start()

    for number in _USUALLY:
        if _is_heeded(number):
            signal.signal(number, stop)


def _is_heeded(number: signal.Signals) -> bool:
    """Whoever started the program may have told it not to mind, as `nohup` does."""
    return signal.getsignal(number) is not signal.SIG_IGN
