"""A model that thinks for minutes, in which nothing but pings arrives: nothing is cut, a cancel is heard."""

import json
import threading
import time
from pathlib import Path

import pytest

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import local_deps
from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_server import PING_SECONDS, FakeAnthropic
from tests.fakes.anthropic_turns import answer, search_result, text, thinking, web_search
from tests.fakes.command import idea
from tests.fakes.reports import business

FOUND = [search_result("https://example.org/bees", "Bees")]
REPORT = business("Urban bees")


def script(first: float, second: float) -> list[Entry]:
    """Think, search, think again and write: the searches and what follows are one answer."""
    return [
        answer(
            thinking("What has to be known?", seconds=first),
            web_search("urban beekeeping market", FOUND),
            thinking("Enough to decide.", seconds=second),
            text(REPORT),
        )
    ]


def run(folder: Path, turns: list[Entry], ping_seconds: float, deadline: int) -> tuple[dict, float]:  # type: ignore[type-arg]
    began = time.monotonic()
    with FakeAnthropic(turns, ping_seconds=ping_seconds) as server:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}
        flags = ["--json", "--quiet", "--deadline-seconds", str(deadline)]
        done = idea("explore", "Bees in towns", *flags, env=env, folder=folder, seconds=300)
    assert (done.returncode, server.rejections) == (0, []), done.stderr
    outcome = json.loads(done.stdout)
    return outcome, time.monotonic() - began


@pytest.mark.long
def test_a_model_that_thinks_in_silence_is_waited_for(tmp_path: Path) -> None:
    outcome, took = run(tmp_path, script(2.0, 1.5), 0.5, 60)
    assert (outcome["status"], outcome["stats"]["steps"]) == ("completed", 1)
    assert "Verdict" in outcome["content"]
    assert took > 3.5


@pytest.mark.slow
def test_a_hundred_seconds_of_thinking_with_pings_as_far_apart_as_they_are(tmp_path: Path) -> None:
    outcome, took = run(tmp_path, script(60.0, 40.0), PING_SECONDS, 300)
    assert outcome["status"] == "completed"
    assert 100 < took < 300
    print(f"completed after {took:.0f} s, of which 100 s were silent but for pings")


@pytest.mark.long
def test_a_cancel_in_the_silence_takes_less_than_two_seconds(tmp_path: Path) -> None:
    ended: list[Exploration] = []
    with FakeAnthropic(script(60.0, 0.0), ping_seconds=PING_SECONDS) as server:
        settings = Settings.from_environment(
            {
                "ANTHROPIC_API_KEY": "test-key",
                "ANTHROPIC_BASE_URL": server.url,
                "IDEA_RESEARCH_DIR": str(tmp_path),
            }
        )
        deps = local_deps(settings, SilentLog())
        request = ExploreRequest(idea="Bees in towns")
        queued = submit(request, "local", deps)
        worker = threading.Thread(target=lambda: ended.append(explore(queued.id, 1, deps)))
        worker.start()
        while not server.requests:
            time.sleep(0.05)
        time.sleep(1.0)
        deps.explorations.request_cancel(queued.id)
        began = time.monotonic()
        worker.join(timeout=10)
        took = time.monotonic() - began
    assert [exploration.run.outcome for exploration in ended] == ["cancelled"]
    assert took < 2
