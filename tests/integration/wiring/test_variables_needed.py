"""Every function is given the variables that its code reads, whatever it is asked to do."""

from collections.abc import Callable
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.continuation import find_continuation
from idea_explorer.wiring.cloud import ApiTokens
from idea_explorer.wiring.deps import cloud_deps
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
    "MaxStreams": "2",
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
    IDEA_SECRET_MAX_AGE_SECONDS IDEA_QUEUED_TOO_LONG_SECONDS
    IDEA_RUNNING_TOO_LONG_SECONDS IDEA_EVENTS_WAIT_SECONDS IDEA_EVENTS_POLL_SECONDS
    OTEL_EXPORTER_OTLP_ENDPOINT TIDAL_API_URL TIDAL_AUTH_URL""".split()
)
# A deployment's are in Secrets Manager.
OF_A_MACHINE = {"GITHUB_TOKEN", "ANTHROPIC_API_KEY", "QDRANT_API_KEY", "IDEA_WEBHOOK_SECRET"} | {
    "TIDAL_CLIENT_ID",
    "TIDAL_CLIENT_SECRET",
}
# Read for every function, and used by others.
DOMAINS = {"IDEA_ALLOWED_DOMAINS", "IDEA_BLOCKED_DOMAINS", "IDEA_USER_LOCATION"}
UNUSED = {
    "ApiFunction": {"DEAD_LETTER_QUEUE_URL", "MAX_RUNNING", "MAX_STREAMS", "GITHUB_SECRET_ID"},
    "FollowFunction": {
        *("GITHUB_BRANCH", "GITHUB_SECRET_ID", "MAX_RUNNING", "QDRANT_URL", "IDEA_WEBHOOK_URL"),
        *DOMAINS,
    },
    "DispatchFunction": {"GITHUB_BRANCH", "GITHUB_SECRET_ID", "MAX_STREAMS"},
    "ExploreFunction": {"DEAD_LETTER_QUEUE_URL", "MAX_STREAMS"},
    "PublishFunction": {"MAX_RUNNING", "MAX_STREAMS", "QDRANT_URL", "IDEA_WEBHOOK_URL", *DOMAINS},
    "NotifyFunction": {"MAX_RUNNING", "MAX_STREAMS", "QDRANT_URL", "GITHUB_SECRET_ID", *DOMAINS},
}


class Watched(Settings):
    """Remembers which of its fields were asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name in Settings.model_fields:
            READ.add(name)
        return super().__getattribute__(name)


READ: set[str] = set()
LOG = SilentLog()


def api(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    assert deps.default_webhook()
    deps.queue()
    deps.idempotency()
    deps.index()


def follow(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    assert deps.stream_slots
    deps.policy.check_access(of("code"))


def authorize(settings: Settings) -> None:
    ApiTokens(settings).read()


def dispatch(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    deps.queue()
    deps.workflow()
    deps.notices()


def explore(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    engine = deps.engine()
    for toolset in TOOLSETS:
        engine.toolset_for(of(toolset), [])
    find_continuation(of("research"), deps)
    assert engine.writer_for
    engine.writer_for(of("code"))
    deps.notices()
    deps.queue()
    assert settings.approval_days


def publish(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    assert deps.publisher()
    deps.index()
    deps.research()
    deps.pull_requests_for(of("code"))


def notify(settings: Settings) -> None:
    deps = cloud_deps(settings, LOG)
    assert deps.default_webhook()
    assert (deps.repository, deps.branch) == ("acme/ideas", "main")


WORK: dict[str, Callable[[Settings], None]] = {
    "ApiFunction": api,
    "FollowFunction": follow,
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
