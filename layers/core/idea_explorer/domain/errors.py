"""Everything that can go wrong, and whether trying again helps.

ExplorerError
├── InvalidRequestError        the caller sent something that cannot be run; says what to change
│   └── KeyTakenError          an Idempotency-Key that stands for another request
├── MissingError               no such exploration, file or document
├── ConflictError              right request, wrong moment (status, second decision, moved base)
│   ├── InvalidTransitionError
│   └── NoFreeSlotError        as many explorations run as may, or starting is paused
├── BaseMovedError             a proposal's file has changed since; nothing was written
├── QuotaSpentError            the owner's budget for today is spent
├── LeaseLostError             another worker took over; stop and write nothing more
├── ConfigurationError         the deployment or machine lacks something; says how to set it
│   └── InvalidSettingError    a variable of the environment that holds what it cannot
├── RefusedError               the model declined; never retried
├── EmptyReportError           the model ended without a word to publish
├── IncompleteReportError      a report without what its framework asks for
├── UnreadableFileError        a file of a kind that is not read, encrypted, damaged or too large
├── ToolError                  goes back to the model as data; the run goes on
└── ExternalError              another system failed
    ├── NetworkError           refused, reset, DNS                       retryable
    │   └── UnreachableError   no connection came about: nothing was sent
    ├── UpstreamTimeoutError   no answer in time                         retryable
    │   └── TimeSpentError     all the time allowed is gone: another try would have none
    ├── RateLimitedError       429 and secondary limits, retry_after     retryable
    ├── UnavailableError       5xx, overloaded                           retryable
    ├── OutOfReachError        one of these that did not pass while there was time to wait
    ├── AuthFailedError        401, 403
    │   └── ModelRefusesError  the model's provider does not take the key
    ├── RejectedError          400, 413, 422: the same call will fail again
    │   └── TooLongError       a conversation that does not fit the model's context window
    ├── UpstreamConflictError  409: what we built on has changed, or is not there yet
    ├── UndeliveredError       a webhook's receiver is down; it is tried again later  retryable
    ├── WebError               a URL of a user or a model that cannot be used
    │   ├── BlockedAddressError  UnsupportedContentError  ResponseTooLargeError  TooManyRedirectsError
    │   └── HttpError          any other status, broken TLS, no HTTP at all
    └── DocumentError          a stored document that cannot be read
        ├── DocumentMissingError  NotADocumentError  SizeUnknownError  DocumentTooLargeError
        └── ContentMismatchError  the bytes are not those of the announced hash
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal

ErrorCode = Literal[
    "AI_SERVICE_UNAVAILABLE",
    "GITHUB_UNAVAILABLE",
    "SERVICE_UNAVAILABLE",
    "CANCELLED",
    "RATE_LIMITED",
    "TIMEOUT",
    "BUDGET_EXCEEDED",
    "NOT_FOUND",
    "VALIDATION_ERROR",
    "INTERNAL_ERROR",
]


class ExplorerError(Exception):
    """One sentence that says what happened; `hint` says what to do about it."""

    retryable: ClassVar[bool] = False
    code: ErrorCode = "INTERNAL_ERROR"

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(self.sentence)

    @property
    def sentence(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InvalidRequestError(ExplorerError):
    code: ErrorCode = "VALIDATION_ERROR"

    def __init__(
        self, message: str, *, hint: str = "", fields: dict[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.fields = fields or {}


class KeyTakenError(InvalidRequestError):
    def __init__(self) -> None:
        rule = "was used before with another request"
        super().__init__(f"'Idempotency-Key': {rule}", fields={"Idempotency-Key": rule})


class MissingError(ExplorerError):
    code: ErrorCode = "NOT_FOUND"


class ConflictError(ExplorerError):
    code: ErrorCode = "VALIDATION_ERROR"


class InvalidTransitionError(ConflictError): ...


class NoFreeSlotError(ConflictError): ...


class UnreadableRecordError(ConflictError):
    """`fields` are those that only the version which stored the record knows how to read."""

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__(
            "This exploration was stored by another version of Idea Explorer, and this one cannot read its"
            f" {', '.join(fields)}.",
            hint="Use the version that stored it.",
        )


class BaseMovedError(ExplorerError): ...


class QuotaSpentError(ExplorerError):
    code: ErrorCode = "BUDGET_EXCEEDED"


class LeaseLostError(ExplorerError): ...


class ConfigurationError(ExplorerError): ...


class InvalidSettingError(ConfigurationError):
    """`variables` has what is wrong with each; no value is repeated."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name} {rule}" for name, rule in variables.items()) + ".")
        self.variables = variables


