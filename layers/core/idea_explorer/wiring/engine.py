"""What a run needs: the model, its tools, and the policy it is held to."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import AuthFailedError, ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import NO_MODEL, SET_KEY
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.settings import MODELS, Settings
from idea_explorer.wiring.cloud import cloud_secrets, named
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import (
    base_commit_for,
    check_repository,
    missing_settings,
    toolset_for,
    writer_for,
)

if TYPE_CHECKING:
    from idea_explorer.adapters.claude import Claude
    from idea_explorer.ports import (
        EventSink,
        Log,
        Model,
        ModelAnswer,
        ModelRequest,
        Spend,
        Uploads,
        Watcher,
    )
    from idea_explorer.usecases.engine import Engine
    from idea_explorer.usecases.request_policy import RequestPolicy

TRACE_HEADER = "_X_AMZN_TRACE_ID"  # set by Lambda for each invocation
OFFLINE_MODELS = dict.fromkeys(MODELS, OFFLINE)
CHECKED_SECONDS = 30.0  # in which a research repository that could be used is not looked at again


def model(settings: Settings) -> Model:
    """The model of the provider that is configured."""
    return OfflineOnRequest(claude(settings) if settings.uses_claude else NoClaude())


class NoClaude:
    """Where no model is configured: the offline model never answers in the name of another."""

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        raise AuthFailedError(NO_MODEL, hint=SET_KEY)


class OfflineOnRequest:
    """Claude, and the offline model for explorations that began with it."""

    def __init__(self, claude: Model) -> None:
        self._claude = claude

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if request.model_id != OFFLINE:
            return self._claude.answer(request, watcher, deadline)
        from idea_explorer.adapters.offline import OfflineModel

        return OfflineModel().answer(request, watcher, deadline)


def claude(settings: Settings) -> Claude:
    from idea_explorer.adapters.claude import Claude

    if settings.provider == "aws":
        workspace = named("ANTHROPIC_AWS_WORKSPACE_ID", settings.anthropic_workspace_id)
        region = named("AWS_REGION", settings.aws_region)
        return Claude.on_aws(workspace, region, settings.anthropic_aws_base_url)
    return Claude.with_key(_anthropic_key(settings), settings.anthropic_base_url)


def _anthropic_key(settings: Settings) -> str:
    if settings.anthropic_secret_id:
        return cloud_secrets(settings).get(settings.anthropic_secret_id, "key")
    if settings.anthropic_api_key is None:
        raise ConfigurationError("There is no key for Claude.", hint="Set ANTHROPIC_API_KEY.")
    return settings.anthropic_api_key.get_secret_value()


def span_sinks(settings: Settings, exploration: Exploration, log: Log) -> Sequence[EventSink]:
    """Spans where an endpoint for them is set; nothing of OpenTelemetry is loaded otherwise."""
    if settings.otlp_endpoint is None:
        return []
    try:
        from idea_explorer.adapters.otlp import otlp_tracing
        from idea_explorer.observability.span_attributes import AGENT
        from idea_explorer.observability.spans import SpanSink, parse_trace_header
    except ImportError as missing:
        log.warning("spans_not_exported", error=str(missing), hint="Install the extra `otel`.")
        return []
    tracing = otlp_tracing(AGENT)
    return [
        SpanSink(
            exploration,
            tracing.tracer,
            system_clock(),
            parent=parse_trace_header(os.environ.get(TRACE_HEADER, "")),
            capture=settings.trace_content,
            flush=tracing.flush,
        )
    ]


class RepositoryCheck:
    """Raises what keeps a run from its repository. Runs that start shortly after one another share the look
    at the research repository, of which there is one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clock = system_clock()
        self._usable_until = -math.inf

    def __call__(self, exploration: Exploration) -> None:
        is_shared = exploration.request.spec.publishes_documents
        if is_shared and self._clock.monotonic() < self._usable_until:
            return
        check_repository(self._settings, exploration)
        if is_shared:
            self._usable_until = self._clock.monotonic() + CHECKED_SECONDS


def make_engine(settings: Settings, uploads: Uploads, log: Log) -> Engine:
    from idea_explorer.usecases.engine import Engine

    return Engine(
        model=model(settings),
        toolset_for=partial(toolset_for, settings, log, uploads),
        writer_for=partial(writer_for, settings),
        base_commit_for=partial(base_commit_for, settings),
        check_repository=RepositoryCheck(settings),
        repository_url_for=lambda exploration: settings.repository_url(
            exploration.request.repository
        ),
        sinks_for=lambda exploration: span_sinks(settings, exploration, log),
        max_total_tokens=settings.max_total_tokens,
        search_tokens=settings.search_tokens,
    )


def model_ids(settings: Settings) -> Mapping[str, str]:
    """The model id of each name. Under the name `offline` no model is called, whatever the provider."""
    return {**(settings.models if settings.uses_claude else OFFLINE_MODELS), OFFLINE: OFFLINE}


def request_policy(
    settings: Settings, spend: Spend | None = None, uploads: Uploads | None = None
) -> RequestPolicy:
    """The rules for requests. Without the stores, quotas and uploaded files are not checked."""
    from idea_explorer.usecases.request_policy import RequestPolicy

    return RequestPolicy(
        web_scope=settings.web_scope,
        min_deadline_seconds=settings.min_deadline_seconds,
        model_ids=model_ids(settings),
        prices=settings.prices,
        profiles=settings.profiles,
        max_cost_usd=settings.max_cost_usd,
        search_tokens=settings.search_tokens,
        daily_cost_usd=settings.daily_cost_usd,
        spend=spend,
        uploads=uploads,
        code_repositories=settings.allowed_repositories,
        missing=missing_settings(settings),
        default_webhook=settings.webhook_url is not None,
    )
