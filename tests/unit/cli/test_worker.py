"""A process that explores for `idea serve`."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from idea_explorer.cli.worker import SWITCH_SECONDS, limit_share
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


def test_threads_that_compute_make_one_that_writes_wait_less_than_the_interpreter_lets_them(
    tmp_path: Path,
) -> None:
    program = (
        "import sys; from idea_explorer.cli.worker import main;"
        " main(sys.argv[1:]); print(sys.getswitchinterval())"
    )
    (tmp_path / "file").touch()
    arguments = ["--threads", "1", "--research", str(tmp_path / "file" / "missing")]

    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert float(ended.stdout) == pytest.approx(SWITCH_SECONDS)
