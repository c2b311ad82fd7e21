"""The tests in processes that are forked when all of them are loaded.

Loading the tests takes as long as a hundred of them. Workers that are started, as those of pytest-xdist are,
each load them again; forked ones have them already. What a file's tests share (a server, a repository) is
started once, because a worker gets whole files, and the end-to-end tests as if they were one file.
"""

import os
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from tests.fakes import forked

ONE_MACHINE = "tests/e2e/"
SECONDS_TO_STOP = 10  # for servers and processes that an interrupted test has started
_forked: Any = get_context("fork")


def file_of(nodeid: str) -> str:
    return ONE_MACHINE if nodeid.startswith(ONE_MACHINE) else nodeid.partition("::")[0]


def run_in_workers(session: pytest.Session, count: int) -> None:
    """Run what was collected, in the order of the files."""
    pool = Pool(session)
    try:
        pool.run(count)
    except KeyboardInterrupt:  # which the terminal sends to the workers too
        raise
    except BaseException:
        pool.interrupt()
        raise
    finally:
        pool.close()


@dataclass
class Worker:
    """A process as the pool sees it: what it was given and has not reported."""

    process: BaseProcess
    connection: Connection
    missing: deque[int] = field(default_factory=deque)


class Pool:
    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._hook = session.config.hook
        self._files = deque(self._split(range(len(session.items))))
        _folder_of(
            session.config
        ).getbasetemp()  # the first who asks removes what an earlier run left
        self._workers: dict[Connection, Worker] = {}
        self._started = 0

    def run(self, count: int) -> None:
        for _ in range(min(count, len(self._files))):
            self._start()
        while self._workers:
            for ready in wait(list(self._workers)):
                assert isinstance(ready, Connection)
                self._listen(self._workers[ready])
            if self._session.shouldfail:
                raise self._session.Failed(self._session.shouldfail)
            if self._session.shouldstop:
                raise self._session.Interrupted(self._session.shouldstop)

    def interrupt(self) -> None:
        for worker in self._workers.values():
            assert worker.process.pid is not None
            os.kill(worker.process.pid, signal.SIGINT)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.connection.close()
        for worker in self._workers.values():
            _end(worker.process)

    def _split(self, positions: Iterable[int]) -> Iterator[list[int]]:
        for _, file in groupby(positions, lambda at: file_of(self._session.items[at].nodeid)):
            yield list(file)

    def _start(self) -> None:
        here, there = _forked.Pipe()
        self._started += 1
        task = (self._session, self._started, there, [here, *self._workers])
        process = _forked.Process(target=_work, args=task)
        process.start()
        there.close()
        self._workers[here] = Worker(process, here)

    def _listen(self, worker: Worker) -> None:
        try:
            kind, *content = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._bury(worker)
            return
        match kind:
            case "next":
                file = self._files.popleft() if self._files else None
                worker.missing.extend(file or ())
                worker.connection.send(file)
            case "ran":
                self._report(worker.missing.popleft(), *content)
            case "warned":
                self._hook.pytest_warning_recorded.call_historic(kwargs=content[0])
            case "failed":
                raise RuntimeError(content[0])
            case "done":
                del self._workers[worker.connection]
                _end(worker.process)

    def _report(self, position: int, reports: Sequence[dict[str, Any]]) -> None:
        config, item = self._session.config, self._session.items[position]
        named = {"nodeid": item.nodeid, "location": item.location}
        self._hook.pytest_runtest_logstart(**named)
        for data in reports:
            report = self._hook.pytest_report_from_serializable(config=config, data=data)
            self._hook.pytest_runtest_logreport(report=report)
        self._hook.pytest_runtest_logfinish(**named)

    def _bury(self, worker: Worker) -> None:
        """The test that a process died of has failed; what it had not begun is for another one."""
        del self._workers[worker.connection]
        worker.process.join()
        if not worker.missing:
            return
        position = worker.missing.popleft()
        item = self._session.items[position]
        text = f"The process of this test ended with {worker.process.exitcode}."
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._hook.pytest_runtest_logreport(report=report)
        self._files.extendleft(self._split(worker.missing))
        if self._files:
            self._start()


def _end(process: BaseProcess) -> None:
    process.join(SECONDS_TO_STOP)
    process.kill()
    process.join()


def _work(
    session: pytest.Session, number: int, connection: Connection, others: list[Connection]
) -> None:
    """What a worker does: run files until there are none."""
    for other in others:
        other.close()
    try:
        _leave_the_terminal(session.config)
        forked.share_server()
        _have_own_folder(session.config, number)
        telling = Telling(session.config)
        session.config.pluginmanager.register(telling, "telling")
        telling.connection = connection  # it was told of earlier warnings, as the pool was
        for item, following in _with_next(_items_of(session, connection)):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            telling.send()
        session.config._ensure_unconfigure()  # finds what nobody awaited, closed or waited for
        connection.send(("done",))
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
    except (BrokenPipeError, EOFError):
        pass  # nobody listens any more
    except BaseException:
        connection.send(("failed", traceback.format_exc()))
        raise


def _items_of(session: pytest.Session, connection: Connection) -> Iterator[pytest.Item]:
    while True:
        connection.send(("next",))
        file = connection.recv()
        if file is None:
            return
        for position in file:
            yield session.items[position]


def _with_next(
    items: Iterator[pytest.Item],
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """The last test of a file runs when the next file is known, which may share a fixture with it."""
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        yield item, following
        item = following


class Telling:
    """Tells the pool what happened, once for each test."""

    def __init__(self, config: pytest.Config) -> None:
        self.connection: Connection | None = None
        self._config = config
        self._reports: list[dict[str, Any]] = []

    def send(self) -> None:
        assert self.connection is not None
        self.connection.send(("ran", self._reports))
        self._reports = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        self._reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        if self.connection is None:
            return
        text, category = str(warning_message.message), warning_message.category.__name__
        where = (warning_message.filename, warning_message.lineno)
        message = warnings.WarningMessage(UserWarning(f"{category}: {text}"), UserWarning, *where)
        told = {"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
        self.connection.send(("warned", told))


def _leave_the_terminal(config: pytest.Config) -> None:
    """It is the pool's, and so is the file that holds what its process has written."""
    config.pluginmanager.unregister(name="terminalreporter")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()


def _have_own_folder(config: pytest.Config, number: int) -> None:
    factory = _folder_of(config)
    factory._basetemp = factory.getbasetemp() / f"w{number}"
    factory._basetemp.mkdir(mode=0o700)


def _folder_of(config: pytest.Config) -> pytest.TempPathFactory:
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory
