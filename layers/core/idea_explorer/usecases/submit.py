"""Take a request and store it as a queued exploration."""

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ExternalError, InvalidRequestError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Explorations, Log, ResearchRepository, WorkQueue
from idea_explorer.usecases.continuation import document_of
from idea_explorer.usecases.find import find
from idea_explorer.usecases.inheritance import inherited
from idea_explorer.usecases.request_policy import RequestPolicy


def submit(
    request: ExploreRequest,
    owner: str,
    explorations: Explorations,
    clock: Clock,
    *,
    terms: RequestPolicy,
    exploration_id: ExplorationId | None = None,
    research: ResearchRepository | None = None,
    by_command: bool = False,
) -> Exploration:
    """Store the request; an id that is taken answers with what is stored under it, unchanged.

    `research` is where a document to continue from is looked for if the store does not know it.
    What is asked for `by_command` is done by whoever asks, and left alone by the workers.
    """
    terms.check(request, owner, clock.now())
    parent = _parent(request, owner, explorations, research)
    if parent:
        request = inherited(request, parent)
        terms.check_repository(request)
    exploration = Exploration.new(
        request,
        owner,
        at=clock.now(),
        exploration_id=exploration_id,
        conversation_id=parent.conversation_id if parent else None,
        by_command=by_command,
        default_webhook=terms.default_webhook,
    )
    return exploration if explorations.create(exploration) else explorations.load(exploration.id)


def _parent(
    request: ExploreRequest,
    owner: str,
    explorations: Explorations,
    research: ResearchRepository | None,
) -> Exploration | None:
    """The exploration that `continue_from` names; raises where there is nothing to go on from."""
    if request.continue_from is None:
        return None
    try:
        earlier = find(request.continue_from, owner, explorations)
    except MissingError as error:
        # on a machine whose store is new, the repository may still hold the document
        from_document = request.spec.follow_up == "document"
        if from_document and research and _may_hold(request.continue_from, research):
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


def _may_hold(exploration_id: str, research: ResearchRepository) -> bool:
    """Also where it cannot be read now: a run looks again before it spends anything."""
    try:
        return document_of(exploration_id, research) is not None
    except ExternalError:
        return True


def _invalid(field: str, rule: str) -> InvalidRequestError:
    return InvalidRequestError(f"'{field}': {rule}", fields={field: rule})


def enqueue(exploration: Exploration, queue: WorkQueue, log: Log) -> None:
    """Send the run to the queue. A queue that fails loses nothing: the sweep sends it later."""
    try:
        queue.send(exploration.id, exploration.run.number)
    except ExternalError as error:
        log.warning("enqueue_failed", explorationId=exploration.id, error=type(error).__name__)
