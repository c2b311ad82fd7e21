"""One call of the API, taken from API Gateway's event. Everything in it is untrusted but the owner."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from idea_explorer.api.errors import RequestError, invalid_body

MAX_BODY_BYTES = 262_144  # 256 KB: the largest valid request is a third of it
MAX_DECISION_BYTES = 4_194_304  # who approves another content sends a file of 1 MB, escaped

Model = TypeVar("Model", bound=BaseModel)


class Context(Protocol):
    """What is needed of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class Call:
    """`address` is the path that was asked for, and `prefix` what stands in it before our paths, as a
    stage does. Header names are in lower case."""

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
    event: Mapping[str, Any], path: Mapping[str, str], context: Context, max_body: int
) -> Call:
    """Read the event; raises RequestError 413 and 400 for its body. Who has no token has no owner."""
    request = event.get("requestContext") or {}
    owner = (request.get("authorizer") or {}).get("owner")
    return Call(
        owner=owner if isinstance(owner, str) else "",
        path=path,
        query=_query(event),
        headers={str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()},
        body=_body(event, max_body),
        address=str(request.get("path") or ""),
        prefix=_prefix(str(request.get("path") or ""), str(event.get("path") or "")),
        seconds_left=context.get_remaining_time_in_millis() / 1_000,
    )


def _query(event: Mapping[str, Any]) -> dict[str, list[str]]:
    given = event.get("multiValueQueryStringParameters")
    if given:
        return {
            str(name): [str(value) for value in values or [""]] for name, values in given.items()
        }
    single = event.get("queryStringParameters") or {}
    return {str(name): [str(value)] for name, value in single.items()}


def _body(event: Mapping[str, Any], most: int) -> bytes:
    body = event.get("body")
    text = body if isinstance(body, str) else ""
    if len(text) > 2 * most:  # also where it is base64
        raise too_large(most)
    try:
        data = (
            base64.b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
        )
    except (binascii.Error, ValueError) as error:
        raise RequestError(400, "The body cannot be decoded.") from error
    if len(data) > most:
        raise too_large(most)
    return data


def too_large(most: int) -> RequestError:
    return RequestError(413, f"The body is larger than {most:,} bytes.")


def _prefix(whole: str, path: str) -> str:
    return whole.removesuffix(path) if path and whole.endswith(path) else ""
