"""Where a command's words go: to terminals, files and pipes, and to readers that went away."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from idea_explorer.cli import main
from idea_explorer.domain.models import NO_MODEL, SET_KEY
from tests.fakes import forked
from tests.fakes.anthropic_faults import hang, http_error
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import environment, idea, start

FULL = Path("/dev/full")
IDEA = ("explore", "Calendars for narwhals")


def drained(reading: int) -> str:
    """All that is written to a terminal or a pipe until nobody has it open any more."""
    parts = []
    try:
        while data := os.read(reading, 65_536):
            parts.append(data)
    except OSError:
        pass  # how a terminal says that it is over
    os.close(reading)
    return b"".join(parts).decode()


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_result_sent_to_a_file_is_all_there_and_the_terminal_as_it_was(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    person, terminal = pty.openpty()
    with (tmp_path / "result").open("w") as result:
        streams = [terminal, result.fileno(), terminal]
        program = start([*IDEA, *flags], streams, env={"TERM": "xterm"}, folder=tmp_path)
    os.close(terminal)
    shown = drained(person)

    assert program.wait() == 0
    written = (tmp_path / "result").read_text()
    if flags:
        assert json.loads(written)["status"] == "completed"
    else:
        assert (tmp_path / written.splitlines()[0]).is_file()
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l") >= 0  # the cursor is back
    assert "research/business" in shown


def test_a_reader_of_the_progress_that_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with Path(os.devnull).open() as nothing, (tmp_path / "result").open("w") as result:
        program = start(IDEA, [nothing.fileno(), result.fileno(), writing], env={}, folder=tmp_path)
    os.close(writing)
    os.close(reading)

    assert program.wait() == 0
    assert "completed" in (tmp_path / "result").read_text()


def test_an_exit_code_is_that_of_the_run_whoever_stops_reading(tmp_path: Path) -> None:
    def run_unread(*arguments: str) -> int:
        reading, writing = os.pipe()
        os.close(reading)
        program = start(arguments, [0, writing, 2], env={}, folder=tmp_path)
        os.close(writing)
        return program.wait()

    create = ("explore", "--toolset", "code", 'Create a.md with "words"')
    assert run_unread(*create, "--quiet") == 3  # it waits for approval
    assert run_unread("watch", "last", "--json") == 3

    (tmp_path / "a.md").write_text("meanwhile\n")
    assert run_unread("approve", "last") == 1  # somebody else has written the file
    assert run_unread("replay", "last") == 0


@pytest.mark.skipif(not FULL.exists(), reason="there is no full device here")
def test_progress_that_cannot_be_written_is_dropped(tmp_path: Path) -> None:
    with FULL.open("w") as full, (tmp_path / "result").open("w") as result:
        streams = [0, result.fileno(), full.fileno()]
        program = start(IDEA, streams, env={}, folder=tmp_path)

    assert program.wait() == 0
    assert "completed" in (tmp_path / "result").read_text()


def test_without_a_stderr_there_is_no_progress(tmp_path: Path) -> None:
    command = f"exec {shlex.join([sys.executable, '-m', 'idea_explorer', *IDEA])} 2>&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "completed" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_stop_ends_cancelled_and_can_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    silent = answer(text("# Narwhals"), fault=hang(6))
    reading, writing = os.pipe()
    with FakeAnthropic([silent]) as server, os.fdopen(reading) as said:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        program = start(IDEA, [0, writing, writing], env=env, folder=tmp_path)
        os.close(writing)
        while not server.requests:
            time.sleep(0.01)
        program.send_signal(number)
        assert any("Stopping and keeping" in line for line in said)
        server.stop()  # which ends the silence
        last = said.read()

    assert program.wait() == 4
    assert "cancelled" in last
    assert "Continue with: idea resume" in last


def test_what_a_model_began_the_offline_model_does_not_go_on_with(tmp_path: Path) -> None:
    with FakeAnthropic([answer(text("# Narwhals"), fault=http_error(401))] * 2) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        failed = idea("explore", "Narwhals", env=env, folder=tmp_path)
        refused = idea("resume", "last", env={}, folder=tmp_path)
        again = idea("resume", "last", env=env, folder=tmp_path)

    assert failed.stderr.startswith("Exploring: Narwhals")
    assert (refused.returncode, refused.stdout, refused.stderr) == (
        1,
        "",
        f"idea: {NO_MODEL} {SET_KEY}\n",
    )
    assert again.stderr.startswith("Continuing: Narwhals")


def _idea_without_a_client(arguments: Sequence[str]) -> None:
    """`idea` where Claude's client, which takes seconds to load, never comes to be loaded."""
    for name in [name for name in sys.modules if name.startswith("idea_explorer.adapters.claude")]:
        del sys.modules[name]
    sys.modules["anthropic"] = None  # type: ignore[assignment]  # how an import is made to fail
    sys.exit(main(arguments))


def test_a_person_sees_what_is_run_before_the_client_is_loaded(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    env = environment({"ANTHROPIC_API_KEY": "k"})
    streams = [0, writing, writing]
    program = forked.start(_idea_without_a_client, IDEA, streams=streams, env=env, folder=tmp_path)
    os.close(writing)
    said = drained(reading)

    assert program.wait() == 1
    header = [
        "Exploring: Calendars for narwhals",
        "research/business · quick · sonnet · deadline 120 s",
    ]
    assert said.splitlines()[:2] == header
    assert re.fullmatch(
        r"estimate: \$0\.\d\d to \$[012]\.\d\d, up to 2 minutes,"
        r" from the table for quick explorations; at most \$2\.00 plus any PDF it opens",
        said.splitlines()[2],
    )


def test_a_run_started_with_nohup_does_not_mind_a_closed_terminal(tmp_path: Path) -> None:
    first = answer(tool_use("calculator", {"expression": "6*7"}), drip=0.05)
    with FakeAnthropic([first, answer(text("# Forty-two"))]) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        reading, writing = os.pipe()
        with Path(os.devnull).open("r+") as nothing:
            streams = [nothing.fileno(), writing, nothing.fileno()]
            command = ["explore", "--toolset", "assistant", "x"]
            program = start(command, streams, env=env, folder=tmp_path, nohup=True)
        os.close(writing)
        while not server.requests:
            time.sleep(0.01)
        program.send_signal(signal.SIGHUP)
        said = drained(reading)

    assert program.wait() == 0
    assert "# Forty-two" in said


def test_an_early_end_says_how_to_go_on(tmp_path: Path) -> None:
    with FakeAnthropic([answer(text("# Half"), stop_reason="max_tokens")] * 3) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        done = idea(*IDEA, "--json", "--quiet", env=env, folder=tmp_path)

    assert done.returncode == 3
    assert f"Continue with: idea resume {json.loads(done.stdout)['id']}" in done.stderr


@pytest.mark.parametrize("flags", [("--max-steps", "0"), ("--max-cost-usd", "-1")])
def test_a_bad_limit_for_a_resumed_run_is_bad_usage(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with FakeAnthropic([answer(text("# Half"), stop_reason="max_tokens")] * 3) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        ended = json.loads(idea(*IDEA, "--json", env=env, folder=tmp_path).stdout)
        done = idea("resume", ended["id"], *flags, env=env, folder=tmp_path)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "pydantic" not in done.stderr
