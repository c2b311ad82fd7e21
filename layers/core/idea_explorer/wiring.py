"""Puts the parts together. The only module that sees everything; imports what a path needs, when it does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import (
    Approvals,
    ChangeWriter,
    Clock,
    EventLog,
    EventSink,
    Executions,
    Explorations,
    Idempotency,
    Journals,
    Log,
    Model,
    Notices,
    Reports,
    ResearchRepository,
    Secrets,
    SecretStore,
    Spend,
    UploadedFiles,
    Uploads,
    WorkQueue,
)
from idea_explorer.settings import Settings

if TYPE_CHECKING:
    from idea_explorer.adapters.given_files import GivenFiles
    from idea_explorer.adapters.local_queue import LocalQueue
    from idea_explorer.adapters.sqlite import SqliteStore
    from idea_explorer.adapters.uploads import FilesOf, LocalUploads
    from idea_explorer.usecases.explore import Engine
    from idea_explorer.usecases.service import Service
    from idea_explorer.usecases.terms import Terms

TOOLSETS = ("research", "assistant", "code", "discover")
LOCAL_OWNER = "local"
OFFLINE_MODELS = {"sonnet": "offline", "opus": "offline"}


def model(settings: Settings) -> Model:
    """Claude where there is a key, the offline model otherwise."""
    if not settings.uses_claude:
        from idea_explorer.adapters.offline import OfflineModel

        return OfflineModel()
    from idea_explorer.adapters.claude import Claude

    return Claude(_anthropic_key(settings), settings.anthropic_base_url)


def _anthropic_key(settings: Settings) -> str:
    if settings.anthropic_secret_id:
        return cloud_secrets(settings).get(settings.anthropic_secret_id, "key")
    if settings.anthropic_api_key is None:
        raise ConfigurationError("There is no key for Claude.", hint="Set ANTHROPIC_API_KEY.")
    return settings.anthropic_api_key.get_secret_value()


def github_token(settings: Settings) -> Callable[[], str]:
    """Asked for at each call, so that a rotated token is picked up."""
    if settings.github_secret_id:
        return partial(cloud_secrets(settings).get, settings.github_secret_id, "token")
    assert settings.github_token is not None
    return settings.github_token.get_secret_value


def research_repository(settings: Settings) -> ResearchRepository | None:
    """GitHub where it is set up; else the folder, if it holds research; else nothing to read from."""
    if settings.uses_github:
        from idea_explorer.adapters.document_cache import DocumentCache
        from idea_explorer.adapters.github import GitHub

        assert settings.github_repository is not None
        return GitHub(
            repository=settings.github_repository,
            token=github_token(settings),
            branch=settings.github_branch,
            api_url=settings.github_api_url,
            cache=DocumentCache(),
        )
    from idea_explorer.adapters.folder import Folder

    folder = Folder(settings.research_dir)
    return folder if folder.has_research else None


def check_folder(settings: Settings) -> None:
    """Raises ConfigurationError where there is no folder to work in."""
    from idea_explorer.adapters.folder import Folder

    Folder(settings.research_dir)


def toolset(
    settings: Settings,
    name: str,
    exploration: Exploration | None = None,
    log: Log | None = None,
    files: UploadedFiles | None = None,
) -> Toolset:
    """A toolset: of one exploration, or to call by hand."""
    match name:
        case "research":
            from idea_explorer.tools.research import research_tools

            return research_tools(research_repository(settings), settings.web_search_version)
        case "assistant":
            from idea_explorer.adapters.http import PublicHttp
            from idea_explorer.tools.assistant import assistant_tools

            pages = PublicHttp(system_clock())
            return assistant_tools(pages, files or given_files([]), settings.web_search_version)
        case "discover":
            from idea_explorer.wiring_music import discover

            owner = exploration.owner if exploration else LOCAL_OWNER
            return discover(settings, owner, system_clock(), log or cli_log(None))
        case "code":
            from idea_explorer import wiring_code

            return wiring_code.toolset_by_hand(settings)
        case _:
            raise ConfigurationError(
                f"There is no toolset '{name}'.", hint=f"Choose one of: {', '.join(TOOLSETS)}."
            )


def toolset_for(
    settings: Settings,
    log: Log,
    uploads: Uploads,
    exploration: Exploration,
    entries: Sequence[AnyEntry],
) -> Toolset:
    """The tools of a run, which sees what its own decisions have changed."""
    if exploration.request.toolset != "code":
        files = files_of(exploration, uploads)
        return toolset(settings, exploration.request.toolset, exploration, log, files)
    from idea_explorer import wiring_code

    return wiring_code.toolset_of(settings, exploration, entries, log)


def writer_for(settings: Settings, exploration: Exploration) -> ChangeWriter:
    from idea_explorer import wiring_code

    return wiring_code.writer_for(settings, exploration)


def base_of(settings: Settings, exploration: Exploration) -> str | None:
    if exploration.request.toolset != "code":
        return None
    from idea_explorer import wiring_code

    return wiring_code.base_of(settings, exploration)


def system_clock() -> Clock:
    from idea_explorer.adapters.clock import SystemClock

    return SystemClock()


def cli_log(stream: TextIO | None) -> Log:
    """Structured lines on a stream, or none at all."""
    from idea_explorer.observability import SilentLog, stream_log

    return stream_log(stream) if stream else SilentLog()


def span_sinks(settings: Settings, exploration: Exploration, log: Log) -> Sequence[EventSink]:
    """Spans where an endpoint for them is set; nothing of OpenTelemetry is loaded otherwise."""
    if settings.otlp_endpoint is None:
        return []
    try:
        from idea_explorer.adapters.otlp import otlp_tracing
        from idea_explorer.span_attributes import AGENT
        from idea_explorer.spans import SpanSink
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


def local_store(settings: Settings) -> "SqliteStore":
    from idea_explorer.adapters.sqlite import SqliteStore

    store = SqliteStore(settings.store)
    ignored = settings.store.with_name(".gitignore")
    if not ignored.exists():
        # records hold webhook secrets, which have no place in the folder's git
        ignored.write_text("*\n", encoding="utf-8")
    return store


@dataclass(frozen=True)
class Stores:
    """Where explorations are kept: in the cloud or on this machine, for everyone alike."""

    explorations: Explorations
    journals: Journals
    events: EventLog
    reports: Reports
    uploads: Uploads
    spend: Spend
    approvals: Approvals


def stores(settings: Settings) -> Stores:
    return cloud_stores(settings) if settings.in_cloud else local_stores(settings)


def local_stores(settings: Settings) -> Stores:
    from idea_explorer.adapters.sqlite_approvals import SqliteApprovals

    store = local_store(settings)
    return Stores(
        explorations=store,
        journals=store,
        events=store,
        reports=store,
        uploads=local_uploads(settings),
        spend=store,
        approvals=SqliteApprovals(settings.store),
    )


def local_uploads(settings: Settings, base_url: str = "") -> "LocalUploads":
    """Files on this machine; `base_url` is where its API is reached."""
    from idea_explorer.adapters.uploads import LocalUploads

    return LocalUploads(settings.kept, base_url)


def files_of(exploration: Exploration, uploads: Uploads) -> "FilesOf":
    from idea_explorer.adapters.uploads import FilesOf

    return FilesOf(uploads, exploration.owner, exploration.request.files)


def given_files(paths: Sequence[Path]) -> "GivenFiles":
    """Files that a person at this machine named; raises InvalidRequestError."""
    from idea_explorer.adapters.given_files import GivenFiles

    return GivenFiles(paths)


def cloud_stores(settings: Settings) -> Stores:
    from idea_explorer.adapters.dynamodb.approvals import CloudApprovals
    from idea_explorer.adapters.dynamodb.events import DynamoEventLog
    from idea_explorer.adapters.dynamodb.explorations import DynamoExplorations
    from idea_explorer.adapters.dynamodb.journals import CloudJournals, CloudReports
    from idea_explorer.adapters.dynamodb.spend import DynamoSpend
    from idea_explorer.adapters.dynamodb.table import Table
    from idea_explorer.adapters.s3 import Bucket
    from idea_explorer.adapters.uploads import CloudUploads

    name = named("TABLE_NAME", settings.table_name)
    table = Table(name, connect("dynamodb", settings), system_clock())
    bucket = Bucket(named("BUCKET_NAME", settings.bucket_name), connect("s3", settings))
    return Stores(
        explorations=DynamoExplorations(table),
        journals=CloudJournals(table, bucket),
        events=DynamoEventLog(table),
        reports=CloudReports(table, bucket),
        uploads=CloudUploads(bucket),
        spend=DynamoSpend(table),
        approvals=CloudApprovals(table, bucket),
    )


def cloud_queue(settings: Settings) -> WorkQueue:
    from idea_explorer.adapters.sqs import SqsWorkQueue

    return SqsWorkQueue(
        named("QUEUE_URL", settings.queue_url),
        settings.dead_letter_queue_url,
        connect("sqs", settings),
    )


def cloud_workflow(settings: Settings) -> Executions:
    from idea_explorer.adapters.stepfunctions import StepFunctionsWorkflow

    arn = named("STATE_MACHINE_ARN", settings.state_machine_arn)
    return StepFunctionsWorkflow(arn, connect("stepfunctions", settings))


def cloud_notices(settings: Settings) -> Notices:
    from idea_explorer.adapters.aws import client
    from idea_explorer.adapters.notices import LambdaNotices

    function = named("NOTIFY_FUNCTION_NAME", settings.notify_function_name)
    return LambdaNotices(function, partial(client, "lambda"))


def cloud_secrets(settings: Settings) -> Secrets:
    return _secrets(settings.aws_endpoint_url, settings.secret_max_age_seconds)


@cache  # what was read stays in memory as long as it may, whoever asks
def _secrets(endpoint_url: str | None, max_age_seconds: int) -> Secrets:
    from idea_explorer.adapters.aws import client
    from idea_explorer.adapters.secrets import CloudSecrets

    return CloudSecrets(partial(client, "secretsmanager", endpoint_url), max_age_seconds)


def connect(service: str, settings: Settings) -> Callable[[], Any]:
    from idea_explorer.adapters.aws import client

    return partial(client, service, settings.aws_endpoint_url)


def named(variable: str, value: str | None) -> str:
    if value is None:
        raise ConfigurationError(f"{variable} is not set.", hint="A deployment sets it.")
    return value


def local_engine(settings: Settings, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    """The engine on this machine: SQLite and files."""
    return _engine(settings, local_stores(settings), log, sinks)


def cloud_engine(settings: Settings, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    """The engine of a deployment. Made anew for each run, so that it has the current secrets."""
    return _engine(settings, cloud_stores(settings), log, sinks)


def _engine(settings: Settings, kept_in: Stores, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    from idea_explorer.observability import LogSink
    from idea_explorer.usecases.earlier import origin_of
    from idea_explorer.usecases.explore import Engine

    return Engine(
        explorations=kept_in.explorations,
        journals=kept_in.journals,
        events=kept_in.events,
        reports=kept_in.reports,
        model=model(settings),
        toolset_for=partial(toolset_for, settings, log, kept_in.uploads),
        approvals=kept_in.approvals,
        writer_for=partial(writer_for, settings),
        base_of=partial(base_of, settings),
        sinks_for=lambda exploration: [
            LogSink(log, exploration),
            *span_sinks(settings, exploration, log),
            *sinks,
        ],
        clock=system_clock(),
        log=log,
        model_ids=model_ids(settings),
        prices=settings.prices,
        terms=terms(settings, kept_in),
        max_total_tokens=settings.max_total_tokens,
        search_tokens=settings.search_tokens,
        earlier_for=lambda exploration: origin_of(
            exploration,
            explorations=kept_in.explorations,
            journals=kept_in.journals,
            reports=kept_in.reports,
            research=research_repository(settings),
        ),
    )


def model_ids(settings: Settings) -> Mapping[str, str]:
    return settings.models if settings.uses_claude else OFFLINE_MODELS


def terms(settings: Settings, kept_in: Stores | None = None) -> "Terms":
    """What is asked of every request here, and with the stores also what they know of its owner."""
    from idea_explorer.usecases.terms import Terms

    return Terms(
        min_deadline_seconds=settings.min_deadline_seconds,
        model_ids=model_ids(settings),
        prices=settings.prices,
        max_cost_usd=settings.max_cost_usd,
        daily_cost_usd=settings.daily_cost_usd,
        spend=kept_in.spend if kept_in else None,
        uploads=kept_in.uploads if kept_in else None,
        code_repositories=settings.allowed_repositories,
        missing=_missing(settings),
    )


def _missing(settings: Settings) -> Mapping[str, str]:
    """The toolsets that cannot run here, each with what an operator does about it."""
    from idea_explorer.wiring_music import missing_for_discover

    missing: dict[str, str] = {}
    if music := missing_for_discover(settings):
        missing["discover"] = music
    if settings.in_cloud and settings.github_repository is None:
        missing["code"] = "An operator sets the deployment's parameter GitHubRepository."
    return missing


def local_queue(settings: Settings) -> "LocalQueue":
    from idea_explorer.adapters.local_queue import LocalQueue

    return LocalQueue(settings.store, system_clock())


def service(settings: Settings, log: Log) -> "Service":
    """What the API answers from: a deployment's services, or this machine's."""
    return cloud_service(settings, log) if settings.in_cloud else local_service(settings, log)


def cloud_service(settings: Settings, log: Log) -> "Service":
    from idea_explorer.adapters.idempotency import KeyedOnce, dynamodb_records

    table = named("TABLE_NAME", settings.table_name)
    once = KeyedOnce(dynamodb_records(table, connect("dynamodb", settings)()))
    kept_in = cloud_stores(settings)
    wake = partial(_answer_token, settings, kept_in.approvals)
    return _service(settings, kept_in, cloud_queue(settings), once, log, wake)


def _answer_token(settings: Settings, approvals: Approvals, exploration: Exploration) -> None:
    """Without a token yet, the workflow has yet to begin its wait, and will see that it need not."""
    from idea_explorer.usecases.waiting import DECIDED

    if token := approvals.token(exploration.id):
        task_answers(settings)(token, DECIDED)


def task_answers(settings: Settings) -> Callable[[str, JsonObject], bool]:
    """Answers tokens. A token names its task, so no workflow has to be known."""
    from idea_explorer.adapters.stepfunctions import StepFunctionsWorkflow

    return StepFunctionsWorkflow("", connect("stepfunctions", settings)).answer


def local_service(settings: Settings, log: Log) -> "Service":
    from idea_explorer.adapters.idempotency import KeyedOnce, SqliteRecords

    once = KeyedOnce(SqliteRecords(settings.store))
    queue = local_queue(settings)
    return _service(
        settings, local_stores(settings), queue, once, log, lambda e: queue.send(e.id, e.run)
    )


def _service(
    settings: Settings,
    kept_in: Stores,
    queue: WorkQueue,
    once: Idempotency,
    log: Log,
    wake: Callable[[Exploration], None],
) -> "Service":
    from idea_explorer import wiring_publishing
    from idea_explorer.observability import LogSink
    from idea_explorer.usecases.notify import Hurried
    from idea_explorer.usecases.service import Service

    return Service(
        explorations=kept_in.explorations,
        events=kept_in.events,
        reports=kept_in.reports,
        queue=queue,
        idempotency=once,
        clock=system_clock(),
        log=log,
        terms=terms(settings, kept_in),
        approvals=kept_in.approvals,
        wake=wake,
        uploads=kept_in.uploads,
        index=partial(wiring_publishing.research_index, settings),
        research=(lambda: None) if settings.in_cloud else partial(research_repository, settings),
        webhooks=lambda: Hurried(wiring_publishing.webhooks(system_clock())),
        repository=settings.published_to,
        branch=settings.published_branch,
        sinks_for=lambda exploration: [LogSink(log, exploration)],
        events_wait_seconds=settings.events_wait_seconds,
        events_poll_seconds=settings.events_poll_seconds,
    )


def api_tokens(settings: Settings) -> Callable[[], str]:
    """The current text of the API tokens secret."""
    name = named("API_TOKENS_SECRET_ID", settings.api_tokens_secret_id)
    return partial(cloud_secrets(settings).get, name)


def operator_secrets(settings: Settings) -> SecretStore:
    from idea_explorer.adapters.operator import OperatorSecrets

    return OperatorSecrets(connect("secretsmanager", settings))


def stack_outputs(settings: Settings, stack: str) -> Mapping[str, str]:
    from idea_explorer.adapters import operator

    return operator.stack_outputs(stack, connect("cloudformation", settings))
