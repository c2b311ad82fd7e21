"""The rules find what was altered in two sets of sentences, and leave the others alone."""

import pytest

from tests.performance.verification import MAX_FALSE_ALARMS, MIN_RECALL, SETS, main, measure


@pytest.mark.parametrize("name", SETS)
def test_altered_numbers_dates_and_names_are_found(name: str) -> None:
    lines = measure(name)
    assert lines["number, date or name"].of >= 50
    assert lines["number, date or name"].share >= MIN_RECALL
    assert lines["nothing"].share <= MAX_FALSE_ALARMS


def test_the_table_has_both_sets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    table = capsys.readouterr().out
    assert all(name in table for name in SETS)
