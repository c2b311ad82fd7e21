"""Tests in forked processes: what pytest says of them is what it says of tests in one process."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

ROOT = Path(__file__).parents[3]
CONFTEST = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from tests.conftest import pytest_addoption, pytest_runtestloop
import os, pathlib, pytest

@pytest.fixture(scope="session")
def once():
    yield os.getpid()
    pathlib.Path(f"closed-{{os.getpid()}}").touch()
"""
OUTCOMES = """
import os, signal, warnings, pytest
begun = []

@pytest.fixture(scope="module")
def shared(once):
    begun.append(os.getpid())
    return once

def test_passes(shared): assert shared == os.getpid()
def test_fails(shared, tmp_path):
    print("written", "by it")
    assert {"a": tmp_path.name} == {}
def test_is_skipped(): pytest.skip("because")
@pytest.mark.xfail(strict=True)
def test_is_expected_to_fail(): assert False
def test_warns(shared):
    warnings.warn("old thing", DeprecationWarning)
    assert begun == [os.getpid()]
def test_dies(): os.kill(os.getpid(), signal.SIGKILL)
def test_runs_after_one_that_died(shared): pass
"""


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    folder.joinpath("conftest.py").write_text(CONFTEST)
    options = ["-p", "no:cacheprovider", "--basetemp", str(folder / "temporary"), *arguments]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True
    )


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    with start(folder, *arguments) as process:
        output, errors = process.communicate()
        assert errors == ""
        return process.returncode, output


def test_every_outcome_is_told_also_of_a_test_that_kills_its_process(tmp_path: Path) -> None:
    tmp_path.joinpath("test_outcomes.py").write_text(OUTCOMES)
    tmp_path.joinpath("test_other.py").write_text("def test_passes(once): pass")

    code, output = run(tmp_path, "--workers", "2", "-rA")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 4 passed, 1 skipped, 1 xfailed, 1 warning" in output
    assert "written by it" in output
    assert "assert {'a': 'test_fails0'} == {}" in output
    assert "DeprecationWarning: old thing" in output
    assert "The process of this test ended with -9." in output
    assert "PASSED test_outcomes.py::test_runs_after_one_that_died" in output
    assert "PASSED test_other.py::test_passes" in output


def test_after_enough_failures_the_rest_is_left_and_what_was_started_is_closed(
    tmp_path: Path,
) -> None:
    waiting = "import time\ndef test_waits(once): time.sleep(60)\ndef test_never_runs(): pass"
    tmp_path.joinpath("test_a.py").write_text(waiting)
    # not before the other one has begun to wait
    failing = "import time\ndef test_fails(once):\n    time.sleep(1)\n    assert not once"
    tmp_path.joinpath("test_b.py").write_text(failing)

    begun = time.monotonic()
    code, output = run(tmp_path, "--workers", "2", "-x")

    assert time.monotonic() - begun < 50
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed" in output
    assert "passed" not in output
    assert len([*tmp_path.glob("closed-*")]) == 2


def test_an_interrupt_ends_the_processes(tmp_path: Path) -> None:
    waiting = (
        "import os, time\nfrom pathlib import Path\n"
        "def test_waits(once):\n    Path('waits').write_text(str(os.getpid()))\n    time.sleep(60)"
    )
    tmp_path.joinpath("test_a.py").write_text(waiting)
    waits = tmp_path / "waits"
    with start(tmp_path, "--workers", "2") as process:
        while not (waits.exists() and waits.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate()

    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert re.search("no tests ran|KeyboardInterrupt", output)
    assert not Path("/proc", waits.read_text()).exists()
