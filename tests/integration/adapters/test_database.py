"""One SQLite file that many threads and processes open at once."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.locks import lock_folder
from idea_explorer.adapters.safe_files import make_private_file
from idea_explorer.adapters.sqlite.database import Ask, Database
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports import Filter

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT);"
THREADS, PROCESSES, FILES = 8, 4, 10

OPEN_MANY = f"""
import os, sys
from pathlib import Path
from idea_explorer.adapters.sqlite.database import Ask, Database

os.read(0, 2)  # all start together
for number in range({FILES}):
    Database(Path(sys.argv[1]) / f"{{number}}.db", {SCHEMA!r}).execute("INSERT INTO words VALUES (?)", ["x"])
"""


def old_file(path: Path) -> sqlite3.Connection:
    """A file with a journal that is not WAL yet."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE older (word TEXT)")
    return connection


def test_a_connection_caches_little_of_the_file(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.db", SCHEMA)
    assert database.rows("PRAGMA cache_size") == [(-512,)]


def test_what_was_written_is_copied_into_the_file_after_some_commits_and_not_by_the_commit(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.db"
    database = Database(file, SCHEMA, checkpoint_commits=2)
    for word in ("bees", "wasps"):
        assert b"bees" not in file.read_bytes()
        database.execute("INSERT INTO words VALUES (?)", [word])

    deadline = time.monotonic() + 20
    while b"wasps" not in file.read_bytes():
        assert time.monotonic() < deadline, "it is not copied"
        time.sleep(0.01)


def test_a_file_that_another_is_writing_to_is_opened_when_that_has_ended(tmp_path: Path) -> None:
    other = old_file(tmp_path / "a.db")
    other.execute("BEGIN IMMEDIATE")
    ending = threading.Timer(0.2, other.execute, ["COMMIT"])
    ending.start()

    db = Database(tmp_path / "a.db", SCHEMA)

    assert db.rows("PRAGMA journal_mode") == [("wal",)]
    ending.join()
    other.close()


def test_a_file_that_stays_locked_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idea_explorer.adapters.sqlite.database.BUSY_TIMEOUT_SECONDS", 0.1)
    other = old_file(tmp_path / "a.db")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ConfigurationError, match="database is locked"):
        Database(tmp_path / "a.db", SCHEMA)
    other.close()


def test_threads_that_open_a_new_file_at_once_all_use_it(tmp_path: Path) -> None:
    barrier = threading.Barrier(THREADS)

    def open_and_write(path: Path) -> None:
        barrier.wait()
        Database(path, SCHEMA).execute("INSERT INTO words VALUES (?)", ["x"])

    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(FILES):
            path = tmp_path / "new" / f"{number}.db"
            list(pool.map(open_and_write, [path] * THREADS))
            assert len(Database(path, SCHEMA).rows("SELECT * FROM words")) == THREADS


def test_processes_that_open_new_files_at_once_all_use_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN_MANY, str(tmp_path)]
    start, started = os.pipe()
    processes = [subprocess.Popen(command, stdin=start) for _ in range(PROCESSES)]
    os.write(started, b".\n" * PROCESSES)

    assert [process.wait() for process in processes] == [0] * PROCESSES
    os.close(start)
    os.close(started)
    for number in range(FILES):
        rows = Database(tmp_path / f"{number}.db", SCHEMA).rows("SELECT * FROM words")
        assert len(rows) == PROCESSES


def test_a_thread_that_comes_to_a_locked_file_leaves_it_locked_for_other_processes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    take = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN EXCLUSIVE')"
    with lock_folder(path):
        make_private_file(path)  # as the next publisher in this process does
        other = subprocess.run([sys.executable, "-c", take, str(path)], capture_output=True)
    assert b"database is locked" in other.stderr


def queue_writes(db: Database, words: list[str]) -> tuple[list[object], list[str]]:
    """What came of writes that were all wanted while another one was going on, and the commits of them."""
    outcomes: list[object] = []
    statements: list[str] = []

    def write(word: str) -> None:
        def insert(connection: sqlite3.Connection) -> str:
            connection.execute("INSERT INTO words VALUES (?)", [word])
            if word == "bad":
                raise ValueError(word)
            return word

        try:
            outcomes.append(db.write(insert))
        except ValueError as error:
            outcomes.append(repr(error))

    threads = [threading.Thread(target=write, args=(word,)) for word in words]
    with db.transaction() as connection:
        connection.set_trace_callback(statements.append)
        for thread in threads:
            thread.start()
        while len(db._jobs) < len(words):
            threading.Event().wait(0.001)
    for thread in threads:
        thread.join()
    return outcomes, [s for s in statements if s == "COMMIT"][1:]


def test_threads_that_wait_to_write_share_a_commit(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)
    words = [str(number) for number in range(THREADS)]

    outcomes, commits = queue_writes(db, words)

    assert sorted(map(str, outcomes)) == words
    assert sorted(db.rows("SELECT word FROM words")) == [(word,) for word in words]
    assert len(commits) == 1


def test_a_write_that_fails_undoes_nothing_of_the_others(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)

    outcomes, commits = queue_writes(db, ["a", "bad", "b"])

    assert sorted(map(str, outcomes)) == ["ValueError('bad')", "a", "b"]
    assert sorted(db.rows("SELECT word FROM words")) == [("a",), ("b",)]
    assert len(commits) == 1


