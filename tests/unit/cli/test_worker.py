"""The recovery of a process that explores for `idea serve`."""

from itertools import pairwise

from idea_explorer.cli.worker import limit_share
from tests.fakes.clock import ManualClock


def test_a_recovery_that_takes_long_pauses_for_longer() -> None:
    clock = ManualClock()
    began: list[float] = []

    def recover() -> None:
        began.append(clock.monotonic())
        clock.pass_time(0.5)

    recover_if_due = limit_share(recover, clock)
    for _ in range(24):  # once a second
        recover_if_due()
        clock.pass_time(1)

    assert [after - before for before, after in pairwise(began)] == [5.5] * 4
