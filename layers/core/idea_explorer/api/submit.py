"""Starting an exploration, or reusing research that exists; finding similar research; file uploads."""

from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from pydantic import ConfigDict, Field

from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.views import ReuseView, SimilarList, SubmissionView, UploadView
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import ExplorerError, UndeliveredError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, Idea, Text
from idea_explorer.domain.similar_research import Similar
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_by_key
from idea_explorer.usecases.notify import API_TIMEOUT_SECONDS, notify
from idea_explorer.usecases.reuse import reuse, similar
from idea_explorer.usecases.submit import enqueue, submit

MAX_KEY = 255


class SimilarQuestion(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    idea: Idea


class FileAnnouncement(DomainModel):
    """A file about to be uploaded: its name, and its size in bytes. PDF, DOCX, XLSX, PPTX, HTML, CSV and
    other text can be read. Its content is checked when an exploration with it is submitted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[Text, Field(min_length=1)]
    size: Annotated[int, Field(ge=0)]


def find_similar(call: ApiCall, deps: Deps) -> ApiResponse:
    question = call.parse_body(SimilarQuestion)
    return ApiResponse(200, SimilarList(similar=similar(question.idea, deps)))


def announce_file(call: ApiCall, deps: Deps) -> ApiResponse:
    file = call.parse_body(FileAnnouncement)
    file_id, upload = deps.uploads.presign(call.owner, file.name, file.size)
    return ApiResponse(201, UploadView(file_id=file_id, upload=asdict(upload)))


def submit_exploration(call: ApiCall, deps: Deps) -> ApiResponse:
    request = call.parse_body(ExploreRequest)
    key = _read_idempotency_key(call)
    if not key:
        return _respond(_reuse_or_start(request, call, deps))

    def accept() -> JsonObject:
        new, stored = find_by_key(key, request, call.owner, deps)
        if stored and not stored.publication.reused:
            return _enqueue(stored, deps)
        return _reuse_or_start(request, call, deps, new)

    sent: JsonObject = request.model_dump(mode="json")
    seconds = max(call.seconds_left, 1)
    return _respond(deps.idempotency().once(call.owner, key, sent, accept, seconds=seconds))


def _respond(body: JsonObject) -> ApiResponse:
    return ApiResponse(200 if "reused" in body else 202, body)


def _reuse_or_start(
    request: ExploreRequest, call: ApiCall, deps: Deps, new: ExplorationId | None = None
) -> JsonObject:
    return _reuse(request, call, deps, new) or _start(request, call, deps, new)


def _reuse(
    request: ExploreRequest, call: ApiCall, deps: Deps, new: ExplorationId | None
) -> JsonObject | None:
    if request.if_exists != "reuse":
        return None
    deps.policy.check_request(request, call.owner)
    found = reuse(request, call.owner, deps, exploration_id=new)
    if found is None:
        return None
    if found.delivery.status == "pending":  # no workflow runs that would send it
        with suppress(UndeliveredError):  # the sweep retries at the time in the record
            notify(found.id, found.run.number, deps, timeout=API_TIMEOUT_SECONDS)
    return ReuseView(id=found.id, reused=found.publication.reused or "").model_dump(mode="json")


def _start(
    request: ExploreRequest, call: ApiCall, deps: Deps, new: ExplorationId | None
) -> JsonObject:
    return _enqueue(submit(request, call.owner, deps, exploration_id=new), deps)


def _enqueue(exploration: Exploration, deps: Deps) -> JsonObject:
    """Safe to repeat when an earlier call may have enqueued it: workers start a run once."""
    if exploration.status == "queued":
        enqueue(exploration, deps)
    found = _find_similar(exploration.request, deps)
    return SubmissionView(id=exploration.id, similar=found).model_dump(mode="json")


def _find_similar(request: ExploreRequest, deps: Deps) -> list[Similar] | None:
    """None if the index cannot be read: a submission does not fail for that."""
    if not request.spec.publishes_documents:
        return None
    try:
        return similar(request.idea, deps)
    except ExplorerError as error:
        deps.log.warning("similar_unknown", error=type(error).__name__)
        return None


def _read_idempotency_key(call: ApiCall) -> str:
    key = call.header("idempotency-key")
    if "idempotency-key" in call.headers and not (
        0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()
    ):
        rule = f"must be 1 to {MAX_KEY} printable ASCII characters"
        raise RequestError(422, f"'Idempotency-Key': {rule}", {"Idempotency-Key": rule})
    return key
