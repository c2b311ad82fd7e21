"""One SQLite file, shared by the threads of a process and by processes."""

import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.safe_files import make_private_file, make_private_folder
from idea_explorer.adapters.sqlite.schema import SCHEMA
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.domain.threads import run_in_thread

BUSY_TIMEOUT_SECONDS = 30.0
CACHE_KILOBYTES = 512  # 2,000 by default, for each connection; the system caches the file anyway
CLOSE_SECONDS = 1.0  # for others to be done; the end of the process closes it too
# After so many commits the log of writes is copied into the file, by a thread that waits for the disk while
# nobody waits for it. Less often is better: a page that many commits write is copied once, and the commit
# that begins the log anew waits for the disk too, and so does every other writer.
CHECKPOINT_COMMITS = 300
# of the log, after which a commit does it all the same; SQLite's own number is 1,000
CHECKPOINT_PAGES = 16_000
KEPT_LOG_BYTES = 8_000_000  # what is left of the log on the disk once it has been copied
DO_NOT_WAIT = "PRAGMA busy_timeout = 0"
INTERRUPTED = "interrupted"  # as SQLite itself says it
T = TypeVar("T")
Ask: TypeAlias = Callable[..., list[tuple[Any, ...]]]  # a query and its values


class Database:
    """Without a path it is kept in memory, for this process alone, and begins with `content`. After so many
    commits as `checkpoint_commits`, what they wrote is copied into the file."""

    def __init__(
        self,
        path: Path | None,
        schema: str,
        content: bytes = b"",
        *,
        checkpoint_commits: int = CHECKPOINT_COMMITS,
    ) -> None:
        try:
            if path:
                _make_private(path)
            self._connection = _connect(path)
            if path:
                _use_wal(self._connection)
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                self._connection.execute(f"PRAGMA journal_size_limit = {KEPT_LOG_BYTES}")
            elif content:
                self._connection.deserialize(content)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
            self._connection.executescript(schema)
            self._connection.execute(DO_NOT_WAIT)
            self._path = path.absolute() if path else None
            self._file = self._path.stat() if self._path else None
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(
                f"The store {path} cannot be opened: {error}.",
                hint="Choose a folder you may write to with IDEA_RESEARCH_DIR.",
            ) from error
        self._lock = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        self._reader_lock = threading.RLock()
        self._jobs: deque[_Job[Any]] = deque()  # what threads wait to write
        self._commits = 0
        self._checkpoint_commits = checkpoint_commits
        weakref.finalize(self, _close, self._connection, self._lock)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; nobody else writes in the meantime."""
        with self._lock:
            _execute(self._connection, "BEGIN IMMEDIATE")
            try:
                yield self._connection
                _execute(self._connection, "COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk ends it by itself
                    self._connection.execute("ROLLBACK")
                raise
            self._commits += 1
            if self._path and self._commits % self._checkpoint_commits == 0:
                with suppress(RuntimeError):  # no more threads can be started
                    run_in_thread(partial(_checkpoint, self._path), name="checkpoint")

    def write(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in a transaction, all or nothing, and return its result. What other threads want to
        write meanwhile goes into the same transaction: one commit for all of them."""
        job = _Job(action)
        self._jobs.append(job)
        with self._lock:
            if not job.is_done:
                self._run_jobs()
        return job.result()

    def _run_jobs(self) -> None:
        jobs: list[_Job[Any]] = []
        try:
            while self._jobs:
                jobs.append(self._jobs.popleft())
            with self.transaction() as db:
                for job in jobs:
                    job.run(db, is_alone=len(jobs) == 1)
        except BaseException as error:
            # what interrupts this thread is an ordinary failure for the others
            failure = (
                error if isinstance(error, Exception) else sqlite3.OperationalError(INTERRUPTED)
            )
            for job in jobs:
                job.fail(failure)
            raise

    def execute(self, statement: str, values: Sequence[object] | dict[str, object]) -> int:
        """Run one statement and return the number of rows that it changed."""
        return self.write(lambda db: db.execute(statement, values).rowcount)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """In a transaction of this thread, what it has written so far; else what was committed."""
        return self._read(lambda connection: _execute(connection, query, values).fetchall())

    def read(self, action: Callable[[Ask], T]) -> T:
        """What an action asks with several queries is answered as of one moment."""
        return self._read(partial(_read_at_once, action))

    def _read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        if not self._lock.acquire(blocking=self._path is None):
            return self._read_beside(action)
        try:
            return action(self._connection)
        finally:
            self._lock.release()

    def _read_beside(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """With a connection for reading alone: another thread writes, or waits until it may, and nobody who
        reads has to wait for that."""
        with self._reader_lock:
            if self._reader is None:
                self._reader = self._open_reader()
            if self._reader is not None:
                return action(self._reader)
        with self._lock:
            return action(self._connection)

    def _open_reader(self) -> sqlite3.Connection | None:
        """None if the file was removed or replaced, or no more files can be opened."""
        assert self._path is not None
        try:
            reader = _connect(self._path, "?mode=ro")
            reader.execute(DO_NOT_WAIT)
            is_same = self._file is not None and os.path.samestat(self._path.stat(), self._file)
        except (OSError, sqlite3.Error):
            return None
        if not is_same:
            reader.close()
            return None
        weakref.finalize(self, _close, reader, self._reader_lock)
        return reader

    def row(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        rows = self.rows(query, values)
        return rows[0] if rows else None


def _connect(path: Path | None, options: str = "") -> sqlite3.Connection:
    return sqlite3.connect(
        path.absolute().as_uri() + options if path else ":memory:",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _checkpoint(path: Path) -> None:
    """Copies what no other process is copying or reads; nobody waits for it."""
    with suppress(sqlite3.Error), closing(_connect(path, "?mode=rw")) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _close(connection: sqlite3.Connection, lock: "threading.RLock") -> None:
    """Also when the program ends, while a daemon thread may be using it: that would crash. Whoever
    interrupts that wants the end, and the file needs no closing."""
    with suppress(KeyboardInterrupt):
        if lock.acquire(timeout=CLOSE_SECONDS):
            connection.close()
            lock.release()


def _make_private(path: Path) -> None:
    if not path.parent.is_dir():
        make_private_folder(path.parent)
    # SQLite gives the files beside it (-wal, -shm) the same permissions
    make_private_file(path)


class _Job(Generic[T]):
    """An action of one thread, run by whichever thread has the lock."""

    def __init__(self, action: Callable[[sqlite3.Connection], T]) -> None:
        self._action = action
        self._outcome: tuple[T] | Exception | None = None

    @property
    def is_done(self) -> bool:
        return self._outcome is not None

    def run(self, db: sqlite3.Connection, *, is_alone: bool) -> None:
        """What it raises undoes its own writes and those of nobody else."""
        if is_alone:
            self._outcome = (self._action(db),)
            return
        db.execute("SAVEPOINT job")
        try:
            self._outcome = (self._action(db),)
        except Exception as error:  # noqa: BLE001  raised in the thread that wanted it
            self._outcome = error
            db.execute("ROLLBACK TO job")
        db.execute("RELEASE job")

    def fail(self, error: Exception) -> None:
        """Nothing was committed."""
        if not isinstance(self._outcome, Exception):
            self._outcome = error

    def result(self) -> T:
        assert self._outcome is not None
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome[0]


def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others with this change, whatever its timeout."""
    if _execute(connection, "PRAGMA journal_mode").fetchone() != ("wal",):
        _execute(connection, "PRAGMA journal_mode = WAL")


def _execute(
    connection: sqlite3.Connection, statement: str, values: Sequence[object] = ()
) -> sqlite3.Cursor:
    """Waits while other processes write. SQLite would look again ever more rarely, up to 100 ms later, and
    those who come meanwhile would go first."""
    try:
        return connection.execute(statement, tuple(values))
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
    clock = SystemClock()
    return retry(
        lambda: connection.execute(statement, tuple(values)),
        WHILE_BUSY,
        clock,
        until=clock.monotonic() + BUSY_TIMEOUT_SECONDS,
    )


def _read_at_once(action: Callable[[Ask], T], connection: sqlite3.Connection) -> T:
    def ask(query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return _execute(connection, query, values).fetchall()

    if connection.in_transaction:
        return action(ask)
    _execute(connection, "BEGIN")
    try:
        return action(ask)
    finally:
        with suppress(sqlite3.OperationalError):  # an error has ended it
            connection.execute("ROLLBACK")  # nothing was written


def _is_busy(error: Exception) -> bool:
    code = error.sqlite_errorcode if isinstance(error, sqlite3.OperationalError) else 0
    return code & 0xFF == sqlite3.SQLITE_BUSY  # the other bits say what it waits for


# most transactions take less than a millisecond
WHILE_BUSY = RetryPolicy(first=0.0005, longest=0.003, jitter=0.5, retry_on=_is_busy)


class StoreFile:
    """Base of the stores: each of them opens the file by itself, or shares one as SqliteStore does."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, SCHEMA)