def write_together(db: Database, *actions: Callable[[sqlite3.Connection], None]) -> list[str]:
    """What was raised for these actions of one thread each, in one transaction."""
    failures: list[str] = []

    def write(action: Callable[[sqlite3.Connection], None]) -> None:
        try:
            db.write(action)
        except (sqlite3.OperationalError, KeyboardInterrupt) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=write, args=(action,)) for action in actions]
    with db.transaction():
        for number, thread in enumerate(threads, start=1):
            thread.start()
            while len(db._jobs) < number:
                threading.Event().wait(0.001)
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_was_undone_by_an_interrupt_is_stored_for_nobody(tmp_path: Path, place: int) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)

    def insert(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO words VALUES ('x')")

    def interrupt(connection: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    actions = [insert, insert]
    actions.insert(place, interrupt)

    failures = write_together(db, *actions)

    assert len(failures) == 3
    assert failures.count("KeyboardInterrupt()") == 1
    assert db.rows("SELECT * FROM words") == []
    db.write(insert)
    assert db.rows("SELECT * FROM words") == [("x",)]


def test_a_commit_that_fails_fails_for_all_who_share_it(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)

    def end_transaction(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")

    def insert(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO words VALUES ('x')")

    failures = write_together(db, insert, end_transaction)

    assert len(failures) == 2
    assert db.rows("SELECT * FROM words") == []


def test_nobody_who_reads_waits_for_a_thread_that_writes(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)
    db.execute("INSERT INTO words VALUES (?)", ["a"])
    query = "SELECT word FROM words"
    with ThreadPoolExecutor(1) as other:
        with db.transaction() as connection:
            connection.execute("INSERT INTO words VALUES ('b')")
            assert db.rows(query) == [("a",), ("b",)]
            assert other.submit(db.rows, query).result(10) == [("a",)]
        assert other.submit(db.rows, query).result(10) == [("a",), ("b",)]


def test_what_is_read_together_is_of_one_moment(tmp_path: Path) -> None:
    path, query = tmp_path / "a.db", "SELECT count(*) FROM words"
    db, other = Database(path, SCHEMA), Database(path, SCHEMA)

    def read_twice(ask: Ask) -> object:
        before = ask(query)
        other.execute("INSERT INTO words VALUES (?)", ["x"])
        return before, ask(query)

    assert db.read(read_twice) == ([(0,)], [(0,)])
    assert db.rows(query) == [(1,)]


def test_what_is_read_together_has_what_this_thread_is_writing(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)
    with db.transaction() as connection:
        connection.execute("INSERT INTO words VALUES ('x')")
        assert db.read(lambda ask: ask("SELECT * FROM words")) == [("x",)]
    assert db.rows("SELECT * FROM words") == [("x",)]


def test_a_query_that_fails_leaves_the_file_open_to_others(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db", SCHEMA)
    with pytest.raises(sqlite3.OperationalError):
        db.read(lambda ask: ask("SELECT * FROM nothing"))
    assert db.execute("INSERT INTO words VALUES (?)", ["x"]) == 1


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_was_removed_or_replaced_is_read_as_it_is_written(
    tmp_path: Path, is_replaced: bool
) -> None:
    path = tmp_path / "a.db"
    db = Database(path, SCHEMA)
    db.execute("INSERT INTO words VALUES (?)", ["a"])
    with ThreadPoolExecutor(1) as other:
        with db.transaction():
            path.unlink()
            if is_replaced:
                sqlite3.connect(path).execute("CREATE TABLE words (word)").connection.close()
            read = other.submit(db.rows, "SELECT word FROM words")
        assert read.result(10) == [("a",)]
    assert path.exists() is is_replaced


READ_FOR_EVER = f"""
import sys, threading
from pathlib import Path
from idea_explorer.adapters.sqlite.database import Ask, Database

db = Database(Path(sys.argv[1]), {SCHEMA!r})
db.execute("INSERT INTO words VALUES (?)", ["x"])
COUNT = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT count(*) FROM n"

def read(begun):
    while True:
        begun.set()
        db.rows(COUNT)

for _ in range(2):
    threading.Thread(target=read, args=(begun := threading.Event(),), daemon=True).start()
    begun.wait()
"""


def test_a_program_can_end_while_its_threads_read(tmp_path: Path) -> None:
    command = [sys.executable, "-c", READ_FOR_EVER, str(tmp_path / "a.db")]
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def test_who_waits_for_another_process_looks_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself would look after 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50 and 100 ms."""
    db = Database(tmp_path / "a.db", SCHEMA)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    pauses: list[float] = []

    class ImpatientClock(SystemClock):
        def sleep(self, seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 20:
                other.execute("COMMIT")

    monkeypatch.setattr("idea_explorer.adapters.sqlite.database.SystemClock", ImpatientClock)
    db.execute("INSERT INTO words VALUES (?)", ["a"])

    assert len(pauses) == 20
    assert max(pauses) <= 0.003
    other.close()


def test_a_filtered_list_reads_no_record_that_it_does_not_show(tmp_path: Path) -> None:
    """Of ten thousand records that takes a millisecond instead of twenty."""
    store = SqliteStore(tmp_path / "a.db")
    db = sqlite3.connect(tmp_path / "a.db")
    asked: list[str] = []
    store._db._connection.set_trace_callback(asked.append)
    wanted = [Filter(), Filter(status="failed"), Filter(mode="business"), Filter(toolset="code")]
    for only in wanted:
        store.page("ada", only, limit=20, cursor=None)

    for query in asked:
        ((_, _, _, plan),) = db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
        assert "INDEX listed (owner=? AND position>?)" in plan
    assert len(asked) == len(wanted)
    db.close()
