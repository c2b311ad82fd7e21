"""One API call: the request parsed from API Gateway's event, the response, and the error body.

Everything in a request is untrusted except the owner, which the authorizer sets. Error bodies have the
shape `{error: {type, message, details?}}` and never echo a value that was sent in.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    ExternalError,
    InvalidRequestError,
    LeaseLostError,
    MissingError,
    QuotaSpentError,
    RateLimitedError,
)
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import invalid_request

MAX_BODY_BYTES = 262_144  # 256 KB: three times the largest valid request
MAX_DECISION_BYTES = 4_194_304  # an approval may carry an edited file of 1 MB, JSON-escaped
MAX_MESSAGE = 2_000
MAX_DETAILS = 50
MAX_NAME = 100  # an unknown field is named back to its sender, but not at any length

JSON = "application/json"
SECURITY_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
ERROR_TYPES: Mapping[int, str] = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    422: "validation",
    429: "rate_limited",
    431: "headers_too_large",
    500: "internal",
    503: "unavailable",
}
QUOTA_SPENT = "quota_spent"  # also a 429, but retrying in a moment does not help
STATUSES: tuple[tuple[type[ExplorerError], int], ...] = (
    (InvalidRequestError, 422),
    (MissingError, 404),
    (ConflictError, 409),
    (LeaseLostError, 409),
    (RateLimitedError, 429),
    (ExternalError, 503),
)
# used in place of the error's own message, which is for operators
MESSAGES: Mapping[int, str] = {
    401: "This request needs a valid bearer token.",
    500: "Something went wrong on our side. The error was logged.",
    503: "A service we depend on is unavailable. Try again in a moment.",
}

Model = TypeVar("Model", bound=BaseModel)


class FieldError(DomainModel):
    """What is wrong with one field; `field` is empty when the problem is the body as a whole."""

    field: str
    message: str


class ErrorBody(DomainModel):
    type: str
    message: str
    details: list[FieldError] | None = None


class ErrorResponse(DomainModel):
    error: ErrorBody


class RequestError(Exception):
    """A request that is refused, with the HTTP status that says why."""

    def __init__(
        self,
        status: int,
        message: str = "",
        fields: Mapping[str, str] | None = None,
        *,
        kind: str | None = None,
    ):
        super().__init__(message)
        self.status = status
        self.kind = kind or ERROR_TYPES[status]
        self.message = message or MESSAGES.get(status, HTTPStatus(status).phrase + ".")
        self.fields = fields or {}

    def to_response(self) -> ErrorResponse:
        details = [
            FieldError(field=name[:MAX_NAME], message=message[:MAX_MESSAGE])
            for name, message in list(self.fields.items())[:MAX_DETAILS]
        ]
        body = ErrorBody(
            type=self.kind, message=self.message[:MAX_MESSAGE], details=details or None
        )
        return ErrorResponse(error=body)

    @classmethod
    def too_large(cls, max_bytes: int) -> "RequestError":
        return cls(413, f"The body is larger than {max_bytes:,} bytes.")

    @classmethod
    def invalid(cls, error: ValidationError) -> "RequestError":
        """400 if the body is not JSON, else 422 with a message for each field."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        if any(finding["type"] == "json_invalid" for finding in found):
            return cls(400, "The body is not valid JSON.")
        invalid = invalid_request(error)
        return cls(422, invalid.sentence, invalid.fields)

    @classmethod
    def of(cls, error: Exception) -> "RequestError":
        """The response to any exception. Details of our own failures stay in the log."""
        match error:
            case RequestError():
                return error
            case InvalidRequestError():
                return cls(422, error.sentence, error.fields)
            case ValidationError():
                return cls.invalid(error)
            case QuotaSpentError():
                return cls(429, error.sentence, kind=QUOTA_SPENT)
            case ExplorerError():
                status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
                return cls(status, "" if status in MESSAGES else error.sentence)
            case _:
                return cls(500)


@dataclass(frozen=True)
class ApiResponse:
    """The body is a model, a JSON object, or text of the given content type. Only a caller that takes it
    in parts (`ApiCall.streams`) gets an iterator of them."""

    status: int
    body: BaseModel | JsonObject | str | Iterator[str] | None = None
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        match self.body:
            case None:
                return ""
            case str():
                return self.body
            case BaseModel():
                return self.body.model_dump_json(by_alias=True)
            case _:
                return json.dumps(self.body, ensure_ascii=False)


class LambdaContext(Protocol):
    """The part of Lambda's context that the API uses."""

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class ApiCall:
    """`address` is the requested path and `prefix` the part of it before our own paths, such as a
    stage name. Header names are in lower case. Without a valid token the owner is empty."""

    owner: str
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes
    address: str
    prefix: str
    seconds_left: float
    streams: bool = False

    @classmethod
    def from_event(
        cls,
        event: Mapping[str, Any],
        path: Mapping[str, str],
        context: LambdaContext,
        max_body: int,
    ) -> "ApiCall":
        """Raises RequestError 413 or 400 for a body that is too large or cannot be decoded."""
        request = event.get("requestContext") or {}
        owner = (request.get("authorizer") or {}).get("owner")
        address, own = request.get("path") or "", event.get("path") or ""
        has_prefix = own and address.endswith(own)
        return cls(
            owner=owner if isinstance(owner, str) else "",
            path=path,
            query=_parse_query(event),
            headers={str(k).lower(): str(v) for k, v in (event.get("headers") or {}).items()},
            body=_decode_body(event, max_body),
            address=address,
            prefix=address.removesuffix(own) if has_prefix else "",
            seconds_left=context.get_remaining_time_in_millis() / 1_000,
            streams=getattr(context, "streams", False),
        )

    def header(self, name: str) -> str:
        return self.headers.get(name, "").strip()

    def parse_body(self, model: type[Model]) -> Model:
        """Raises RequestError. The body may be empty if every field has a default."""
        is_optional = not any(f.is_required() for f in model.model_fields.values())
        body = b"{}" if is_optional and not self.body.strip() else self.body
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            raise RequestError.invalid(error) from None  # the original quotes what was sent

    def parse_query(self, model: type[Model]) -> Model:
        """Raises RequestError."""
        repeated = [name for name, values in self.query.items() if len(values) > 1]
        if repeated:
            fields = dict.fromkeys(repeated, "must be given once")
            raise RequestError(422, "A parameter is given more than once.", fields)
        try:
            return model.model_validate({name: values[0] for name, values in self.query.items()})
        except ValidationError as error:
            raise RequestError.invalid(error) from None


def _parse_query(event: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    single = {name: [value] for name, value in (event.get("queryStringParameters") or {}).items()}
    return event.get("multiValueQueryStringParameters") or single


def _decode_body(event: Mapping[str, Any], max_bytes: int) -> bytes:
    text = event.get("body") or ""
    if len(text) > 2 * max_bytes:  # base64 makes it a third longer
        raise RequestError.too_large(max_bytes)
    try:
        data = (
            base64.b64decode(text, validate=True) if event.get("isBase64Encoded") else text.encode()
        )
    except (binascii.Error, ValueError) as error:
        raise RequestError(400, "The body cannot be decoded.") from error
    if len(data) > max_bytes:
        raise RequestError.too_large(max_bytes)
    return data
