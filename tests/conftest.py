"""How the tests are spread over processes: a file at a time, and all end-to-end tests as one.

`--workers` forks the processes, and `-n` of pytest-xdist starts them, for a system where it is not safe to
fork. Groups by pytest-xdist's own mark would say the same as the scheduler here, but have no effect since
pytest 9.2 keeps the id of a test elsewhere.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.fakes import forked
from tests.rows import join_rows
from tests.workers import file_of, run_in_workers

# The servers of the tests are on this machine, whatever leads out of it.
for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    for spelling in (name, name.upper()):
        os.environ.pop(spelling, None)

# Nor is a key stored among the settings of whoever runs the tests.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
_SETTINGS = tempfile.TemporaryDirectory(prefix="idea-settings-")
os.environ["XDG_CONFIG_HOME"] = _SETTINGS.name


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def _split_scope(self, nodeid: str) -> str:
        return file_of(nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many processes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("workers") and not config.option.collectonly:
        forked.start_server()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("workers")
    if not count or session.config.option.collectonly or session.testsfailed:
        return None
    run_in_workers(session, count)
    return True


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    # In the order of collection, which begins with what takes longest, and not by number of tests.
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: Any
) -> pytest.Function | None:
    config = collector.config
    in_workers = config.getoption("workers") or hasattr(config, "workerinput")
    if not in_workers or any("[" in chosen for chosen in config.args):
        return None
    return join_rows(collector, name, obj) if collector.istestfunction(obj, name) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    # All that is loaded stays, so there is nothing to look for among it.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if config.getoption("workers") or config.option.collectonly:
        from tests import preload

        preload.list_characters()
        if config.getoption("workers"):
            preload.load_types_of_anthropic()
    # What is loaded by now stays loaded. Without this, every full collection visits a million of its objects.
    gc.freeze()
