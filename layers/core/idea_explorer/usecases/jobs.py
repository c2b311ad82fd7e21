"""One job of a machine's own queue, from start to final status."""

from collections.abc import Callable

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.message import QUEUE_OWNER, QueueMessage, Submission, parse_message
from idea_explorer.ports import Job, Jobs
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.finish import Destinations, finish, send_webhook
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.settle import OVERTAKEN, Books, settle
from idea_explorer.usecases.submit import submit

ATTEMPTS = 3
PAUSE_SECONDS = 2.0


def work(job: Job, jobs: Jobs, engine: Engine, destinations: Destinations) -> None:
    """Run, publish and tell. Whatever happens, the job is done or due again, and nothing stays running."""
    try:
        ended = explore(job.exploration_id, job.run, engine)
        if ended.status == "awaiting_approval":
            jobs.done(job)  # whoever decides sends it again
            return
        finish(
            ended.id,
            ended.run.number,
            engine,
            destinations,
            lambda sentence: engine.log.warning("publish_waits", reason=sentence),
        )
    except OVERTAKEN as error:
        engine.log.info("job_overtaken", explorationId=job.exploration_id, reason=str(error))
    except Exception as error:  # noqa: BLE001  a worker outlives whatever a job does
        engine.log.warning(
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
        settled = settle(job.exploration_id, job.run, "broken", books_of(engine), error=known)
        send_webhook(settled, engine, destinations)
    jobs.done(job)


def books_of(engine: Engine) -> Books:
    return Books(
        explorations=engine.explorations,
        transcripts=engine.transcripts,
        reports=engine.reports,
        clock=engine.clock,
        prices=engine.prices,
        sinks_for=engine.sinks_for,
        spend=engine.terms.spend,
    )


def explore_or_settle(
    exploration_id: ExplorationId, run: int, engine: Callable[[], Engine], books: Books
) -> Exploration:
    """Explore. What no other attempt can cure, such as a key that was never set, ends the run here,
    where the sentence that says what to do is still known; everything else is raised."""
    try:
        return explore(exploration_id, run, engine())
    except ExplorerError as error:
        if error.retryable or isinstance(error, OVERTAKEN):
            raise
        return settle(exploration_id, run, "broken", books, error=error)


def run_queue_message(
    message: QueueMessage, engine: Engine, destinations: Destinations, terms: RequestPolicy
) -> Exploration:
    """Run the one exploration that a message names or asks for; one that has ended stays as it is."""
    named = parse_message(message)
    if isinstance(named, Submission):
        exploration = submit(
            named.request,
            QUEUE_OWNER,
            engine.explorations,
            engine.clock,
            terms=terms,
            exploration_id=named.id,
        )
    else:
        exploration = engine.explorations.load(named.id)
    if exploration.is_final:
        return exploration
    explored = explore_or_settle(
        exploration.id, exploration.run.number, lambda: engine, books_of(engine)
    )
    if explored.status == "awaiting_approval":
        return explored
    return finish(
        explored.id,
        explored.run.number,
        engine,
        destinations,
        lambda sentence: engine.log.warning("publish_waits", reason=sentence),
    )


def settle_abandoned(
    owner: str,
    engine: Engine,
    is_worked_on: Callable[[Exploration], bool],
    *,
    but: ExplorationId | None = None,
) -> list[Exploration]:
    """Give each run that nobody works on any more its end, and its owner back what was held for it.

    What was there is kept, and a resume goes on from it. `but` is about to be taken up as it is. Who
    asked for a webhook has yet to be told. What is queued for the workers is theirs to begin.
    """
    now = engine.clock.now()
    queued = engine.explorations.unchanged_since("queued", now)
    begun = engine.explorations.unchanged_since("running", now)
    open_runs = [*(e for e in queued if e.run.by_command), *begun]
    lost = [e for e in open_runs if e.owner == owner and e.id != but and not is_worked_on(e)]
    return [settle(e.id, e.run.number, "broken", books_of(engine)) for e in lost]
