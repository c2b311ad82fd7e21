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
from idea_explorer.usecases.idempotency_key import keyed
from idea_explorer.usecases.notify import notify
from idea_explorer.usecases.reuse import reuse, similar
from idea_explorer.usecases.service import Service
from idea_explorer.usecases.submit import enqueue, submit

MAX_KEY = 255


def submit_exploration(call: Call, service: Service) -> Answer:
    request = call.parsed(ExploreRequest)
    key = _idempotency_key(call)
    if not key:
        return _answer(_new(request, call, service))

    def accept() -> JsonObject:
        named = keyed(call.owner, key, request, service.explorations, service.clock)
        if named.stored and not named.stored.publication.reused:
            return _told(named.stored, service)
        return _new(request, call, service, named.id)

    sent: JsonObject = request.model_dump(mode="json")
    seconds = max(call.seconds_left, 1)
    return _answer(service.idempotency.once(call.owner, key, sent, accept, seconds=seconds))


def _answer(body: JsonObject) -> Answer:
    return Answer(200 if "reused" in body else 202, body)


def _new(
    request: ExploreRequest, call: Call, service: Service, new: ExplorationId | None = None
) -> JsonObject:
    return _reused(request, call, service, new) or _accepted(request, call, service, new)


def _reused(
    request: ExploreRequest, call: Call, service: Service, new: ExplorationId | None
) -> JsonObject | None:
    if request.if_exists != "reuse":
        return None
    service.terms.check_request(request, call.owner)
    found = reuse(
        request,
        call.owner,
        explorations=service.explorations,
        reports=service.reports,
        index=service.index(),
        clock=service.clock,
        research=service.research(),
        exploration_id=new,
        sinks_for=service.sinks_for,
        default_webhook=service.terms.default_webhook,
    )
    if found is None:
        return None
    if found.delivery.status == "pending":  # no workflow follows that would tell
        with suppress(UndeliveredError):  # it is tried again later, as the record says
            notify(found.id, found.run.number, service.sender())
    return Reused(id=found.id, reused=found.publication.reused or "").model_dump(mode="json")


def _accepted(
    request: ExploreRequest, call: Call, service: Service, new: ExplorationId | None
) -> JsonObject:
    exploration = submit(
        request,
        call.owner,
        service.explorations,
        service.clock,
        terms=service.terms,
        research=service.research(),
        exploration_id=new,
    )
    return _told(exploration, service)


def _told(exploration: Exploration, service: Service) -> JsonObject:
    """Hand it to the workers, again where nobody knows whether it was: they take a run up once."""
    if exploration.status == "queued":
        enqueue(exploration, service.queue, service.log)
    found = _similar(exploration.request, service)
    return Submitted(id=exploration.id, similar=found).model_dump(mode="json")


def _similar(request: ExploreRequest, service: Service) -> list[Similar] | None:
    """What is similar; null where that cannot be said. Nothing is held up by it."""
    if request.toolset != "research":
        return None
    try:
        return similar(request.idea, service.index())
    except ExplorerError as error:
        service.log.warning("similar_unknown", error=type(error).__name__)
        return None


def _idempotency_key(call: Call) -> str:
    key = call.header("idempotency-key")
    if "idempotency-key" in call.headers and not (
        0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()
    ):
        rule = f"must be 1 to {MAX_KEY} printable ASCII characters"
        raise RequestError(422, f"'Idempotency-Key': {rule}", {"Idempotency-Key": rule})
    return key
