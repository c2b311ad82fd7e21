"""One job of a machine's own queue, from start to final status."""

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.ports import Job, Jobs
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.finish import Outlets, finish, tell_of
from idea_explorer.usecases.settle import OVERTAKEN, Books, settle

ATTEMPTS = 3
PAUSE_SECONDS = 2.0


def work(job: Job, jobs: Jobs, engine: Engine, outlets: Outlets) -> None:
    """Run, publish and tell. Whatever happens, the job is done or due again, and nothing stays running."""
    try:
        ended = explore(job.exploration_id, job.run, engine)
        if ended.status == "awaiting_approval":
            jobs.done(job)  # whoever decides sends it again
            return
        finish(
            ended.id,
            ended.run,
            engine,
            outlets,
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
        tell_of(settled, engine, outlets)
    jobs.done(job)


def books_of(engine: Engine) -> Books:
    return Books(
        explorations=engine.explorations,
        journals=engine.journals,
        reports=engine.reports,
        clock=engine.clock,
        prices=engine.prices,
        sinks_for=engine.sinks_for,
        spend=engine.terms.spend,
    )
