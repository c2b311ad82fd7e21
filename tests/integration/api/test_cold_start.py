"""The first jobs of an `idea serve` that has only just started, on a machine that has no time for it."""

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.fakes.anthropic_scripts import ByConversation
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import environment, log_lines
from tests.fakes.reports import business
from tests.fakes.served import TOKEN

JOBS = 8
BUSY = 2  # programs for each core, besides
SECONDS = 600  # what matters here is not how long it takes
STEPS = [answer(tool_use("list_research", {})), answer(text(business("Bees", verdict="PIVOT")))]


@contextmanager
def busy_machine() -> Iterator[None]:
    count = BUSY * (os.cpu_count() or 1)
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@pytest.mark.slow
def test_eight_first_jobs_at_once_run_once_each(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    command = [str(Path(sys.executable).with_name("idea")), "serve", "--port", "0", "--debug"]
    with FakeAnthropic(ByConversation(STEPS)) as model, (tmp_path / "log").open("w+") as log:
        env = environment(
            {
                "IDEA_RESEARCH_DIR": str(tmp_path),
                "IDEA_API_TOKEN": TOKEN,
                "ANTHROPIC_API_KEY": "key",
                "ANTHROPIC_BASE_URL": model.url,
            }
        )
        with (
            busy_machine(),
            subprocess.Popen(
                [*command, "--workers", str(JOBS)],
                env=env,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as served,
        ):
            assert served.stdout is not None
            url = served.stdout.readline().rpartition("=")[2].strip()
            ended = explore_at_once(url)
            served.terminate()
            served.wait(60)
        log.seek(0)
        lines = log.read()

    assert ended == ["completed"] * JOBS
    assert len(model.requests) == JOBS * len(STEPS)
    assert log_lines(lines, "job_overtaken") == []
    assert log_lines(lines, "job_failed") == []
    assert begun(tmp_path) == [1] * JOBS


def explore_at_once(url: str) -> list[str]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as api:
        ids = [
            api.post("/explorations", json={"idea": idea, "deadline_seconds": SECONDS}).json()["id"]
            for idea in (f"Bees {number}" for number in range(JOBS))
        ]
        deadline = time.monotonic() + SECONDS
        while True:
            found = [api.get(f"/explorations/{name}").json()["status"] for name in ids]
            if not {"queued", "running"} & set(found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.5)


def begun(folder: Path) -> list[int]:
    """How often each exploration was begun."""
    with sqlite3.connect(folder / ".idea-explorer" / "explorations.db") as db:
        rows = db.execute("SELECT id FROM events WHERE type = 'message_start'").fetchall()
    return sorted(Counter(name for (name,) in rows).values())
