"""Store a request as a queued exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idea_explorer.domain.errors import (
    ExplorerError,
    ExternalError,
    InvalidRequestError,
    MissingError,
)
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable, inherit_from

if TYPE_CHECKING:
    from idea_explorer.ports import ResearchIndex, ResearchRepository


def submit(
    request: ExploreRequest,
    owner: str,
    deps: Deps,
    *,
    exploration_id: ExplorationId | None = None,
    by_command: bool = False,
    failure: ExplorerError | None = None,
) -> Exploration:
    """Store the request. Where the id is taken, returns what is stored under it, unchanged.

    With `by_command` the caller runs it itself, and no worker may. With `failure` it has failed from the
    beginning, and nobody runs it.
    """
    deps.policy.check(request, owner, deps.clock.now())
    parent = _parent(request, owner, deps)
    if parent:
        request = inherit_from(parent, request)
        deps.policy.check_repository(request)
    exploration = Exploration.new(
        request,
        owner,
        at=deps.clock.now(),
        exploration_id=exploration_id,
        conversation_id=parent.conversation_id if parent else None,
        by_command=by_command,
        default_webhook=deps.policy.default_webhook,
    )
    if failure:
        return _store_failed(exploration, failure, deps)
    is_new = deps.explorations.create(exploration)
    return exploration if is_new else deps.explorations.load(exploration.id)


def _store_failed(queued: Exploration, error: ExplorerError, deps: Deps) -> Exploration:
    from idea_explorer.usecases.run_events import emit_end, end_events  # few requests fail so early

    receipt = Receipt.of(queued.id, error.code, error.sentence)
    failed = queued.finished("failed", at=queued.created_at, receipt=receipt)
    events = end_events(queued, failed, ErrorEvent(code=error.code, message=error.sentence))
    if not deps.explorations.create(failed, events):
        return deps.explorations.load(queued.id)
    emit_end(failed, events, deps.sinks_for(failed))
    return failed


def _parent(request: ExploreRequest, owner: str, deps: Deps) -> Exploration | None:
    """The exploration that `continue_from` names; raises InvalidRequestError where it cannot be continued."""
    if request.continue_from is None:
        return None
    try:
        earlier = find_readable(request.continue_from, owner, deps)
    except MissingError as error:
        # the store of this machine may be new, and the document still in the repository
        research = deps.research() if request.spec.follow_up == "document" else None
        if research and _may_hold(request.continue_from, research, deps.index()):
            return None
        raise _invalid("continue_from", "there is no such exploration") from error
    if earlier.request.toolset != request.toolset:
        toolset = earlier.request.toolset
        raise _invalid("continue_from", f"it is an exploration of the toolset {toolset}")
    if not earlier.is_final:
        raise _invalid("continue_from", f"it is still {earlier.status}")
    if earlier.run.stats.steps == 0 and not earlier.publication.reused:
        raise _invalid("continue_from", "it ended before its first step")
    receipt = earlier.run.receipt
    if request.spec.follow_up == "document" and receipt and not receipt.has_partial_text:
        raise _invalid("continue_from", "it has no report to build on")
    return earlier


def _may_hold(exploration_id: str, research: ResearchRepository, index: ResearchIndex) -> bool:
    """True also if the repository cannot be read now: the run looks again before it spends anything."""
    from idea_explorer.usecases.continuation import document_of  # few requests continue another

    try:
        return document_of(exploration_id, research, index) is not None
    except ExternalError:
        return True


def _invalid(field: str, rule: str) -> InvalidRequestError:
    return InvalidRequestError(f"'{field}': {rule}", fields={field: rule})


def enqueue(exploration: Exploration, deps: Deps) -> None:
    """Announce a change of the run to those who start runs. If that fails, the sweep makes up for it."""
    try:
        deps.queue().send(exploration.id, exploration.run.number)
    except ExternalError as error:
        deps.log.warning("enqueue_failed", explorationId=exploration.id, error=error.sentence)
