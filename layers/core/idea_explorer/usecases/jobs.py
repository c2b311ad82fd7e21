"""One job of a machine's own queue, from start to final status."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.message import QUEUE_OWNER, Message, Submission, parse_message
from idea_explorer.ports import Job, Jobs
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.finish import finish, send_webhook
from idea_explorer.usecases.settle import OVERTAKEN, settle
from idea_explorer.usecases.submit import submit

ATTEMPTS = 3
PAUSE_SECONDS = 2.0


def run_job(job: Job, jobs: Jobs, deps: Deps) -> None:
    """Run, publish and tell. Whatever happens, the job is done or due again, and nothing stays running."""
    try:
        ended = explore(job.exploration_id, job.run, deps)
        if ended.status == "awaiting_approval":
            jobs.done(job)  # whoever decides sends it again
            return
        finish(ended.id, ended.run.number, deps, partial(_log_wait, deps))
    except OVERTAKEN as error:
        deps.log.info("job_overtaken", explorationId=job.exploration_id, reason=str(error))
    except Exception as error:  # noqa: BLE001  a worker outlives whatever a job does
        deps.log.warning(
            "job_failed",
            explorationId=job.exploration_id,
            attempt=job.attempts,
            errorType=type(error).__name__,
        )
        known = error if isinstance(error, ExplorerError) else None
        hopeless = known is not None and not known.retryable
        if job.attempts < ATTEMPTS and not hopeless:
            jobs.put_back(job, delay_seconds=PAUSE_SECONDS)
            return
        settled = settle(job.exploration_id, job.run, "broken", deps, error=known)
        send_webhook(settled, deps)
    jobs.done(job)


def _log_wait(deps: Deps, sentence: str) -> None:
    deps.log.warning("publish_waits", reason=sentence)


def explore_or_settle(exploration_id: ExplorationId, run: int, deps: Deps) -> Exploration:
    """Explore. What no other attempt can cure, such as a key that was never set, ends the run here,
    where the sentence that says what to do is still known; everything else is raised."""
    try:
        return explore(exploration_id, run, deps)
    except ExplorerError as error:
        if error.retryable or isinstance(error, OVERTAKEN):
            raise
        return settle(exploration_id, run, "broken", deps, error=error)


def run_queue_message(message: Message, deps: Deps) -> Exploration:
    """Run the one exploration that a message names or asks for; one that has ended stays as it is."""
    deps = replace(deps, retries_webhooks=False)
    named = parse_message(message)
    if isinstance(named, Submission):
        exploration = submit(named.request, QUEUE_OWNER, deps, exploration_id=named.id)
    else:
        exploration = deps.explorations.load(named.id)
    if exploration.is_final:
        return exploration
    explored = explore_or_settle(exploration.id, exploration.run.number, deps)
    if explored.status == "awaiting_approval":
        return explored
    return finish(explored.id, explored.run.number, deps, partial(_log_wait, deps))


def settle_abandoned(
    owner: str,
    deps: Deps,
    is_worked_on: Callable[[Exploration], bool],
    *,
    but: ExplorationId | None = None,
) -> list[Exploration]:
    """Give each run that nobody works on any more its end, and its owner back what was held for it.

    What was there is kept, and a resume goes on from it. `but` is about to be taken up as it is. Who
    asked for a webhook has yet to be told. What is queued for the workers is theirs to begin.
    """
    now = deps.clock.now()
    queued = deps.explorations.unchanged_since("queued", now)
    begun = deps.explorations.unchanged_since("running", now)
    open_runs = [*(e for e in queued if e.run.by_command), *begun]
    lost = [e for e in open_runs if e.owner == owner and e.id != but and not is_worked_on(e)]
    return [settle(e.id, e.run.number, "broken", deps) for e in lost]
