"""A store file from before the stores were split into one class per port still opens."""

import sqlite3
from datetime import date
from pathlib import Path

import pytest

from idea_explorer.adapters.idempotency import IdempotencyStore, SqliteRecords
from idea_explorer.adapters.sqlite.approvals import SqliteApprovals
from idea_explorer.adapters.sqlite.queue import LocalQueue
from idea_explorer.adapters.sqlite.store import SqliteStore
from idea_explorer.domain.ids import id_from_key
from tests.fakes.clock import ManualClock
from tests.fakes.explorations import said, words

DUMP = Path(__file__).with_name("store_before_the_split.sql")
OLD = id_from_key("ada", "old")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "explorations.db"
    db = sqlite3.connect(path)
    db.executescript(DUMP.read_text(encoding="utf-8"))
    db.close()
    return path


def test_everything_in_it_is_read(path: Path) -> None:
    store, approvals, queue = (
        SqliteStore(path),
        SqliteApprovals(path),
        LocalQueue(path, ManualClock()),
    )

    exploration = store.load(OLD)
    assert (exploration.owner, exploration.status, exploration.lease) == ("ada", "running", 1)
    assert exploration.run.title == "Beekeeping"
    assert list(store.open(OLD, 1).entries) == [said("Go on."), said("Write now.")]
    assert [event.number for event in store.read(OLD)] == [1, 2]
    assert store.load_report(OLD) == "# Bees\n"
    assert store.spent("ada", date(2026, 11, 16)) == 0.75
    assert [approval.proposal.path for approval in approvals.approvals(OLD)] == ["a.txt"]
    assert approvals.token(OLD) == "token"
    assert queue.has(OLD, 1)


def test_it_is_written_to(path: Path) -> None:
    store = SqliteStore(path)
    taken = store.take_over(OLD, lambda e: e)
    store.open(OLD, taken.lease).append(said("More."))
    store.append(OLD, taken.lease, words("again"))

    assert len(SqliteStore(path).open(OLD, taken.lease).entries) == 3
    assert [event.number for event in store.read(OLD, after=2)] == [3]


def test_a_key_that_was_used_keeps_its_response(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE idempotency SET expires = 4102444800")  # it has expired since the dump
    db.commit()
    db.close()
    once = IdempotencyStore(SqliteRecords(path)).once

    assert once("ada", "key", {"idea": "x"}, lambda: {"id": "2"}, seconds=5) == {"id": "1"}