class RefusedError(ExplorerError): ...


class EmptyReportError(ExplorerError): ...


class IncompleteReportError(ExplorerError):
    def __init__(self, gaps: Sequence[str]) -> None:
        super().__init__(
            f"The report lacks what its framework asks for: {', '.join(gaps)}.",
            hint="Resume it to have that written.",
        )


class UnreadableFileError(ExplorerError):
    """`reason` goes on a sentence that begins with the file: `is encrypted`."""

    code: ErrorCode = "VALIDATION_ERROR"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The file {reason}.")
        self.reason = reason


class ToolError(ExplorerError):
    """A failed tool call. `transient` marks failures that one more try may cure, `retry_after` so many
    seconds later."""

    def __init__(
        self,
        error_type: str,
        message: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.transient = transient
        self.retry_after = retry_after


class ExternalError(ExplorerError):
    code: ErrorCode = "INTERNAL_ERROR"  # an adapter names its system, by name_system
    error_type: ClassVar[str] = "internal_error"
    retry_after: float | None = None  # the seconds that the other system asks us to wait


@contextmanager
def name_system(code: ErrorCode) -> Iterator[None]:
    """Let the code of whatever fails in here say which system it was."""
    try:
        yield
    except ExternalError as error:
        if error.code in {"INTERNAL_ERROR", "SERVICE_UNAVAILABLE"}:
            error.code = code
        raise


class NetworkError(ExternalError):
    retryable = True
    code: ErrorCode = "SERVICE_UNAVAILABLE"
    error_type = "network_error"


class UnreachableError(NetworkError): ...


class UpstreamTimeoutError(ExternalError):
    retryable = True
    code: ErrorCode = "TIMEOUT"
    error_type = "timeout"


class TimeSpentError(UpstreamTimeoutError):
    retryable = False


class RateLimitedError(ExternalError):
    retryable = True
    code: ErrorCode = "RATE_LIMITED"
    error_type = "rate_limited"

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class UnavailableError(ExternalError):
    retryable = True
    code: ErrorCode = "SERVICE_UNAVAILABLE"
    error_type = "service_unavailable"


class OutOfReachError(ExternalError):
    def __init__(self, error: ExternalError) -> None:
        super().__init__(error.message, hint=error.hint)
        self.code = error.code


class AuthFailedError(ExternalError):
    code: ErrorCode = "SERVICE_UNAVAILABLE"
    error_type = "auth_failed"


class ModelRefusesError(AuthFailedError): ...


class RejectedError(ExternalError):
    code: ErrorCode = "VALIDATION_ERROR"


class TooLongError(RejectedError): ...


class UpstreamConflictError(ExternalError): ...


class UndeliveredError(ExternalError):
    retryable = True


class WebError(ExternalError):
    code: ErrorCode = "VALIDATION_ERROR"


class BlockedAddressError(WebError):
    error_type = "blocked_address"


class UnsupportedContentError(WebError):
    error_type = "unsupported_content_type"


class ResponseTooLargeError(WebError):
    error_type = "response_too_large"


class TooManyRedirectsError(WebError):
    error_type = "too_many_redirects"


class HttpError(WebError):
    error_type = "http_error"

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class DocumentError(ExternalError):
    code: ErrorCode = "NOT_FOUND"


class DocumentMissingError(DocumentError): ...


class NotADocumentError(DocumentError): ...


class NotTextError(DocumentError): ...


class SizeUnknownError(DocumentError): ...


class DocumentTooLargeError(DocumentError): ...


class ContentMismatchError(DocumentError): ...
