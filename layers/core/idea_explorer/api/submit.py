"""The route that starts an exploration, or answers with research that is there already."""

from contextlib import suppress

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.errors import RequestError
from idea_explorer.api.views import Reused, Submitted
from idea_explorer.domain.errors import ExplorerError, UndeliveredError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.similar_research import Similar
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_by_key
from idea_explorer.usecases.notify import API_TIMEOUT_SECONDS, notify
from idea_explorer.usecases.reuse import reuse, similar
from idea_explorer.usecases.submit import enqueue, submit

MAX_KEY = 255


def submit_exploration(call: Call, deps: Deps) -> Answer:
    request = call.parsed(ExploreRequest)
    key = _idempotency_key(call)
    if not key:
        return _answer(_new(request, call, deps))

    def accept() -> JsonObject:
        new, stored = find_by_key(key, request, call.owner, deps)
        if stored and not stored.publication.reused:
            return _told(stored, deps)
        return _new(request, call, deps, new)

    sent: JsonObject = request.model_dump(mode="json")
    seconds = max(call.seconds_left, 1)
    return _answer(deps.idempotency().once(call.owner, key, sent, accept, seconds=seconds))


def _answer(body: JsonObject) -> Answer:
    return Answer(200 if "reused" in body else 202, body)


def _new(
    request: ExploreRequest, call: Call, deps: Deps, new: ExplorationId | None = None
) -> JsonObject:
    return _reused(request, call, deps, new) or _accepted(request, call, deps, new)


def _reused(
    request: ExploreRequest, call: Call, deps: Deps, new: ExplorationId | None
) -> JsonObject | None:
    if request.if_exists != "reuse":
        return None
    deps.policy.check_request(request, call.owner)
    found = reuse(request, call.owner, deps, exploration_id=new)
    if found is None:
        return None
    if found.delivery.status == "pending":  # no workflow follows that would tell
        with suppress(UndeliveredError):  # it is tried again later, as the record says
            notify(found.id, found.run.number, deps, timeout=API_TIMEOUT_SECONDS)
    return Reused(id=found.id, reused=found.publication.reused or "").model_dump(mode="json")


def _accepted(
    request: ExploreRequest, call: Call, deps: Deps, new: ExplorationId | None
) -> JsonObject:
    return _told(submit(request, call.owner, deps, exploration_id=new), deps)


def _told(exploration: Exploration, deps: Deps) -> JsonObject:
    """Hand it to the workers, again where nobody knows whether it was: they take a run up once."""
    if exploration.status == "queued":
        enqueue(exploration, deps)
    found = _similar(exploration.request, deps)
    return Submitted(id=exploration.id, similar=found).model_dump(mode="json")


def _similar(request: ExploreRequest, deps: Deps) -> list[Similar] | None:
    """What is similar; null where that cannot be said. Nothing is held up by it."""
    if request.toolset != "research":
        return None
    try:
        return similar(request.idea, deps)
    except ExplorerError as error:
        deps.log.warning("similar_unknown", error=type(error).__name__)
        return None


def _idempotency_key(call: Call) -> str:
    key = call.header("idempotency-key")
    if "idempotency-key" in call.headers and not (
        0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()
    ):
        rule = f"must be 1 to {MAX_KEY} printable ASCII characters"
        raise RequestError(422, f"'Idempotency-Key': {rule}", {"Idempotency-Key": rule})
    return key
