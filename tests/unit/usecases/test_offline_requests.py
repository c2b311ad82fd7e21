"""A request for the offline model: the smoke test's alone, without a model call and without a report in the
repository, whatever the deployment's provider is."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import NO_MODEL, SET_KEY
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.queue_messages import SMOKE_OWNER
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import MODELS, Settings
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.engine import OfflineOnRequest, model, model_ids, request_policy
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, says

CLAUDE = Settings(anthropic_secret_id="key", model_provider="anthropic")
SMOKE = ExploreRequest(idea="A smoke test", model="offline")


class RefusingPublisher(FolderPublisher):
    def check(self) -> None:
        raise ConfigurationError("The token may only read.")


def run(bench: Bench, request: ExploreRequest, owner: str) -> Exploration:
    deps = replace(bench.deps, policy=request_policy(CLAUDE))
    queued = submit(request, owner, deps)
    explore(queued.id, 1, deps)
    return publish(queued.id, 1, deps)


def test_it_calls_no_model_costs_nothing_and_leaves_nothing_in_the_repository(
    tmp_path: Path,
) -> None:
    claude = ScriptedModel([says("# Tea\n\nA room.")])
    bench = Bench(tmp_path, OfflineOnRequest(claude))

    smoke = run(bench, SMOKE, SMOKE_OWNER)
    other = run(bench, ExploreRequest(idea="Tea"), "ada")

    assert (smoke.status, smoke.run.model_id, smoke.run.stats.cost_usd) == ("completed", OFFLINE, 0)
    assert bench.store.load_report(smoke.id)
    assert smoke.publication.path is None
    assert [request.model_id for request in claude.requests] == [MODELS["sonnet"]]
    assert other.publication.path is not None
    assert [folder.name[11:] for folder in (tmp_path / "ideas").iterdir()] == ["tea"]


def test_it_fails_where_a_report_could_not_be_published(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineOnRequest(ScriptedModel([])))
    refusing = RefusingPublisher(tmp_path, tmp_path / "lock")
    bench.deps = replace(bench.deps, publisher=lambda: refusing)

    failed = run(bench, SMOKE, SMOKE_OWNER)

    assert failed.status == "failed"
    assert failed.run.receipt is not None
    assert failed.run.receipt.message == "The token may only read."


def test_nobody_but_the_smoke_test_gets_it() -> None:
    policy = request_policy(CLAUDE)
    now = datetime(2026, 11, 16, tzinfo=UTC)

    policy.check(SMOKE, SMOKE_OWNER, now)
    with pytest.raises(InvalidRequestError, match="only for `idea admin smoke`") as refused:
        policy.check(SMOKE, "ada", now)
    assert list(refused.value.fields) == ["model"]


def test_the_name_offline_stands_for_itself_whatever_the_provider() -> None:
    assert model_ids(CLAUDE) == {**MODELS, "offline": OFFLINE}
    assert set(model_ids(Settings(model_provider="offline")).values()) == {OFFLINE}


def test_the_offline_model_never_answers_in_the_name_of_another(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model(Settings(model_provider="offline")))

    failed = run(bench, ExploreRequest(idea="Tea"), "ada")

    assert (failed.status, failed.run.stats.steps, failed.run.stats.cost_usd) == ("failed", 0, 0)
    assert failed.run.receipt is not None
    assert failed.run.receipt.message == f"{NO_MODEL} {SET_KEY}"
