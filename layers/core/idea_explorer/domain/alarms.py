"""Calls that are made a little later, unless they are cancelled. One thread waits for them all."""

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable

from idea_explorer.domain.threads import run_in_thread

LINGER_SECONDS = 1.0  # that the thread waits for another alarm before it ends


def _at_once() -> float:
    return 0.0


class Alarm:
    def __init__(self, call: Callable[[], None], time_left: Callable[[], float | None]) -> None:
        self._call: Callable[[], None] | None = call
        self.time_left = time_left

    @property
    def is_cancelled(self) -> bool:
        return self._call is None

    def cancel(self) -> None:
        """It holds on to nothing from then on."""
        self._call = None
        self.time_left = _at_once

    def ring(self) -> None:
        if call := self._call:
            call()


class Alarms:
    """Most alarms are cancelled before their time. So that one costs no more than an entry in a list, the
    thread is woken only for an alarm that is due before those it sleeps for; it drops what was cancelled
    when that would have been due."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """For a process that was forked: the thread is not there, nor anybody who needs its alarms."""
        self._changed = threading.Condition()
        self._numbers = itertools.count()  # an order for alarms of the same moment
        self._set: list[tuple[float, int, Alarm]] = []
        self._sleeps_until = 0.0
        self._is_running = False

    def call_later(
        self,
        seconds: float,
        call: Callable[[], None],
        time_left: Callable[[], float | None] = _at_once,
    ) -> Alarm:
        """`call`, which must not raise, is made in a thread of its own, as long as one can be started. When
        it is due, `time_left` says for how many seconds it can wait still; None: it need not be made."""
        alarm = Alarm(call, time_left)
        self._set_alarm(alarm, seconds)
        return alarm

    def _set_alarm(self, alarm: Alarm, seconds: float) -> None:
        at = time.monotonic() + seconds
        with self._changed:
            if not self._is_running:
                run_in_thread(self._ring, name="alarms")
                self._is_running = True  # not before: there may be no thread to be had
            elif at < self._sleeps_until:
                self._changed.notify()
            heapq.heappush(self._set, (at, next(self._numbers), alarm))

    def _ring(self) -> None:
        while self._ring_next():
            pass

    def _ring_next(self) -> bool:
        """Whether there was one. What an alarm refers to may be large, so it is not kept while waiting for
        the next."""
        if (alarm := self._wait()) is None:
            return False
        if (left := alarm.time_left()) is None:
            return True
        if left > 0:
            self._set_alarm(alarm, left)
            return True
        try:
            run_in_thread(alarm.ring, name="alarm")
        except RuntimeError:  # no more threads can be started
            alarm.ring()
        return True

    def _wait(self) -> Alarm | None:
        """The next alarm that is due; None once there was none for a while."""
        with self._changed:
            while True:
                while self._set and self._set[0][2].is_cancelled:
                    heapq.heappop(self._set)
                now = time.monotonic()
                if self._set and self._set[0][0] <= now:
                    return heapq.heappop(self._set)[2]
                self._sleeps_until = self._set[0][0] if self._set else now + LINGER_SECONDS
                woken = self._changed.wait(self._sleeps_until - now)
                if not (self._set or woken):
                    self._is_running = False
                    return None


ALARMS = Alarms()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=ALARMS.reset)
