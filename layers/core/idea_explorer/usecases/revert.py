"""Undo what an exploration wrote: by a pull request, or in the folder that it wrote to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from idea_explorer.domain.errors import ConflictError, MissingError
from idea_explorer.domain.exploration import FINAL, Exploration, Status
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import Approvals, Journals, Restorer, Reverter, Tree, Undone
from idea_explorer.usecases.undoing import Plan, undo_changes, undo_research, written_changes


def revert(
    exploration: Exploration,
    *,
    journals: Journals,
    approvals: Approvals,
    reverter_for: Callable[[Exploration], Reverter],
    restorer: Restorer,
) -> Undone:
    """Undo all of it or nothing, once however often it is called.

    Raises ConflictError where it may still write, or where somebody else has changed one of its files
    since, and MissingError where it wrote nothing.
    """
    if _is_on_github(exploration):
        reverter = reverter_for(exploration)
        return revert_published(
            exploration.id, exploration.status, reverter, since=exploration.created_at
        )
    _check_ended(exploration.id, exploration.status)
    entries = journals.open(exploration.id, exploration.lease).entries
    return _restored(exploration, entries, approvals, restorer)


def revert_published(
    exploration_id: ExplorationId, status: Status, reverter: Reverter, *, since: datetime
) -> Undone:
    """The same for one that wrote to GitHub, of which no more has to be known than this."""
    _check_ended(exploration_id, status)
    return reverter.propose_revert(exploration_id, since=since)


def _check_ended(exploration_id: ExplorationId, status: Status) -> None:
    if status not in FINAL:
        raise ConflictError(
            f"Exploration {exploration_id} is {status}, so it may still write.",
            hint="Cancel it, or wait for its end.",
        )


def _is_on_github(exploration: Exploration) -> bool:
    """Whether it was GitHub that the exploration read and wrote, whatever is set up now."""
    return bool(exploration.base_commit or exploration.url)


def _restored(
    exploration: Exploration, entries: Sequence[AnyEntry], approvals: Approvals, restorer: Restorer
) -> Undone:
    if exploration.request.toolset == "code":
        written = written_changes(entries, approvals.approvals(exploration.id))
        named = sorted({approval.proposal.path for approval in written})
        plan: Callable[[Tree], Plan] = partial(undo_changes, written)
    else:
        own = exploration.document if exploration.reused is None else None
        named = [own] if own else []
        plan = partial(undo_research, exploration)
    if not named:
        raise MissingError(f"Exploration {exploration.id} wrote nothing.")
    undone = restorer.restore(exploration.id, plan)
    return undone if undone.is_new else replace(undone, files=named)
