"""JSON over HTTP with a service that the deployment has configured, and what its failures mean for us."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from idea_explorer.adapters.http.connections import certificates
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ExternalError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.retry_after import parse_retry_after

M = TypeVar("M", bound=BaseModel)


class NotThereError(ExternalError):
    """404: the service answers, and does not have it."""


# What is worth another try stands in the errors' types: 429, 500, 502, 503 and 504, and no other answer.
MEANINGS: dict[int, Callable[[str], ExternalError]] = {
    400: RejectedError,
    401: AuthFailedError,
    403: AuthFailedError,
    404: NotThereError,
    413: RejectedError,
    422: RejectedError,
    500: UnavailableError,
    502: UnavailableError,
    503: UnavailableError,
    504: UpstreamTimeoutError,
}


class JsonHttp:
    """One service. Redirects and proxies are not followed: its address is the one configured."""

    def __init__(self, service: str, base_url: str, *, headers: Mapping[str, str]) -> None:
        if urlsplit(base_url).scheme not in {"http", "https"}:
            raise ConfigurationError(f"The address of {service} is not an http address.")
        self._service = service
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"),
            headers={"User-Agent": "idea-explorer", **headers},
            verify=certificates(),
            trust_env=False,
        )

    def call(
        self,
        answer: type[M],
        method: str,
        path: str,
        *,
        seconds: float,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
    ) -> M:
        """The answer, checked; raises ExternalError. What comes back is untrusted data."""
        try:
            response = self._http.request(
                method,
                path,
                params=dict(parameters) if parameters else None,
                headers=dict(headers or {}),
                data=dict(form) if form else None,
                json=body,
                timeout=max(seconds, 0.001),
            )
        except httpx.TimeoutException as error:
            raise UpstreamTimeoutError(f"{self._service} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise NetworkError(f"{self._service} could not be reached.") from error
        if not response.is_success:
            raise self._meaning(response)
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as error:
            raise ExternalError(f"{self._service} answered in an unexpected form.") from error

    def _meaning(self, response: httpx.Response) -> ExternalError:
        status = response.status_code
        if status == 429:
            return RateLimitedError(
                f"{self._service} limits the rate (429).",
                retry_after=parse_retry_after(response.headers, datetime.now(UTC)),
            )
        return MEANINGS.get(status, ExternalError)(f"{self._service} answered {status}.")
