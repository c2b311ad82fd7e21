"""JSON over HTTP with a service of the deployment, and how its failures map to our errors."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from idea_explorer.adapters.http.clients import certificates, map_httpx_errors
from idea_explorer.domain import errors
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.retry import parse_retry_after
from idea_explorer.domain.text import make_printable, one_line

MAX_REASON = 200

M = TypeVar("M", bound=BaseModel)


class NotThereError(errors.ExternalError):
    """404 from a service."""


class UnauthorizedError(errors.AuthFailedError):
    """401 from a service: another token may be accepted."""


# The error types say what is worth retrying: 429, 500, 502, 503 and 504, and nothing else.
STATUS_ERRORS: dict[int, Callable[[str], errors.ExternalError]] = {
    400: errors.RejectedError,
    401: UnauthorizedError,
    403: errors.AuthFailedError,
    404: NotThereError,
    413: errors.RejectedError,
    422: errors.RejectedError,
    500: errors.UnavailableError,
    502: errors.UnavailableError,
    503: errors.UnavailableError,
    504: errors.UpstreamTimeoutError,
}


class JsonHttp:
    """One service at its configured address: no redirects, no proxies."""

    def __init__(self, service: str, base_url: str, *, headers: Mapping[str, str]) -> None:
        if urlsplit(base_url).scheme not in {"http", "https"}:
            raise errors.ConfigurationError(f"The address of {service} is not an HTTP address.")
        self._service = service
        self._http = httpx2.Client(
            base_url=base_url.rstrip("/"),
            headers={"User-Agent": "idea-explorer", **headers},
            verify=certificates(),
            trust_env=False,
        )

    def call(
        self,
        kind: type[M],
        method: str,
        path: str,
        *,
        seconds: float,
        parameters: Mapping[str, str | Sequence[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
    ) -> M:
        """The validated response, which is untrusted data; raises ExternalError."""
        with map_httpx_errors(self._service):
            response = self._http.request(
                method,
                path,
                params=dict(parameters) if parameters else None,
                headers=dict(headers or {}),
                data=dict(form) if form else None,
                json=body,
                timeout=max(seconds, 0.001),
            )
        if not response.is_success:
            raise self._map_failure(response)
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            raise errors.ExternalError(
                f"{self._service} sent a response of an unexpected form."
            ) from error

    def _map_failure(self, response: httpx2.Response) -> errors.ExternalError:
        status = response.status_code
        if status == 429:
            return errors.RateLimitedError(
                f"{self._service} is limiting the rate (429).",
                retry_after=parse_retry_after(response.headers, datetime.now(UTC)),
            )
        return STATUS_ERRORS.get(status, errors.ExternalError)(
            f"{self._service} answered {status}{_find_reason(response)}."
        )


def _find_reason(response: httpx2.Response) -> str:
    """What the service says of its refusal, in the forms of Qdrant, JSON:API and OAuth."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    match body:
        case (
            {"status": {"error": str(reason)}}
            | {"errors": [{"detail": str(reason)}, *_]}
            | {"error_description": str(reason)}
        ):
            said = make_printable(one_line(reason, MAX_REASON)).rstrip(".")
            return f": {said}" if said else ""
    return ""
