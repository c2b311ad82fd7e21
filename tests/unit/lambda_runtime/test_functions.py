"""What each function knows of its deployment: enough to judge alike, and no secret it has no use for."""

from datetime import UTC, datetime
from typing import Any

import pytest

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import MODELS, Settings
from idea_explorer.wiring.engine import OFFLINE_MODELS, model_ids, request_policy
from tests.e2e.harness.template import environment_of

OFFLINE_ON_REQUEST = {"offline": "offline"}
JUDGES = ("ApiFunction", "DispatchFunction", "ExploreFunction")


def settings_of(function: str, **parameters: str) -> Settings:
    return Settings.from_environment(environment_of(function, **parameters))


@pytest.mark.parametrize("function", JUDGES)
def test_whoever_takes_a_request_knows_what_its_model_costs(function: str) -> None:
    policy = request_policy(settings_of(function))

    assert policy.model_ids == {**MODELS, **OFFLINE_ON_REQUEST}
    with pytest.raises(InvalidRequestError, match="max_cost_usd"):
        policy.check(ExploreRequest(idea="Bees", max_cost_usd=0.000_001), "ada", datetime.now(UTC))


@pytest.mark.parametrize("function", JUDGES)
def test_the_offline_model_costs_nothing_wherever_it_is_asked(function: str) -> None:
    settings = settings_of(function, Provider="offline")

    assert model_ids(settings) == {**OFFLINE_MODELS, **OFFLINE_ON_REQUEST}


@pytest.mark.parametrize("function", ["ApiFunction", "DispatchFunction"])
def test_who_takes_requests_has_no_key_of_the_model(function: str) -> None:
    assert settings_of(function).anthropic_secret_id is None


@pytest.mark.parametrize("function", JUDGES)
@pytest.mark.parametrize(
    ("toolset", "parameter", "value"),
    [("discover", "QdrantUrl", "https://index"), ("code", "GitHubRepository", "acme/ideas")],
)
def test_a_toolset_that_is_not_set_up_is_refused_and_says_what_an_operator_sets(
    function: str, toolset: Any, parameter: str, value: str
) -> None:
    request, now = ExploreRequest(idea="Songs for rain", toolset=toolset), datetime.now(UTC)

    with pytest.raises(InvalidRequestError) as refusal:
        request_policy(settings_of(function)).check(request, "ada", now)

    assert set(refusal.value.fields) == {"toolset"}
    assert f"parameter {parameter}." in refusal.value.sentence
    request_policy(settings_of(function, **{parameter: value})).check(request, "ada", now)


def test_explore_has_what_music_discovery_needs() -> None:
    settings = settings_of(
        "ExploreFunction",
        QdrantUrl="https://index",
        EmbeddingModel="amazon.titan-embed-text-v2:0",
        UseTidal="true",
    )

    assert (settings.qdrant_url, settings.qdrant_collection) == ("https://index", "tracks")
    assert settings.qdrant_secret_id == "QdrantSecret"
    assert settings.embedding_model == "amazon.titan-embed-text-v2:0"
    assert (settings.tidal_secret_id, settings.tidal_country) == ("TidalSecret", "US")


@pytest.mark.parametrize("function", ["ApiFunction", "ExploreFunction", "PublishFunction"])
def test_whoever_sends_a_webhook_names_the_same_repository(function: str) -> None:
    given = {"GitHubRepository": "acme/ideas", "GitHubBranch": "main"}
    notify, other = settings_of("NotifyFunction", **given), settings_of(function, **given)

    assert (notify.published_to, notify.published_branch) == ("acme/ideas", "main")
    assert (other.published_to, other.published_branch) == ("acme/ideas", "main")
