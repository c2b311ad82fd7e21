"""Builds the dependencies of the use cases: for a deployment, or for this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from idea_explorer.domain.exploration import Exploration
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.wiring import cloud, local, publishing
from idea_explorer.wiring.engine import make_engine, request_policy
from idea_explorer.wiring.toolsets import research_repository, writer_for

if TYPE_CHECKING:
    from idea_explorer.ports import Approvals, EventSink, Log, Spend, Uploads, Webhooks

LONG_POLL_SECONDS = 20.0  # API Gateway ends a call after 29
STREAM_POLL_SECONDS = 0.25  # in a deployment, whose runs store their text twice a second
TEXT_SECONDS = 0.03  # on this machine: shown before anybody notices that it was not there at once


def cloud_deps(settings: Settings, log: Log) -> Deps:
    """The DynamoDB table, the bucket and the services of a deployment. Connects to none of them yet.

    A function without the GitHub secret reads no research: it has the index in the bucket.
    """
    from idea_explorer.adapters.aws.s3 import Bucket
    from idea_explorer.adapters.dynamodb.events import DynamoEventLog, EventNumbers
    from idea_explorer.adapters.dynamodb.explorations import DynamoExplorations
    from idea_explorer.adapters.dynamodb.spend import DynamoSpend
    from idea_explorer.adapters.dynamodb.texts import CloudApprovals, CloudReports, CloudTranscripts
    from idea_explorer.adapters.uploads import CloudUploads

    table = cloud.table(settings)
    bucket = Bucket(cloud.named("BUCKET_NAME", settings.bucket_name), cloud.connect("s3", settings))
    approvals = CloudApprovals(table, bucket)
    uploads = CloudUploads(bucket)
    numbers = EventNumbers(table)
    explorations = DynamoExplorations(table, numbers)
    return _deps(settings, log, DynamoSpend(table), uploads)(
        explorations=explorations,
        admission=explorations.admission,
        has_slots=True,
        transcripts=CloudTranscripts(table, bucket, numbers),
        events=DynamoEventLog(table, numbers),
        stream_slots=cloud.stream_slots(settings) if settings.max_streams else None,
        reports=CloudReports(table, bucket),
        approvals=approvals,
        engine=partial(make_engine, settings, uploads, log),
        queue=partial(cloud.cloud_queue, settings),
        wake=partial(_answer_token, settings, approvals),
        idempotency=cache(partial(cloud.idempotency, settings)),
        research=partial(research_repository, settings) if settings.uses_github else _none,
        publisher=partial(publishing.publisher, settings) if settings.uses_github else _none,
    )


def local_deps(
    settings: Settings, log: Log, sinks: Sequence[EventSink] = (), *, commit: bool = False
) -> Deps:
    """SQLite and files, for a command that runs an exploration itself: it wakes no worker."""
    from idea_explorer.adapters.sqlite.texts import SqliteApprovals

    store = local.local_store(settings)
    uploads = local.local_uploads(settings)
    return _deps(settings, log, store, uploads)(
        policy=replace(request_policy(settings, store, uploads), is_own_machine=True),
        explorations=store,
        admission=store,
        transcripts=store,
        events=store,
        reports=store,
        approvals=SqliteApprovals(settings.store),
        sinks_for=lambda exploration: [
            *_log_sinks(log, exploration),
            *_displays(sinks, exploration),
        ],
        engine=cache(partial(make_engine, settings, uploads, log)),
        queue=partial(local.local_queue, settings),
        wake=_none,
        idempotency=partial(local.idempotency, settings),
        research=partial(research_repository, settings),
        publisher=partial(publishing.publisher, settings, commit=commit),
        writer_for=partial(writer_for, settings),
        retries_webhooks=False,
        text_seconds=TEXT_SECONDS,
    )


def server_deps(settings: Settings, log: Log) -> Deps:
    """The same for `idea serve`, whose workers take runs from a queue and send webhooks again."""
    queue = local.local_queue(settings)
    deps = local_deps(settings, log)
    return replace(
        deps,
        policy=replace(deps.policy, is_own_machine=False),
        queue=lambda: queue,
        wake=lambda exploration: queue.send(exploration.id, exploration.run.number),
        idempotency=cache(partial(local.idempotency, settings)),
        retries_webhooks=True,
    )


def _deps(settings: Settings, log: Log, spend: Spend, uploads: Uploads) -> Callable[..., Deps]:
    """What a deployment and this machine have in common."""
    clock = local.system_clock()
    return partial(
        Deps,
        uploads=uploads,
        clock=clock,
        log=log,
        policy=request_policy(settings, spend, uploads),
        sinks_for=partial(_log_sinks, log),
        workflow=partial(cloud.cloud_workflow, settings),
        index=cache(partial(publishing.research_index, settings)),
        pull_requests_for=partial(publishing.pull_requests_for, settings),
        reverter_for=lambda exploration: publishing.reverter(settings, exploration.request),
        restorer=partial(publishing.restorer, settings),
        webhooks=_public_http,
        notices=partial(cloud.cloud_notices, settings),
        default_webhook=publishing.default_webhook(settings),
        repository=settings.published_to,
        branch=settings.published_branch,
        repository_page=settings.published_to and settings.repository_url(settings.published_to),
        max_running=settings.max_running,
        queued_too_long_seconds=settings.queued_too_long_seconds,
        running_too_long_seconds=settings.running_too_long_seconds,
        events_wait_seconds=_events_wait_seconds(settings),
        events_poll_seconds=settings.events_poll_seconds or _events_poll_seconds(settings),
    )


def _log_sinks(log: Log, exploration: Exploration) -> Sequence[EventSink]:
    from idea_explorer.observability.log_sink import LogSink

    return [LogSink(log, exploration)]


def _displays(sinks: Sequence[EventSink], exploration: Exploration) -> Sequence[EventSink]:
    """Those who watch a run see its branches as parts of it."""
    from idea_explorer.usecases.run_events import BranchSink

    branch = exploration.branch_of
    return [BranchSink(sink, branch.number) for sink in sinks] if branch else sinks


def _events_wait_seconds(settings: Settings) -> float:
    """On Lambda a call that waits occupies an execution; on this machine it costs nothing."""
    if settings.events_wait_seconds is not None:
        return settings.events_wait_seconds
    return 0.0 if settings.on_lambda else LONG_POLL_SECONDS


def _events_poll_seconds(settings: Settings) -> float:
    """Polling a table in the cloud costs money; polling the local database costs nothing."""
    if settings.in_cloud:
        return STREAM_POLL_SECONDS if settings.max_streams else 1.0
    return 0.03


def _answer_token(settings: Settings, approvals: Approvals, exploration: Exploration) -> None:
    """Without a token the workflow has not begun to wait; when it does, it sees that it need not."""
    if token := approvals.token(exploration.id):
        cloud.answer_token(settings, token, {"status": "decided"})


def _public_http() -> Webhooks:
    from idea_explorer.adapters.http.public import PublicHttp

    return PublicHttp(local.system_clock())


def _none(*_: object) -> None:
    return None
