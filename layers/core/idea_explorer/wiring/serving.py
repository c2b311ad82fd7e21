"""What the API answers from."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Approvals, Idempotency, Log, WorkQueue
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_queue, connect, named, task_answers
from idea_explorer.wiring.engine import terms
from idea_explorer.wiring.stores import (
    Stores,
    cloud_stores,
    local_queue,
    local_stores,
    system_clock,
)
from idea_explorer.wiring.toolsets import research_repository

if TYPE_CHECKING:
    from idea_explorer.usecases.service import Service


def service(settings: Settings, log: Log) -> "Service":
    """What the API answers from: a deployment's services, or this machine's."""
    return cloud_service(settings, log) if settings.in_cloud else local_service(settings, log)


def cloud_service(settings: Settings, log: Log) -> "Service":
    from idea_explorer.adapters.idempotency import IdempotencyStore, dynamodb_records

    table = named("TABLE_NAME", settings.table_name)
    once = IdempotencyStore(dynamodb_records(table, connect("dynamodb", settings)()))
    kept_in = cloud_stores(settings)
    wake = partial(_answer_token, settings, kept_in.approvals)
    return _service(settings, kept_in, cloud_queue(settings), once, log, wake)


def _answer_token(settings: Settings, approvals: Approvals, exploration: Exploration) -> None:
    """Without a token yet, the workflow has yet to begin its wait, and will see that it need not."""
    from idea_explorer.usecases.approvals.wait import DECIDED

    if token := approvals.token(exploration.id):
        task_answers(settings)(token, DECIDED)


def local_service(settings: Settings, log: Log) -> "Service":
    from idea_explorer.adapters.idempotency import IdempotencyStore, SqliteRecords

    once = IdempotencyStore(SqliteRecords(settings.store))
    queue = local_queue(settings)
    return _service(
        settings, local_stores(settings), queue, once, log, lambda e: queue.send(e.id, e.run.number)
    )


def _service(
    settings: Settings,
    kept_in: Stores,
    queue: WorkQueue,
    once: Idempotency,
    log: Log,
    wake: Callable[[Exploration], None],
) -> "Service":
    from idea_explorer.observability.logging import LogSink
    from idea_explorer.usecases.notify import CappedTimeout
    from idea_explorer.usecases.service import Service
    from idea_explorer.wiring import publishing

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
        index=partial(publishing.research_index, settings),
        research=(lambda: None) if settings.in_cloud else partial(research_repository, settings),
        webhooks=lambda: CappedTimeout(publishing.webhooks(system_clock())),
        repository=settings.published_to,
        branch=settings.published_branch,
        default_webhook=publishing.default_webhook(settings),
        sinks_for=lambda exploration: [LogSink(log, exploration)],
        events_wait_seconds=settings.events_wait_seconds,
        events_poll_seconds=settings.events_poll_seconds or _look_every_seconds(settings),
    )


def _look_every_seconds(settings: Settings) -> float:
    """A look at a table in the cloud is paid for; one at the local database takes no time."""
    return 1.0 if settings.in_cloud else 0.1
