"""Every function is given the variables that its code reads, whatever it is asked to do."""

from collections.abc import Callable
from typing import Any

import pytest

from idea_explorer import wiring
from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring import publishing
from tests.e2e.harness.template import environment_of
from tests.fakes.aws import NAMES
from tests.fakes.explorations import an_exploration
from tests.fakes.settings import VARIABLES

PARAMETERS = {
    "GitHubRepository": "acme/ideas",
    "GitHubBranch": "main",
    "CodeRepositories": "acme/shop",
    "OwnerDailyCostUsd": "10",
    "QdrantUrl": "https://index.example.com",
    "EmbeddingModel": "amazon.titan-embed-text-v2:0",
    "UseTidal": "true",
    "WebhookUrl": "https://hooks.example.com/ideas",
}
SECRETS = (
    "AnthropicSecret", "GitHubSecret", "QdrantSecret", "TidalSecret", "ApiTokensSecret",
    "WebhookSecret",
)  # fmt: skip
# What a deployment leaves as it is: set by an operator by hand, on a person's machine, or by tests.
NOT_GIVEN = frozenset(
    """ANTHROPIC_BASE_URL GITHUB_API_URL AWS_ENDPOINT_URL AWS_SAM_LOCAL IDEA_RESEARCH_DIR
    IDEA_WEB_SEARCH_VERSION IDEA_MIN_DEADLINE_SECONDS IDEA_MAX_TOTAL_TOKENS IDEA_SEARCH_TOKENS
    IDEA_TRACE_CONTENT IDEA_MODELS IDEA_PRICES IDEA_EFFORTS
    IDEA_SECRET_MAX_AGE_SECONDS IDEA_DEFER_SECONDS IDEA_QUEUED_TOO_LONG_SECONDS
    IDEA_RUNNING_TOO_LONG_SECONDS IDEA_EVENTS_WAIT_SECONDS IDEA_EVENTS_POLL_SECONDS
    OTEL_EXPORTER_OTLP_ENDPOINT TIDAL_API_URL TIDAL_AUTH_URL""".split()
)
# A deployment's are in Secrets Manager.
OF_A_MACHINE = {"GITHUB_TOKEN", "ANTHROPIC_API_KEY", "QDRANT_API_KEY", "IDEA_WEBHOOK_SECRET"} | {
    "TIDAL_CLIENT_ID",
    "TIDAL_CLIENT_SECRET",
}
UNUSED = {"ApiFunction": {"DEAD_LETTER_QUEUE_URL"}}  # it sends messages and sets none aside


class Watched(Settings):
    """Remembers which of its fields were asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name in Settings.model_fields:
            READ.add(name)
        return super().__getattribute__(name)


READ: set[str] = set()
LOG = SilentLog()


def api(settings: Settings) -> None:
    assert wiring.cloud_service(settings, LOG).default_webhook()
    wiring.task_answers(settings)


def authorize(settings: Settings) -> None:
    wiring.api_tokens(settings)()


def dispatch(settings: Settings) -> None:
    stores = wiring.cloud_stores(settings)
    wiring.terms(settings, stores)
    wiring.cloud_queue(settings)
    wiring.cloud_workflow(settings)
    wiring.cloud_notices(settings)
    assert settings.max_running
    assert settings.dead_letter_queue_url


def explore(settings: Settings) -> None:
    engine = wiring.cloud_engine(settings, LOG, [])
    for toolset in TOOLSETS:
        engine.toolset_for(of(toolset), [])
    engine.continuation_for(of("research"))
    assert engine.writer_for
    engine.writer_for(of("code"))
    wiring.task_answers(settings)
    wiring.cloud_notices(settings)
    assert settings.approval_days


def publish(settings: Settings) -> None:
    destinations = publishing.destinations(settings, wiring.system_clock())
    wiring.cloud_stores(settings)
    destinations.pull_requests_for(of("code"))


def notify(settings: Settings) -> None:
    wiring.cloud_stores(settings)
    assert publishing.default_webhook(settings)()
    assert (settings.published_to, settings.published_branch) == ("acme/ideas", "main")


WORK: dict[str, Callable[[Settings], None]] = {
    "ApiFunction": api,
    "AuthorizeFunction": authorize,
    "DispatchFunction": dispatch,
    "ExploreFunction": explore,
    "PublishFunction": publish,
    "NotifyFunction": notify,
}


def of(toolset: str) -> Exploration:
    exploration = an_exploration()
    request = exploration.request.model_copy(update={"toolset": toolset})
    return exploration.replace(request=request)


@pytest.mark.parametrize("function", WORK)
@pytest.mark.usefixtures("aws")
def test_a_function_has_every_variable_that_its_code_reads(function: str) -> None:
    for name in SECRETS:
        client("secretsmanager").create_secret(
            Name=name, SecretString='{"key":"k","token":"t","secret":"s"}'
        )
    given = environment_of(function, **PARAMETERS) | NAMES
    settings = Watched.from_environment(given)
    READ.clear()

    WORK[function](settings)

    read = {variable for variable, field in VARIABLES.items() if field in READ}
    missing = read - set(given) - NOT_GIVEN - OF_A_MACHINE
    assert missing == UNUSED.get(function, set()), "Give it in template.yaml, or say here why not."
