"""Go on from the checkpoint of an exploration that ended early."""

from datetime import datetime

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.events import StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.run import RESUMABLE, Status
from idea_explorer.ports import Explorations, Log, WorkQueue
from idea_explorer.usecases.find import find
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.submit import enqueue


def resume(
    exploration_id: str,
    owner: str,
    wanted: ResumeRequest,
    *,
    explorations: Explorations,
    queue: WorkQueue,
    clock: Clock,
    log: Log,
    terms: RequestPolicy,
    by_command: bool = False,
) -> Exploration:
    """Queue the next run. It shares transcript, evidence and meter with the runs before it.

    Calls that resume the same run at once start one: the others get ConflictError, because the limits
    that they ask for are not those of the run that was started. A run is taken from where the call
    found it, so one that was started and has ended again meanwhile is not resumed a second time.
    """
    before = find(exploration_id, owner, explorations)
    if wanted.deadline_seconds is not None:
        terms.check_deadline(wanted.deadline_seconds)
    if before.status in RESUMABLE and not _written_outcome(before):
        terms.check_resume(_with(before, wanted), before)
        terms.check_quota(owner, clock.now())
    now = clock.now()
    queued = explorations.take_over(
        before.id,
        lambda e: _next_run(_same_run(e, before.run.number), wanted, now, by_command),
        lambda was, _: [StatusChanged(from_=was.status, to="queued")],
    )
    enqueue(queued, queue, log)
    return queued


def claim(exploration: Exploration, explorations: Explorations) -> Exploration:
    """Take a run that was left undone, for whoever was first to see it so; raises ConflictError."""

    def unclaimed(current: Exploration) -> Exploration:
        if current.lease != exploration.lease:
            raise ConflictError(f"Exploration {current.id} was taken up by another command.")
        return current

    return explorations.take_over(exploration.id, unclaimed)


def _same_run(exploration: Exploration, run: int) -> Exploration:
    if exploration.run.number != run:
        raise ConflictError(
            f"Exploration {exploration.id} was resumed at the same moment:"
            f" run {exploration.run.number} is {exploration.status}."
        )
    return exploration


def _next_run(
    exploration: Exploration, wanted: ResumeRequest, now: datetime, by_command: bool
) -> Exploration:
    if exploration.status not in RESUMABLE:
        raise ConflictError(
            f"Exploration {exploration.id} is {exploration.status};"
            " only one that is cancelled, failed, partial or timed out can be resumed."
        )
    return exploration.moved(
        "queued",
        at=now,
        run=exploration.run.next(by_command=by_command, outcome=_written_outcome(exploration)),
        request=_with(exploration, wanted),
        cancel_requested=False,
        delivery=exploration.new_delivery,
    )


def _with(exploration: Exploration, wanted: ResumeRequest) -> ExploreRequest:
    return exploration.request.model_copy(update=wanted.model_dump(exclude_none=True))


def _written_outcome(exploration: Exploration) -> Status | None:
    """What the run came to where only publishing it failed or was stopped: then it is published, not
    paid for again."""
    unpublished = exploration.status in {"failed", "cancelled"}
    written = exploration.run.outcome in {"completed", "partial"}
    return exploration.run.outcome if unpublished and written else None
