"""What `sam local` has no part for: Step Functions, Secrets Manager, and whoever works before a function.

Nothing here is used in a deployment. `sam local` sets AWS_SAM_LOCAL; Lambda does not.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from idea_explorer.domain.ids import ExplorationId
    from idea_explorer.domain.json import JsonObject
    from idea_explorer.domain.queue_messages import QueueMessage
    from idea_explorer.lambda_runtime.handlers import Work
    from idea_explorer.ports import Jobs, Log
    from idea_explorer.usecases.deps import Deps

TOKEN = "local"  # noqa: S105  only this machine reaches it  # nosec B105
OWNER = "local"
IDEA = "A subscription box for urban beekeepers"
WORKERS = 2


def is_sam_local() -> bool:
    return os.environ.get("AWS_SAM_LOCAL") == "true"


class LocalTokens:
    """The API tokens, in place of their secret: the one that IDEA_API_TOKEN sets."""

    def read(self) -> str:
        from datetime import UTC, datetime

        from idea_explorer.domain.tokens import dump_tokens, make_token_record

        token = os.environ.get("IDEA_API_TOKEN") or TOKEN
        return dump_tokens([make_token_record(token, OWNER, now=datetime.now(UTC))])

    reread = read


def replace_services(deps: Deps, log: Log) -> Deps:
    """Dependencies that log what a deployment would start, because nothing here could start it."""
    calls = _LoggedCalls(log)
    return replace(deps, workflow=lambda: calls, notices=lambda: calls)


@dataclass(frozen=True)
class _LoggedCalls:
    log: Log

    def is_running(self, exploration_id: ExplorationId, run: int) -> bool:
        return True

    def start(self, exploration_id: ExplorationId, run: int, deadline_seconds: int) -> bool:
        self.log.info(
            "execution_not_started",
            explorationId=exploration_id,
            run=run,
            deadlineSeconds=deadline_seconds,
        )
        return True

    def ask(self, exploration_id: ExplorationId, run: int) -> None:
        self.log.info("webhook_not_requested", explorationId=exploration_id, run=run)


def run_message(message: QueueMessage, deps: Deps) -> JsonObject:
    """Run what a message submits, to its end. The answer has the report, because the container is removed
    with all that it wrote."""
    from idea_explorer.domain.errors import MissingError
    from idea_explorer.usecases.jobs import run_queue_message

    final = run_queue_message(message, deps)
    try:
        report = deps.reports.load_report(final.id)
    except MissingError:
        report = None
    return {
        "id": final.id,
        "status": final.status,
        "path": final.publication.path,
        "report": report,
    }


def submit_sample(work: Work, deps: Deps) -> None:
    """Store a sample exploration under the id that an event names. Each container starts without any."""
    from idea_explorer.domain.queue_messages import QUEUE_OWNER
    from idea_explorer.domain.request import ExploreRequest
    from idea_explorer.usecases.submit import submit

    submit(ExploreRequest(idea=IDEA), QUEUE_OWNER, deps, exploration_id=work.id)


def explore_sample(work: Work, deps: Deps) -> None:
    """Bring the sample to where the publish function is called."""
    from idea_explorer.usecases.jobs import explore_or_settle

    submit_sample(work, deps)
    explore_or_settle(work.id, work.run, deps)


def publish_sample(work: Work, deps: Deps) -> None:
    """Bring the sample to where the notify function is called."""
    from idea_explorer.usecases.publish import publish

    explore_sample(work, deps)
    publish(work.id, work.run, deps)


def start_workers(deps: Deps, jobs: Jobs) -> None:
    """Run what the API puts into the queue, in threads of its own process: nobody else would.

    They go on between calls, because `sam local` does not freeze a container that it keeps warm.
    """
    from idea_explorer.usecases.jobs import run_job
    from idea_explorer.usecases.workers import Workers

    Workers(jobs, lambda job: run_job(job, jobs, deps), lambda: None, WORKERS, deps.log).start()
