"""The rules find what was altered in planted sentences, and leave the others alone, as well as they did."""

import pytest

from tests.performance.verification import SETS, Sample, measure, print_table


@pytest.mark.long
@pytest.mark.parametrize("sample", SETS.values(), ids=SETS)
def test_altered_numbers_dates_and_names_are_found(sample: Sample) -> None:
    lines = measure(sample)
    assert lines["number, date or name"].of >= 38
    assert lines["number, date or name"].share >= sample.min_recall
    assert lines["nothing"].share <= sample.max_false_alarms


def test_the_table_names_the_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table({"planted": SETS["planted"]})
    assert "planted " in capsys.readouterr().out
