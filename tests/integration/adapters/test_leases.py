"""Turns at a branch: the same promises here and in the cloud."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.dynamodb.leases import DynamoBranchLease
from idea_explorer.adapters.dynamodb.table import Table
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.ports import BranchLease
from idea_explorer.settings import Settings
from tests.fakes.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["embedded", "cloud"])
def lease(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> BranchLease:
    if request.param == "embedded":
        return SqliteBranchLease(tmp_path / "leases.db", clock)
    settings: Settings = request.getfixturevalue("aws")
    table = Table(str(settings.table_name), lambda: client("dynamodb"), clock)
    return DynamoBranchLease(table, clock)


def test_a_branch_is_one_holders_at_a_time(lease: BranchLease) -> None:
    assert lease.acquire("acme/ideas#main", "a", seconds=30) == 0
    assert lease.acquire("acme/ideas#main", "b", seconds=30) == 30
    assert lease.acquire("acme/ideas#drafts", "b", seconds=30) == 0
    lease.release("acme/ideas#main", "a")
    assert lease.acquire("acme/ideas#main", "b", seconds=30) == 0


def test_a_crashed_holder_loses_it_in_time(lease: BranchLease, clock: ManualClock) -> None:
    lease.acquire("branch", "crashed", seconds=30)
    clock.pass_time(29)
    assert lease.acquire("branch", "b", seconds=30) == pytest.approx(1)
    clock.pass_time(1)
    assert lease.acquire("branch", "b", seconds=30) == 0


def test_a_holder_that_works_on_keeps_it(lease: BranchLease, clock: ManualClock) -> None:
    lease.acquire("branch", "a", seconds=30)
    clock.pass_time(20)
    lease.renew("branch", "a", seconds=30)
    clock.pass_time(20)
    assert lease.acquire("branch", "b", seconds=30) == pytest.approx(10)


def test_who_has_lost_it_neither_renews_nor_releases(
    lease: BranchLease, clock: ManualClock
) -> None:
    lease.acquire("branch", "a", seconds=30)
    clock.pass_time(31)
    lease.acquire("branch", "b", seconds=30)
    lease.renew("branch", "a", seconds=300)
    lease.release("branch", "a")
    assert lease.acquire("branch", "c", seconds=30) == 30


def test_of_many_at_once_one_gets_it(lease: BranchLease) -> None:
    start = threading.Barrier(8)

    def take(number: int) -> float:
        start.wait()
        return lease.acquire("branch", f"holder {number}", seconds=30)

    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(take, range(8)))
    assert waits.count(0) == 1
