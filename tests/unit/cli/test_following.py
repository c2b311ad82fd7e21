"""Followers of a deployment hold nearly nothing of it, and still see events soon."""

from pathlib import Path

import pytest

from idea_explorer.cli.targets.deployment import retry_seconds
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import server_deps
from tests.fakes.engine import RecordedLog
from tests.performance.following import AT_ONCE, LONG_POLL, RUN_EVENTS, every, follow_for

FOLLOWERS = 20


@pytest.mark.parametrize(
    ("seconds", "event_times", "queued"),
    [(60.0, every(0.5, 60.0), False), (300.0, (), False), (300.0, (), True)],
)
def test_twenty_followers_of_a_deployment_hold_one_execution_at_most(
    seconds: float, event_times: list[float], queued: bool
) -> None:
    cost = follow_for(seconds, event_times, wait_seconds=AT_ONCE, queued=queued)

    assert FOLLOWERS * cost.executions <= 1
    assert cost.usd_per_hour < 0.02


def test_a_call_that_waits_for_events_holds_an_execution_all_the_time() -> None:
    """Which is why a deployment does not: the simulation has to be able to show it."""
    cost = follow_for(300.0, (), wait_seconds=LONG_POLL)

    assert cost.executions > 0.95


def test_every_event_of_a_run_is_seen_within_about_two_seconds() -> None:
    cost = follow_for(145.0, RUN_EVENTS, wait_seconds=AT_ONCE)

    assert len(cost.delays) == len(RUN_EVENTS)
    assert max(cost.delays) < 2.2


def test_an_hour_in_the_queue_is_a_call_every_five_seconds() -> None:
    cost = follow_for(3_600.0, (), wait_seconds=AT_ONCE, queued=True)

    assert cost.calls == pytest.approx(3_600 / 5, rel=0.05)


@pytest.mark.parametrize(
    ("stream", "seconds"),
    [
        ("id: 1\nevent: e\ndata: {}\n\nretry: 2500\n\n", 2.5),
        ("retry: 1000\n\nretry: 100\n\n", 0.1),
        ('id: 1\nevent: e\ndata: {"text": "retry: 9"}\n\n', 1.0),
        ("retry: soon\n\n", 1.0),
    ],
)
def test_the_api_says_how_long_to_pause(stream: str, seconds: float) -> None:
    assert retry_seconds(stream) == seconds


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, 20.0),
        ({"AWS_SAM_LOCAL": "true", "TABLE_NAME": "t"}, 0.0),
        ({"AWS_SAM_LOCAL": "true", "IDEA_EVENTS_WAIT_SECONDS": "3"}, 3.0),
        ({"TABLE_NAME": "t"}, 0.0),
    ],
)
def test_only_a_server_on_this_machine_holds_calls(
    environment: dict[str, str], seconds: float, tmp_path: Path
) -> None:
    settings = Settings.from_environment({**environment, "IDEA_RESEARCH_DIR": str(tmp_path)})

    assert server_deps(settings, RecordedLog()).events_wait_seconds == seconds
