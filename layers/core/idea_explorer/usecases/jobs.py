"""Run explorations to their final status where there is no workflow: jobs of a queue, and commands."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from idea_explorer.agent.tool_calls import run_in_parallel
from idea_explorer.domain.branches import BranchRun
from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Job, Jobs
from idea_explorer.usecases.approvals.wait import expire
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.notify import notify
from idea_explorer.usecases.publish import publish_with_retry
from idea_explorer.usecases.settle import OVERTAKEN, settle
from idea_explorer.usecases.submit import submit

if TYPE_CHECKING:
    from idea_explorer.domain.queue_messages import QueueMessage

MAX_ATTEMPTS = 3
RETRY_SECONDS = 2.0


def run_job(job: Job, jobs: Jobs, deps: Deps) -> None:
    """Run, publish and notify. Whatever happens, the job is done or due again, and no run stays open."""
    try:
        _check_attempts(job)
        ended = explore_with_branches(job.exploration_id, job.run, deps, explore)
        if ended.status == "awaiting_approval":
            jobs.done(job)  # the decision queues it again
            return
        finish(ended.id, ended.run.number, deps, partial(_log_wait, deps))
    except OVERTAKEN as error:
        deps.log.info("job_overtaken", explorationId=job.exploration_id, reason=str(error))
    except Exception as error:  # noqa: BLE001  no job may stop its worker
        deps.log.warning(
            "job_failed",
            explorationId=job.exploration_id,
            attempt=job.attempts,
            errorType=type(error).__name__,
        )
        known = error if isinstance(error, ExplorerError) else None
        hopeless = known is not None and not known.retryable
        if job.attempts < MAX_ATTEMPTS and not hopeless:
            jobs.put_back(job, delay_seconds=RETRY_SECONDS)
            return
        settled = settle(job.exploration_id, job.run, "broken", deps, error=known)
        send_webhook(settled, deps)
    jobs.done(job)


def _check_attempts(job: Job) -> None:
    """Attempts that end with an error are counted below. The others ended their process."""
    if job.attempts > MAX_ATTEMPTS:
        raise RuntimeError(f"Its process ended in each of {MAX_ATTEMPTS} attempts.")


def _log_wait(deps: Deps, sentence: str) -> None:
    deps.log.warning("publish_waits", reason=sentence)


def finish(
    exploration_id: ExplorationId, run: int, deps: Deps, on_wait: Callable[[str], None]
) -> Exploration:
    """Publish and notify. `on_wait` is given a sentence before each wait."""
    return send_webhook(publish_with_retry(exploration_id, run, deps, on_wait), deps)


def send_webhook(final: Exploration, deps: Deps) -> Exploration:
    """Send the webhook of an exploration that has ended. A failure is logged, not raised."""
    try:
        return notify(final.id, final.run.number, deps)
    except ExplorerError as error:
        kind = type(error).__name__
        deps.log.warning("notify_failed", explorationId=final.id, error=kind)
        return deps.explorations.load(final.id)


def explore_or_settle(
    exploration_id: ExplorationId,
    run: int,
    deps: Deps,
    task: TaskStart | None = None,
    *,
    expired: bool = False,
    branched: bool = False,
) -> Exploration:
    """Explore. An error that no retry can fix, such as a missing key, ends the run here, where its
    sentence is still known. Any other error is raised. `expired`: the time to decide is over;
    `branched`: nobody works on the run's branches any more."""
    try:
        if expired:
            expire(exploration_id, run, deps)
        return explore(exploration_id, run, deps, task, branched=branched)
    except ExplorerError as error:
        if error.retryable or isinstance(error, OVERTAKEN):
            raise
        return settle(exploration_id, run, "broken", deps, error=error)


class _Explore(Protocol):
    def __call__(
        self, exploration_id: ExplorationId, run: int, deps: Deps, /, *, branched: bool = ...
    ) -> Exploration: ...


def explore_with_branches(
    exploration_id: ExplorationId, run: int, deps: Deps, explore: _Explore
) -> Exploration:
    """Explore as the workflow does: where the run has branches, those too, each in a thread of its own,
    and then the run again."""
    reached = explore(exploration_id, run, deps)
    if reached.is_final or not reached.run.branches:
        return reached
    run_in_parallel([partial(_explore_branch, branch, deps) for branch in reached.run.branches])
    return explore(exploration_id, run, deps, branched=True)


def _explore_branch(branch: BranchRun, deps: Deps) -> None:
    """A branch that fails costs its run only the answer to its question."""
    try:
        explore_or_settle(branch.id, branch.run, deps)
    except OVERTAKEN as error:
        deps.log.info("branch_overtaken", explorationId=branch.id, reason=str(error))
    except Exception as error:  # noqa: BLE001  whatever it was, the run goes on without it
        kind = type(error).__name__
        deps.log.warning("branch_failed", explorationId=branch.id, errorType=kind)
        known = error if isinstance(error, ExplorerError) else None
        settle(branch.id, branch.run, "broken", deps, error=known)


def run_queue_message(message: "QueueMessage", deps: Deps) -> Exploration:
    """Run the exploration that a message names or submits. One that has ended stays as it is."""
    deps = replace(deps, retries_webhooks=False)
    from idea_explorer.domain.queue_messages import QUEUE_OWNER, Submission, parse_message

    named = parse_message(message)
    if isinstance(named, Submission):
        exploration = submit(named.request, QUEUE_OWNER, deps, exploration_id=named.id)
    else:
        exploration = deps.explorations.load(named.id)
    if exploration.is_final:
        return exploration
    run = exploration.run.number
    explored = explore_with_branches(exploration.id, run, deps, explore_or_settle)
    if explored.status == "awaiting_approval":
        return explored
    return finish(explored.id, explored.run.number, deps, partial(_log_wait, deps))


def settle_abandoned(
    owner: str,
    deps: Deps,
    is_worked_on: Callable[[Exploration], bool],
    *,
    skip: ExplorationId | None = None,
) -> list[Exploration]:
    """Settle abandoned runs and release their reserved budget. Their text is kept for a resume.

    `skip` is not settled: its caller is about to continue it. Sends no webhooks. Runs that are queued
    for workers are not abandoned.
    """
    now = deps.clock.now()
    queued = deps.explorations.unchanged_since("queued", now)
    begun = deps.explorations.unchanged_since("running", now)
    open_runs = [*(e for e in queued if e.run.by_command), *begun]
    own = [
        e for e in open_runs if e.owner == owner and not e.branch_of
    ]  # a run settles its branches
    lost = [e for e in own if e.id != skip and not is_worked_on(e)]
    return [settle(e.id, e.run.number, "broken", deps) for e in lost]
