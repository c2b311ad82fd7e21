"""The explore function over a deployment's services."""

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.functions import Context, handler_of, set_environment
from tests.fakes.github_server import FakeGitHub


class Deployment:
    def __init__(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        client("secretsmanager").create_secret(Name="ideas-anthropic")
        set_environment(settings, monkeypatch)
        self._stores = cloud_deps(settings, SilentLog())

    def submitted(self, **request: Any) -> Exploration:
        wanted = ExploreRequest(idea="Urban bees", **request)
        return submit(wanted, "ada", replace(self._stores, policy=RequestPolicy()))

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
    assert failed.run.receipt is not None
    assert remedy in failed.run.receipt.message
    *_, told, ended = deployment.events(exploration)
    assert told["message"] == failed.run.receipt.message
    assert (ended["type"], ended["to"]) == ("status_changed", "failed")


def test_a_run_that_is_somebody_elses_is_left_alone(
    aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = Deployment(aws, monkeypatch)
    exploration = deployment.submitted()

    with pytest.raises(ConflictError):
        deployment.run(exploration, run=2)

    assert deployment.load(exploration).status == "queued"


@contextmanager
def held_until_the_report_is_kept() -> Iterator[list[bool]]:
    """Snapshots on their way to the bucket wait for the report; says of each whether it came."""
    reported = threading.Event()
    waited: list[bool] = []

    def before(params: dict[str, Any], **_: Any) -> None:
        if "/snapshots/" in params["url"]:
            waited.append(reported.wait(5))
        if "report" in params["url"]:
            reported.set()

    events = client("s3").meta.events
    events.register_first("before-call.s3.PutObject", before)
    try:
        yield waited
    finally:
        events.unregister("before-call.s3.PutObject", before)


def test_a_run_does_not_wait_for_others_to_get_its_snapshot_and_the_function_does(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with FakeGitHub(tmp_path / "github", token="t0ken") as github:
        sha = github.create_repository("acme/tea", {"README.md": "# Tea\n"}).head()
        client("secretsmanager").create_secret(Name="github", SecretString="t0ken")
        known = {
            "github_repository": "acme/tea",
            "github_api_url": github.url,
            "github_secret_id": "github",
        }
        deployment = Deployment(aws.model_copy(update=known), monkeypatch)
        exploration = deployment.submitted(toolset="code")

        with held_until_the_report_is_kept() as waited:
            answer = deployment.run(exploration)

    assert (answer["status"], waited) == ("completed", [True])
    kept = client("s3").list_objects_v2(Bucket=aws.bucket_name, Prefix="snapshots/")["Contents"]
    assert [item["Key"] for item in kept] == [f"snapshots/acme/tea/{sha}-1048576.pack.gz"]
