"""Turns at a branch and the index of research: the same promises here and in the cloud."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.dynamodb.leases import DynamoBranchLease
from idea_explorer.adapters.dynamodb.table import Table
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.research_index import KEY, S3ResearchIndex
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.similar_research import Index, find_similar, index_document
from idea_explorer.ports import BranchLease, ResearchIndex
from idea_explorer.settings import Settings
from tests.fakes.clock import ManualClock
from tests.fakes.desk import DOCUMENT, IDEA, Desk


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


@pytest.fixture
def index(aws: Settings) -> S3ResearchIndex:
    return S3ResearchIndex(Bucket(str(aws.bucket_name), lambda: client("s3")))


def with_document(number: int) -> Callable[[Index], Index]:
    entry = index_document(f"ideas/2026-01-01-tea-{number}/research.md", f"# Tea number {number}")
    return lambda known: known.with_entry(entry)


def test_an_index_that_is_not_there_is_empty(index: S3ResearchIndex) -> None:
    assert index.load() == Index()
    assert find_similar("tea", index.load()) == []


def test_what_is_changed_is_read_by_everyone(index: S3ResearchIndex, aws: Settings) -> None:
    other = S3ResearchIndex(Bucket(str(aws.bucket_name), lambda: client("s3")))
    other.load()
    index.change(with_document(1))
    first = other.load()
    index.change(with_document(2))

    assert len(first.entries) == 1
    assert other.load() == index.load()
    assert len(other.load().entries) == 2


def test_changes_at_once_are_all_kept(index: S3ResearchIndex, aws: Settings) -> None:
    def change(number: int) -> None:
        own = S3ResearchIndex(Bucket(str(aws.bucket_name), lambda: client("s3")))
        own.change(with_document(number))

    def overtaken(known: Index) -> Index:
        if len(known.entries) < 3:
            change(len(known.entries))
        return with_document(9)(known)

    index.change(overtaken)
    assert len(index.load().entries) == 4


def test_a_garbled_index_counts_as_empty(index: S3ResearchIndex, aws: Settings) -> None:
    client("s3").put_object(Bucket=aws.bucket_name, Key=KEY, Body=b"{")
    assert index.load() == Index()
    index.change(with_document(1))
    assert len(index.load().entries) == 1


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock, index: S3ResearchIndex) -> Desk:
    root = tmp_path / "team"
    (root / "ideas" / "market").mkdir(parents=True)
    (root / "ideas" / "market" / "notes.md").write_text("# Bees in Bern\n\nThey fly.")
    store = SqliteStore(tmp_path / "explorations.db")
    publisher = FolderPublisher(root, tmp_path / "lock")
    return Desk(store, publisher, clock, index=index, research=Folder(root))


def test_publishing_keeps_the_index(desk: Desk, index: ResearchIndex) -> None:
    desk.publish(desk.finished())

    paths = {entry.path for entry in index.load().entries}
    assert paths == {DOCUMENT, "ideas/market/notes.md"}
    (best, *_) = find_similar(IDEA, index.load())
    assert (best.path, best.verdict, best.score) == (DOCUMENT, "PIVOT", 1.0)


def test_what_people_removed_is_forgotten_a_day_later(
    desk: Desk, index: ResearchIndex, tmp_path: Path, clock: ManualClock
) -> None:
    desk.publish(desk.finished())
    (tmp_path / "team" / DOCUMENT).unlink()
    desk.publish(desk.finished(idea="Another one"))
    same_day = {entry.path for entry in index.load().entries}
    clock.pass_time(timedelta(days=1).total_seconds())
    desk.publish(desk.finished(idea="A third one"))
    next_day = {entry.path for entry in index.load().entries}

    assert DOCUMENT in same_day
    assert DOCUMENT not in next_day
    assert len(next_day) == 3


def test_research_is_published_whatever_becomes_of_the_index(desk: Desk) -> None:
    class Unreachable:
        def load(self) -> Index:
            raise UnavailableError("no")

        def change(self, change: Callable[[Index], Index]) -> None:
            raise UnavailableError("no")

    desk.index = Unreachable()
    assert desk.publish(desk.finished()).status == "completed"
