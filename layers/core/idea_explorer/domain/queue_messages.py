"""What the queue carries: a new request, or a reference to a stored exploration."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import from_json

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.ids import ExplorationId, id_from_key, is_id
from idea_explorer.domain.request import ExploreRequest, Text, check_id, invalid_request

QUEUE_OWNER = "queue"  # owner of explorations that did not come through the API
SMOKE_OWNER = "smoke"  # owner of the explorations of `idea admin smoke`


class ExplorationReference(DomainModel, extra="forbid", frozen=True, strict=True):
    """A stored exploration. Without a run, its current one."""

    id: Annotated[ExplorationId, AfterValidator(check_id)]
    run: Annotated[int, Field(ge=1)] | None = None


class QueuedRequest(ExploreRequest):
    """A request with an optional key of the sender's: the same key is the same exploration."""

    dedup_key: Annotated[Text, Field(min_length=1, max_length=256)] | None = None

    @property
    def request(self) -> ExploreRequest:
        return ExploreRequest.model_construct(
            **{name: getattr(self, name) for name in ExploreRequest.model_fields}
        )


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A delivery. `receives` counts all deliveries so far, including this one."""

    id: str
    body: str
    receives: int = 1


@dataclass(frozen=True, slots=True)
class Submission:
    id: ExplorationId
    request: ExploreRequest


def parse_message(message: QueueMessage) -> ExplorationReference | Submission:
    """Raises InvalidRequestError."""
    try:
        body = from_json(message.body)
    except ValueError as error:
        raise InvalidRequestError("The message is not JSON.") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("The message is not a JSON object.")
    try:
        if "id" in body:
            return ExplorationReference.model_validate(body)
        queued = QueuedRequest.model_validate_json(message.body)
    except ValidationError as error:
        raise invalid_request(error) from error
    key = queued.dedup_key or message.id
    return Submission(id_from_key(QUEUE_OWNER, key), queued.request)


def find_exploration_id(message: QueueMessage) -> ExplorationId | None:
    """The exploration that a message refers to, even if the rest of it is invalid."""
    try:
        body = from_json(message.body)
    except ValueError:
        return None
    name = body.get("id") if isinstance(body, dict) else None
    return ExplorationId(name) if isinstance(name, str) and is_id(name) else None
