"""How long something takes by the processor's clock, which other work on the machine does not move."""

import time
from collections.abc import Callable

ROUNDS = 3
FLOOR_SECONDS = 0.02  # below it a measurement says nothing


def cpu_seconds(work: Callable[[], object], *, enough: float) -> float:
    """The least of some rounds: what disturbs a measurement only adds to it.

    No round follows one that took less than enough, because it could only lower the result.
    """
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
        if least < enough:
            break
    return least


def growth(work: Callable[[int], object], size: int, *, enough: float) -> float:
    """How much longer the work takes on four times the size: four times where it is linear."""
    small = max(cpu_seconds(lambda: work(size), enough=FLOOR_SECONDS), FLOOR_SECONDS)
    return cpu_seconds(lambda: work(4 * size), enough=enough * small) / small
