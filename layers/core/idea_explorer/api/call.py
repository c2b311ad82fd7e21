"""One call of the API, read from API Gateway's event. Everything in it but the owner is untrusted."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from pydantic import BaseModel, ValidationError

from idea_explorer.api.errors import RequestError, invalid_body

MAX_BODY_BYTES = 262_144  # 256 KB: the largest valid request is a third of it
MAX_DECISION_BYTES = 4_194_304  # an approval with changed content carries a file of 1 MB, escaped

Model = TypeVar("Model", bound=BaseModel)


class Context(Protocol):
    """The part of Lambda's context that is used."""

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class Call:
    """`address` is the whole path of the request, and `prefix` the part of it before our route, such as
    the stage. Header names are in lower case."""

    owner: str
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes
    address: str
    prefix: str
    seconds_left: float

    def header(self, name: str) -> str:
        return self.headers.get(name, "").strip()

    def parsed(self, model: type[Model]) -> Model:
        """The body as a model; raises RequestError. An optional body may be left out."""
        body = self.body if self.body.strip() or not _is_optional(model) else b"{}"
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            raise invalid_body(error) from None  # it holds what was sent

    def asked(self, model: type[Model]) -> Model:
        """The query as a model; raises RequestError."""
        repeated = [name for name, values in self.query.items() if len(values) > 1]
        if repeated:
            fields = dict.fromkeys(repeated, "must be given once")
            raise RequestError(422, "A parameter is given more than once.", fields)
        try:
            return model.model_validate({name: values[0] for name, values in self.query.items()})
        except ValidationError as error:
            raise invalid_body(error) from None


def _is_optional(model: type[BaseModel]) -> bool:
    return not any(field.is_required() for field in model.model_fields.values())


def call_from(
    event: APIGatewayProxyEvent, path: Mapping[str, str], context: Context, max_body: int
) -> Call:
    """Read the event; raises RequestError 413 or 400 for its body. Without a token there is no owner."""
    request = event.request_context
    owner = request.authorizer.get("owner")
    whole = request.get("path") or ""
    return Call(
        owner=owner if isinstance(owner, str) else "",
        path=path,
        query=_query(event),
        headers=event.headers,
        body=_body(event, max_body),
        address=whole,
        prefix=_prefix(whole, event.path),
        seconds_left=context.get_remaining_time_in_millis() / 1_000,
    )


def _query(event: APIGatewayProxyEvent) -> Mapping[str, Sequence[str]]:
    """Not `resolved_query_string_parameters`, which splits a value at its commas."""
    single = {name: [value] for name, value in event.query_string_parameters.items()}
    return event.multi_value_query_string_parameters or single


def _body(event: APIGatewayProxyEvent, most: int) -> bytes:
    """Not `decoded_body`, which takes broken base64 and bodies of any size."""
    text = event.body or ""
    if len(text) > 2 * most:  # base64 adds a third
        raise too_large(most)
    try:
        data = base64.b64decode(text, validate=True) if event.is_base64_encoded else text.encode()
    except (binascii.Error, ValueError) as error:
        raise RequestError(400, "The body cannot be decoded.") from error
    if len(data) > most:
        raise too_large(most)
    return data


def too_large(most: int) -> RequestError:
    return RequestError(413, f"The body is larger than {most:,} bytes.")


def _prefix(whole: str, path: str) -> str:
    return whole.removesuffix(path) if path and whole.endswith(path) else ""
