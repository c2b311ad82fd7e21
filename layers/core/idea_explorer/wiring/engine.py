"""The engine: model, toolsets, stores and terms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import EventSink, Log, Model, ModelAnswer, ModelRequest, Watcher
from idea_explorer.settings import MODELS, Settings
from idea_explorer.wiring.cloud import cloud_secrets, named
from idea_explorer.wiring.stores import Stores, cloud_stores, local_stores, system_clock
from idea_explorer.wiring.toolsets import (
    base_of,
    check_repository,
    missing_settings,
    research_repository,
    toolset_for,
    writer_for,
)

if TYPE_CHECKING:
    from idea_explorer.adapters.claude import Claude
    from idea_explorer.usecases.engine import Engine
    from idea_explorer.usecases.request_policy import RequestPolicy

OFFLINE_MODELS = dict.fromkeys(MODELS, "offline")


def model(settings: Settings) -> Model:
    """The model of the provider that is configured."""
    if not settings.uses_claude:
        from idea_explorer.adapters.offline import OfflineModel

        return OfflineModel()
    return claude(settings)


def claude(settings: Settings) -> "Claude":
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
        from idea_explorer.observability.spans import SpanSink
    except ImportError as missing:
        log.warning("spans_not_exported", error=str(missing), hint="Install the extra `otel`.")
        return []
    tracing = otlp_tracing(AGENT)
    return [
        SpanSink(
            exploration,
            tracing.tracer,
            system_clock(),
            capture=settings.trace_content,
            flush=tracing.flush,
        )
    ]


class _LateModel:
    """A model that is made when a run begins: Claude's client takes seconds to load, and whoever
    started the run should see before that what it is."""

    def __init__(self, make: Callable[[], Model]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Model:
        return self._make()

    def load(self) -> None:
        _ = self._made

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        return self._made.answer(request, watcher, deadline)


def local_engine(settings: Settings, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    """The engine on this machine: SQLite and files."""
    late = _LateModel(partial(model, settings))
    engine = _engine(settings, late, local_stores(settings), log, sinks)
    return replace(engine, prepare=late.load)


def cloud_engine(settings: Settings, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    """The engine of a deployment. Made anew for each run, so that it has the current secrets."""
    return _engine(settings, model(settings), cloud_stores(settings), log, sinks)


def _engine(
    settings: Settings, asked: Model, kept_in: Stores, log: Log, sinks: Sequence[EventSink]
) -> "Engine":
    from idea_explorer.observability.logging import LogSink
    from idea_explorer.usecases.continuation import find_continuation
    from idea_explorer.usecases.engine import Engine

    return Engine(
        explorations=kept_in.explorations,
        transcripts=kept_in.transcripts,
        events=kept_in.events,
        reports=kept_in.reports,
        model=asked,
        toolset_for=partial(toolset_for, settings, log, kept_in.uploads),
        approvals=kept_in.approvals,
        writer_for=partial(writer_for, settings),
        base_of=partial(base_of, settings),
        check_repository=partial(check_repository, settings),
        page_of=lambda exploration: settings.page_of(exploration.request.repository),
        sinks_for=lambda exploration: [
            LogSink(log, exploration),
            *span_sinks(settings, exploration, log),
            *sinks,
        ],
        clock=system_clock(),
        log=log,
        model_ids=model_ids(settings),
        prices=settings.prices,
        profiles=settings.profiles,
        terms=terms(settings, kept_in),
        max_total_tokens=settings.max_total_tokens,
        search_tokens=settings.search_tokens,
        continuation_for=lambda exploration: find_continuation(
            exploration,
            explorations=kept_in.explorations,
            transcripts=kept_in.transcripts,
            reports=kept_in.reports,
            research=research_repository(settings),
        ),
    )


def model_ids(settings: Settings) -> Mapping[str, str]:
    return settings.models if settings.uses_claude else OFFLINE_MODELS


def terms(settings: Settings, kept_in: Stores | None = None) -> "RequestPolicy":
    """What is asked of every request here, and with the stores also what they know of its owner."""
    from idea_explorer.usecases.request_policy import RequestPolicy

    return RequestPolicy(
        min_deadline_seconds=settings.min_deadline_seconds,
        model_ids=model_ids(settings),
        prices=settings.prices,
        profiles=settings.profiles,
        max_cost_usd=settings.max_cost_usd,
        daily_cost_usd=settings.daily_cost_usd,
        spend=kept_in.spend if kept_in else None,
        uploads=kept_in.uploads if kept_in else None,
        code_repositories=settings.allowed_repositories,
        missing=missing_settings(settings),
        default_webhook=settings.webhook_url is not None,
    )
