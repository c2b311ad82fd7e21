"""What the functions of a deployment work with, put together from their environment.

Under `sam local` there is no deployment around: the same functions work with the embedded stores.
"""

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer import wiring
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.lambda_runtime.handlers import log, request_id
from idea_explorer.observability.logging import LogSink
from idea_explorer.ports import EventSink
from idea_explorer.settings import Settings
from idea_explorer.wiring import publishing

if TYPE_CHECKING:
    from idea_explorer.usecases.dispatch import Desk
    from idea_explorer.usecases.engine import Engine
    from idea_explorer.usecases.finish import Destinations
    from idea_explorer.usecases.notify import Sender
    from idea_explorer.usecases.request_policy import RequestPolicy
    from idea_explorer.usecases.service import Service
    from idea_explorer.usecases.settle import Books

START_SECONDS = 3.0  # a cold start, while the Task's clock runs: the engine's must end before it
EMBEDDED = Path(tempfile.gettempdir()) / "idea-explorer"  # all that Lambda lets a function write to

UNREACHABLE = (
    "github_secret_id",
    "anthropic_secret_id",
    "qdrant_secret_id",
    "tidal_secret_id",
    "model_provider",
    "webhook_url",  # what cannot be signed is not sent
    "webhook_secret_id",
)


@cache
def settings() -> Settings:
    found = Settings.from_environment(os.environ)
    return _embedded(found) if found.sam_local else found


def _embedded(found: Settings) -> Settings:
    """A deployment's secrets are not reachable; keys given in the environment are used, if any."""
    EMBEDDED.mkdir(exist_ok=True)
    return found.model_copy(update={"research_dir": EMBEDDED, **dict.fromkeys(UNREACHABLE)})


@cache
def stores() -> wiring.Stores:
    return wiring.stores(settings())


def engine() -> "Engine":
    """Made for each run, so that it has the current secrets."""
    make = wiring.cloud_engine if settings().in_cloud else wiring.local_engine
    made = make(settings(), log(), [])
    return dataclasses.replace(
        made,
        sinks_for=lambda e: [*made.sinks_for(e), _metrics(e)],
        start_seconds=START_SECONDS,
    )


def terms() -> "RequestPolicy":
    return wiring.terms(settings(), stores())


def desk() -> "Desk":
    from idea_explorer.usecases.dispatch import Desk

    return Desk(
        explorations=stores().explorations,
        queue=wiring.cloud_queue(settings()),
        workflow=wiring.cloud_workflow(settings()),
        clock=wiring.system_clock(),
        log=log(),
        max_running=settings().max_running,
        terms=terms(),
        defer_seconds=settings().defer_seconds,
        request_webhook=request_webhook,
        tell=_tell,
        sinks_for=sinks_for,
    )


def service() -> "Service":
    return dataclasses.replace(wiring.service(settings(), log()), sinks_for=sinks_for)


def request_webhook(exploration: Exploration) -> None:
    """For a run that ended outside of its workflow, which would have sent its webhook."""
    from idea_explorer.usecases import notify

    notify.request_webhook(exploration, wiring.cloud_notices(settings()), log())


def _tell(exploration: Exploration) -> None:
    from idea_explorer.usecases import notify

    notify.ask(exploration, wiring.cloud_notices(settings()), log())


def sender() -> "Sender":
    from idea_explorer.usecases.notify import Sender

    return Sender(
        explorations=stores().explorations,
        reports=stores().reports,
        webhooks=publishing.webhooks(wiring.system_clock()),
        clock=wiring.system_clock(),
        repository=settings().published_to,
        branch=settings().published_branch,
        default=publishing.default_webhook(settings()),
    )


def books() -> "Books":
    from idea_explorer.usecases.settle import Books

    return Books(
        explorations=stores().explorations,
        transcripts=stores().transcripts,
        reports=stores().reports,
        clock=wiring.system_clock(),
        prices=settings().prices,
        sinks_for=sinks_for,
        spend=stores().spend,
    )


def wait(exploration_id: ExplorationId, token: str) -> Exploration:
    from idea_explorer.usecases.approvals import wait as usecase

    return usecase.wait(
        exploration_id,
        token,
        explorations=stores().explorations,
        approvals=stores().approvals,
        answer=wiring.task_answers(settings()),
    )


def expire(exploration_id: ExplorationId, run: int) -> None:
    from idea_explorer.usecases.approvals import apply

    apply.expire(
        exploration_id,
        run,
        explorations=stores().explorations,
        approvals=stores().approvals,
        clock=wiring.system_clock(),
    )


def approval_seconds() -> int:
    """How long the workflow waits for a person."""
    return max(1, round(settings().approval_days * 86_400))


def destinations() -> "Destinations":
    """Without a repository a deployment stores its reports only, and the API reads them."""
    return publishing.destinations(settings(), wiring.system_clock())


def sinks_for(exploration: Exploration) -> Sequence[EventSink]:
    return [LogSink(log(), exploration), _metrics(exploration)]


def _metrics(exploration: Exploration) -> EventSink:
    from idea_explorer.observability.metrics import MetricSink

    return MetricSink(exploration, wiring.system_clock(), request_id())
