"""Whoever gives an exploration its final status, it is logged, and counted for the alarms."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring import publishing
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.functions import Context, handler_of, set_environment

ProgressSink = Callable[[], list[str]]


@pytest.fixture
def counted(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProgressSink:
    """The final statuses that CloudWatch has counted since."""
    set_environment(aws, monkeypatch)

    def statuses() -> list[str]:
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
        found = [json.loads(line) for line in lines]
        return [line["status"] for line in found if "Explorations" in line]

    return statuses


@pytest.fixture
def queued(aws: Settings) -> Exploration:
    return submit(ExploreRequest(idea="Bees"), "ada", cloud_deps(aws, SilentLog()))


def called(method: str, path: str, body: object = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    event = build_gateway_event(method, path, {"Accept": "application/json"}, data, "ada")
    answer = handler_of("api")(event, Context())
    return answer["statusCode"]


def test_what_fails_before_its_run_is_counted(queued: Exploration, counted: ProgressSink) -> None:
    body = json.dumps({"id": queued.id, "run": 9})
    handler_of("dispatch")({"Records": [{"messageId": "m-1", "body": body}]}, Context())

    assert counted() == ["failed"]


def test_what_is_cancelled_in_the_queue_is_counted(
    queued: Exploration, counted: ProgressSink
) -> None:
    assert called("POST", f"/explorations/{queued.id}/cancel") == 202

    assert counted() == ["cancelled"]


def test_research_that_is_used_again_is_counted(
    aws: Settings, queued: Exploration, counted: ProgressSink
) -> None:
    stores = cloud_deps(aws, SilentLog())
    stores.explorations.save(queued.replace(document="ideas/bees/research.md"))
    stores.reports.save_report(queued.id, queued.lease, "# Bees")
    document = (
        f"---\nidea: Bees\nmode: business\nstatus: completed\nexploration_id: {queued.id}\n---\n"
    )
    index = publishing.research_index(aws)
    index.add("ideas/bees/research.md", document + "# Bees", queued.created_at)

    assert called("POST", "/explorations", {"idea": "Bees", "if_exists": "reuse"}) == 200

    assert counted() == ["completed"]
