"""The explore function over a deployment's services, where something was never set up."""

import json
from typing import Any

import pytest

from idea_explorer import wiring
from idea_explorer.adapters.aws import client
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import Settings
from idea_explorer.usecases.submit import submit
from idea_explorer.usecases.terms import Terms
from tests.fakes.functions import Context, handler_of, set_environment


class Deployment:
    def __init__(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        client("secretsmanager").create_secret(Name="ideas-anthropic")
        set_environment(settings, monkeypatch)
        self._stores = wiring.cloud_stores(settings)

    def submitted(self, **request: Any) -> Exploration:
        wanted = ExploreRequest(idea="Urban bees", **request)
        store, clock = self._stores.explorations, wiring.system_clock()
        return submit(wanted, "ada", store, clock, terms=Terms())

    def run(self, exploration: Exploration, run: int = 1) -> Any:
        event = {"id": exploration.id, "run": run, "deadline_seconds": 120}
        return handler_of("explore")(event, Context())

    def load(self, exploration: Exploration) -> Exploration:
        return self._stores.explorations.load(exploration.id)

    def events(self, exploration: Exploration) -> list[Any]:
        return [json.loads(event.data) for event in self._stores.events.read(exploration.id)]


@pytest.mark.parametrize(
    ("missing", "toolset", "remedy"),
    [
        ({"anthropic_secret_id": "ideas-anthropic"}, "research", "idea admin secret set"),
        ({"anthropic_secret_id": "ideas-none"}, "research", "idea admin secret set"),
        ({}, "discover", "parameter QdrantUrl"),
    ],
    ids=str,
)
def test_what_was_never_set_up_fails_the_run_with_its_remedy(
    aws: Settings,
    monkeypatch: pytest.MonkeyPatch,
    missing: dict[str, str],
    toolset: str,
    remedy: str,
) -> None:
    deployment = Deployment(aws.model_copy(update=missing), monkeypatch)
    exploration = deployment.submitted(toolset=toolset)

    answer = deployment.run(exploration)

    failed = deployment.load(exploration)
    assert (answer["status"], failed.status) == ("failed", "failed")
    assert failed.receipt is not None
    assert remedy in failed.receipt.message
    *_, told, ended = deployment.events(exploration)
    assert told["message"] == failed.receipt.message
    assert (ended["type"], ended["to"]) == ("status_changed", "failed")


def test_a_run_that_is_somebody_elses_is_left_alone(
    aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = Deployment(aws, monkeypatch)
    exploration = deployment.submitted()

    with pytest.raises(ConflictError):
        deployment.run(exploration, run=2)

    assert deployment.load(exploration).status == "queued"
