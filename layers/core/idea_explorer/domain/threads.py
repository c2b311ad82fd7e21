"""Daemon threads that are used again, because starting one costs more than most of the calls it is for."""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable

IDLE_SECONDS = 30.0  # after which a thread without work ends
IDLE = "idle"  # its name until then

_Work = tuple[Callable[[], None], str]
_idle: deque[queue.SimpleQueue[_Work]] = deque()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_idle.clear)  # a fork has none of the threads


def run_in_thread(call: Callable[[], None], *, name: str) -> None:
    """Run a call, which must not raise, in a thread that bears this name meanwhile."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = queue.SimpleQueue()
        threading.Thread(target=_work, args=(inbox,), name=name, daemon=True).start()
    inbox.put((call, name))


def _work(inbox: queue.SimpleQueue[_Work]) -> None:
    thread = threading.current_thread()
    while True:
        try:
            call, name = inbox.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            try:
                _idle.remove(inbox)
            except ValueError:
                continue  # it was taken just now, and work follows
            return
        thread.name = name
        call()
        del call  # with all that it refers to
        thread.name = IDLE
        _idle.append(inbox)
