"""How long something takes by the processor's clock, which other work on the machine does not move."""

import time
from collections.abc import Callable

ROUNDS = 3
FLOOR_SECONDS = 0.02  # below it a measurement says nothing


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least of some rounds: what disturbs a measurement only adds to it."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def growth(work: Callable[[int], object], size: int, times: int = 4) -> float:
    """How much longer the work takes on so many times the size: about as many where it is linear."""
    small = max(cpu_seconds(lambda: work(size)), FLOOR_SECONDS)
    return cpu_seconds(lambda: work(times * size)) / small
