"""The core of the table of faults: one of each kind."""

from pathlib import Path

import pytest

from tests.adversarial.faults import FAULTS, Fault, run

pytestmark = pytest.mark.long

CORE = {
    "model: 529 for good": ("failed", 0),
    "model: cut for good": ("partial", 1),
    "github: success with the reply lost": ("completed", 1),
    "github: branch protected": ("failed", 0),
    "aws: TransactWriteItems ThrottlingException": ("completed", 1),
    "aws: PutObject AccessDenied for good": ("failed", 0),
    "clock five minutes slow": ("completed", 1),
}


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.name in CORE], ids=lambda fault: fault.name
)
def test_a_fault_ends_in_a_report_or_a_receipt(fault: Fault, tmp_path: Path) -> None:
    row = run(fault, tmp_path)
    assert list(row.violations) == []
    assert (row.status, row.commits) == CORE[fault.name]


def test_there_are_sixty_kinds_of_faults() -> None:
    assert len({fault.name for fault in FAULTS}) >= 60
    assert {fault.name for fault in FAULTS} >= set(CORE)
