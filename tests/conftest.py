"""How the tests are spread over processes: a file at a time, and all end-to-end tests as one.

What a file's tests share (a server, a repository) is then started once. Groups by pytest-xdist's own mark
would say the same, but they have no effect since pytest 9.2 keeps the id of a test elsewhere.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.rows import join_rows

# The servers of the tests are on this machine, whatever leads out of it.
for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    for spelling in (name, name.upper()):
        os.environ.pop(spelling, None)

# Nor is a key stored among the settings of whoever runs the tests.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
_SETTINGS = tempfile.TemporaryDirectory(prefix="idea-settings-")
os.environ["XDG_CONFIG_HOME"] = _SETTINGS.name

ONE_MACHINE = "tests/e2e/"


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def _split_scope(self, nodeid: str) -> str:
        return ONE_MACHINE if nodeid.startswith(ONE_MACHINE) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    # In the order of collection, which begins with what takes longest, and not by number of tests.
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: Any
) -> pytest.Function | None:
    config = collector.config
    in_worker = hasattr(config, "workerinput")
    if not in_worker or any("[" in chosen for chosen in config.args):
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


def pytest_collection_finish() -> None:
    # What is loaded by now stays loaded. Without this, every full collection visits a million of its objects.
    gc.freeze()
