"""What can go wrong with an answer, as values: `http_error(529)`, `cut(after=3)`, `hang()`.

A fault stands alone in a script, or on an answer that it interrupts: `answer(..., fault=cut(3))`.
`after` counts the stream events that are still sent; `times` how often the same point of a
conversation fails before it succeeds (None: always), which matters when scripts go by conversation.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    HTTP_ERROR = "http_error"
    ERROR_EVENT = "error_event"
    CUT = "cut"
    CUT_IN_EVENT = "cut_in_event"
    END_EARLY = "end_early"
    RESET = "reset"
    MALFORMED = "malformed"
    HANG = "hang"


@dataclass(frozen=True)
class ApiError:
    """An error as the API words it."""

    status: int
    type: str
    message: str


API_ERRORS: dict[int, ApiError] = {
    error.status: error
    for error in (
        ApiError(400, "invalid_request_error", "Invalid request."),
        ApiError(401, "authentication_error", "invalid x-api-key"),
        ApiError(402, "billing_error", "Your credit balance is too low to access the API."),
        ApiError(403, "permission_error", "Your API key may not use this resource."),
        ApiError(404, "not_found_error", "Not found"),
        ApiError(413, "request_too_large", "Request exceeds the maximum size"),
        ApiError(429, "rate_limit_error", "This request would exceed your rate limit."),
        ApiError(500, "api_error", "Internal server error"),
        ApiError(529, "overloaded_error", "Overloaded"),
    )
}
STATUS_OF: dict[str, int] = {error.type: error.status for error in API_ERRORS.values()}


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    after: int = 0
    times: int | None = None
    status: int = 0
    error_type: str = ""
    message: str = ""
    retry_after: str | None = None

    @property
    def error(self) -> ApiError:
        """The error with what was left out: by its status, or by its type."""
        status = self.status or STATUS_OF.get(self.error_type, 500)
        known = API_ERRORS.get(status, ApiError(status, "api_error", f"Status {status}"))
        return ApiError(status, self.error_type or known.type, self.message or known.message)

    @property
    def before_status_line(self) -> bool:
        """Whether the client gets no answer at all, not even headers."""
        silent = {FaultKind.CUT, FaultKind.RESET, FaultKind.HANG}
        return self.after == 0 and self.kind in silent


def http_error(
    status: int,
    message: str = "",
    *,
    retry_after: float | str | None = None,
    times: int | None = None,
) -> Fault:
    """An error status with the body the API sends; 413 is HTML from the edge, as in life."""
    return Fault(
        FaultKind.HTTP_ERROR,
        times=times,
        status=status,
        message=message,
        retry_after=None if retry_after is None else str(retry_after),
    )


def error_event(
    error_type: str = "overloaded_error",
    message: str = "",
    *,
    after: int = 0,
    times: int | None = None,
) -> Fault:
    """An `error` event after HTTP 200; the stream then ends."""
    return Fault(FaultKind.ERROR_EVENT, after, times, error_type=error_type, message=message)


def cut(after: int = 0, *, times: int | None = None) -> Fault:
    """The connection closes between two events; with 0 before any answer."""
    return Fault(FaultKind.CUT, after, times)


def cut_in_event(after: int = 0, *, times: int | None = None) -> Fault:
    """The connection closes in the middle of an event."""
    return Fault(FaultKind.CUT_IN_EVENT, after, times)


def end_early(after: int = 0, *, times: int | None = None) -> Fault:
    """The body ends as it should, but without message_stop: no error at the HTTP level."""
    return Fault(FaultKind.END_EARLY, after, times)


def reset(after: int = 0, *, times: int | None = None) -> Fault:
    """The connection is reset (RST), not closed."""
    return Fault(FaultKind.RESET, after, times)


def malformed(after: int = 0, *, times: int | None = None) -> Fault:
    """An event whose data is not JSON."""
    return Fault(FaultKind.MALFORMED, after, times)


def hang(after: int = 0, *, times: int | None = None) -> Fault:
    """Silence until the server stops; with 0 not even headers come."""
    return Fault(FaultKind.HANG, after, times)


@contextlib.contextmanager
def refusing_url() -> Iterator[str]:
    """An address that refuses connections; bound but not listening, so that nobody takes it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"
