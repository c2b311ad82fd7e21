"""Resume an exploration that ended early from its last checkpoint."""

from datetime import datetime

from idea_explorer.agent.state import State
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.events import StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import NO_MODEL, SET_KEY
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.run import RESUMABLE, Status
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable
from idea_explorer.usecases.submit import enqueue


def resume(
    exploration_id: str,
    owner: str,
    wanted: ResumeRequest,
    deps: Deps,
    *,
    by_command: bool = False,
) -> Exploration:
    """Queue the next run. It continues the transcript, evidence and costs of the runs before it.

    Of calls that resume the same run at once, one starts the next run. The others raise ConflictError,
    because the run was not started with their limits; so does a call whose run was resumed and has
    ended again meanwhile. With `by_command` the caller runs it itself, and nothing is queued.
    """
    before, now = find_readable(exploration_id, owner, deps), deps.clock.now()
    if wanted.deadline_seconds is not None:
        deps.policy.check_deadline(wanted.deadline_seconds)
    if before.status in RESUMABLE and not _written_outcome(before):
        _check_model(before, deps)
        deps.policy.check_resume(_with_limits(before, wanted), before)
        deps.policy.check_quota(owner, now)
    queued = deps.explorations.take_over(
        before.id,
        lambda e: _next_run(_same_run(e, before.run.number), wanted, now, by_command),
        lambda was, _: [StatusChanged(from_=was.status, to="queued")],
    )
    if not by_command:
        enqueue(queued, deps)
    return queued


def claim(exploration: Exploration, deps: Deps) -> Exploration:
    """Take over an abandoned run. Raises ConflictError where another command was first."""
    deps.policy.check_access(exploration)
    deadline = exploration.run.deadline_at
    is_late = deadline is not None and deps.clock.now() >= deadline
    if not (exploration.cancel_requested or exploration.run.outcome or is_late):
        _check_model(exploration, deps)  # else no model is called

    def unclaimed(current: Exploration) -> Exploration:
        if current.lease != exploration.lease:
            raise ConflictError(f"Exploration {current.id} was taken up by another command.")
        if current.is_final:  # ended by whom this command still found at work
            raise ConflictError(
                f"Exploration {current.id} has ended meanwhile: it is {current.status}."
            )
        return current

    return deps.explorations.take_over(exploration.id, unclaimed)


def _check_model(exploration: Exploration, deps: Deps) -> None:
    """What a model began, only a model goes on with: the offline one would replace its report."""
    if deps.policy.model_ids.get(exploration.request.model) != OFFLINE:
        return
    entries = deps.transcripts.open(exploration.id, exploration.lease).entries
    if entries and State(entries).opening.model_id != OFFLINE:
        raise ConflictError(NO_MODEL, hint=SET_KEY)


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
        request=_with_limits(exploration, wanted),
        cancel_requested=False,
        delivery=exploration.new_delivery,
    )


def _with_limits(exploration: Exploration, wanted: ResumeRequest) -> ExploreRequest:
    return exploration.request.model_copy(update=wanted.model_dump(exclude_none=True))


def _written_outcome(exploration: Exploration) -> Status | None:
    """The outcome of a run of which only publishing failed or was stopped: the next run then publishes
    it, without paying for it again."""
    unpublished = exploration.status in {"failed", "cancelled"}
    written = exploration.run.outcome in {"completed", "partial"}
    return exploration.run.outcome if unpublished and written else None
