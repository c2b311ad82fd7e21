"""What the use cases work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.webhook import WebhookTarget
    from idea_explorer.ports import (
        Admission,
        Approvals,
        ChangeWriter,
        Clock,
        EventLog,
        EventSink,
        Explorations,
        Idempotency,
        Log,
        Notices,
        Publisher,
        PullRequests,
        Reports,
        ResearchIndex,
        ResearchRepository,
        Restorer,
        Reverter,
        StreamSlots,
        Transcripts,
        Uploads,
        Webhooks,
        Workflow,
        WorkQueue,
    )
    from idea_explorer.usecases.engine import Engine
    from idea_explorer.usecases.request_policy import RequestPolicy


@dataclass(frozen=True, kw_only=True)
class Deps:
    """The stores and services of a deployment or of this machine.

    A dependency that is slow to load, or that only some functions are configured for, is a callable:
    it is made when it is needed.
    """

    explorations: Explorations
    admission: Admission
    transcripts: Transcripts
    events: EventLog
    reports: Reports
    approvals: Approvals
    uploads: Uploads
    clock: Clock
    log: Log
    policy: RequestPolicy
    sinks_for: Callable[[Exploration], Sequence[EventSink]]

    engine: Callable[[], Engine]  # made for each run, so that it has the current secrets
    queue: Callable[[], WorkQueue]
    workflow: Callable[[], Workflow]
    wake: Callable[[Exploration], None]  # continues a run that waits for decisions; may be repeated
    idempotency: Callable[[], Idempotency]

    research: Callable[[], ResearchRepository | None]
    index: Callable[[], ResearchIndex]
    publisher: Callable[[], Publisher | None]  # None: reports are only stored
    pull_requests_for: Callable[[Exploration], PullRequests | None]
    # writes approved changes as soon as they are; None where only the run itself may write
    writer_for: Callable[[Exploration], ChangeWriter] | None = None
    reverter_for: Callable[[Exploration], Reverter]
    restorer: Callable[[], Restorer]

    webhooks: Callable[[], Webhooks]
    notices: Callable[[], Notices]
    default_webhook: Callable[[], WebhookTarget | None]  # for requests that name none
    retries_webhooks: bool = True  # whether somebody will send those again whose receiver is down
    repository: str | None = None  # where reports are published, as webhooks name it
    branch: str | None = None
    repository_page: str | None = None  # its address on the web

    has_slots: bool = False  # whether a run waits for a free slot before it starts or goes on
    max_running: int = 5  # how many slots there are
    queued_too_long_seconds: int = 900
    running_too_long_seconds: int = 7_200  # longer than any deadline plus all attempts to publish
    stream_slots: StreamSlots | None = None  # None: a stream of events costs nothing here
    events_wait_seconds: float = 20.0  # API Gateway ends a call after 29
    events_poll_seconds: float = 1.0
    text_seconds: float = (
        0.5  # for which text is collected before it is stored: each time costs a write
    )
