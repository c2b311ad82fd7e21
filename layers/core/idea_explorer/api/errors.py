"""How a failure is answered: `{error: {type, message, details?}}`, and nothing that was sent in."""

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel, ValidationError

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
from idea_explorer.domain.request import invalid_request

MAX_MESSAGE = 2_000
MAX_DETAILS = 50
MAX_NAME = 100  # an unknown field is named back to its sender, but not at any length

TYPES: Mapping[int, str] = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    422: "validation",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
QUOTA_SPENT = "quota_spent"  # 429 too, but trying again in a moment does not help
STATUSES: tuple[tuple[type[ExplorerError], int], ...] = (
    (InvalidRequestError, 422),
    (MissingError, 404),
    (ConflictError, 409),
    (LeaseLostError, 409),
    (RateLimitedError, 429),
    (ExternalError, 503),
)
MESSAGES: Mapping[int, str] = {
    401: "A valid bearer token is needed.",
    500: "Something went wrong here. It was logged.",
    503: "A part of the service is not available. Try again in a moment.",
}


class Detail(BaseModel):
    """What is wrong with one field; the field is empty where it is about the whole."""

    field: str
    message: str


class ErrorBody(BaseModel):
    type: str
    message: str
    details: list[Detail] | None = None


class ErrorAnswer(BaseModel):
    error: ErrorBody


class RequestError(Exception):
    """A request that cannot be answered as asked, with the status that says so."""

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
        self.kind = kind or TYPES[status]
        self.message = message or MESSAGES.get(status, HTTPStatus(status).phrase + ".")
        self.fields = fields or {}

    @property
    def answer(self) -> ErrorAnswer:
        details = [
            Detail(field=name[:MAX_NAME], message=message[:MAX_MESSAGE])
            for name, message in list(self.fields.items())[:MAX_DETAILS]
        ]
        return ErrorAnswer(
            error=ErrorBody(
                type=self.kind,
                message=self.message[:MAX_MESSAGE],
                details=details or None,
            )
        )


def request_error(error: Exception) -> RequestError:
    """The answer to whatever was raised. What is not the caller's doing stays here."""
    match error:
        case RequestError():
            return error
        case InvalidRequestError():
            return RequestError(422, error.sentence, error.fields)
        case ValidationError():
            return invalid_body(error)
        case QuotaSpentError():
            return RequestError(429, error.sentence, kind=QUOTA_SPENT)
        case ExplorerError():
            status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
            return RequestError(status, "" if status in MESSAGES else error.sentence)
        case _:
            return RequestError(500)


def invalid_body(error: ValidationError) -> RequestError:
    """400 where the body is no JSON, else 422 with a sentence for each field."""
    if any(finding["type"] == "json_invalid" for finding in _findings(error)):
        return RequestError(400, "The body is not valid JSON.")
    invalid = invalid_request(error)
    return RequestError(422, invalid.sentence, invalid.fields)


def _findings(error: ValidationError) -> list[Mapping[str, object]]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [dict(finding) for finding in found]
