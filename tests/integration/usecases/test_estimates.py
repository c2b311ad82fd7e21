"""Estimates hold: scripted runs of different sizes take what was told before they started."""

import statistics
from pathlib import Path

import pytest

from tests.performance.estimates import RUNS, measure


@pytest.mark.long
def test_nine_of_ten_runs_take_what_was_estimated(tmp_path: Path) -> None:
    rows = measure(tmp_path)

    assert sum(row.inside for row in rows) >= 0.9 * RUNS, "\n".join(map(str, rows))
    # everything would be inside a range without end
    assert statistics.median(row.width for row in rows) < 5.5
    assert sum(1 for row in rows if row.estimate.runs) >= RUNS / 2
