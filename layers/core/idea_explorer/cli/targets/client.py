"""The HTTP client of a deployment's API. Every failure is an ExplorerError with one clear sentence."""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from idea_explorer.api.http import QUOTA_SPENT
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ConflictError,
    ExplorerError,
    ExternalError,
    InvalidRequestError,
    MissingError,
    NetworkError,
    QuotaSpentError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.ids import is_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import is_header_safe

# `idea serve` may hold a call for events for 20 s
TIMEOUT = httpx2.Timeout(40.0, connect=10.0)
UPLOAD_TIMEOUT = httpx2.Timeout(120.0, connect=10.0)


@cache
def _certificates() -> ssl.SSLContext:
    """This machine's certificates; loading them takes a while, so once."""
    return httpx2.create_ssl_context()


class ApiClient:
    """Raises ExplorerError: its kind says whether trying again helps."""

    def __init__(self, url: str, token: str, timeout: httpx2.Timeout = TIMEOUT) -> None:
        self.url = url.rstrip("/")
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}", "User-Agent": "idea-explorer"},
            timeout=timeout,
            verify=_certificates(),
        )

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, *, seconds: float | None = None
    ) -> Self:
        """`seconds` is a shorter time limit, for a caller that does not wait for events."""
        url, token = environment.get("IDEA_API_URL", ""), environment.get("IDEA_API_TOKEN", "")
        if not url:
            raise ConfigurationError(
                "IDEA_API_URL is not set.",
                hint="Set it to the ApiUrl of your deployment or to the address that `idea serve`"
                " prints.",
            )
        if not token:
            raise ConfigurationError(
                "IDEA_API_TOKEN is not set.",
                hint="`idea serve` prints one; for a deployment, an operator makes you one with:"
                " idea admin token add OWNER --stack NAME.",
            )
        if not is_header_safe(token):
            raise ConfigurationError("IDEA_API_TOKEN contains characters that no token has.")
        _check(url)
        return cls(url, token, httpx2.Timeout(seconds) if seconds else TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: object) -> Any:
        params = {name: str(value) for name, value in query.items() if value is not None}
        return self._json(self._send("GET", path, params=params))

    def post(self, path: str, body: JsonObject, headers: Mapping[str, str] | None = None) -> Any:
        return self._json(self._send("POST", path, json=body, headers=headers))

    def path(self, exploration_id: str, resource: str = "") -> str:
        if not is_id(exploration_id):
            raise MissingError("There is no exploration with this id.")
        own = f"/explorations/{exploration_id}"
        return f"{own}/{resource}" if resource else own

    def text(self, path: str) -> str:
        return self._send("GET", path).text

    def stream(self, path: str, last_event_id: int) -> Iterator[str] | None:
        """The frames of one response of the event stream, each when it arrives, or None where nothing
        follows. One that is cut off is dropped; the next call fetches it again."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last_event_id)}
        answer = self._send("GET", path, stream=True, headers=headers)
        if answer.status_code == 204:
            answer.close()
            return None
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.close()
            raise self._not_our_api()
        return self._read_frames(answer)

    def _read_frames(self, answer: httpx2.Response) -> Iterator[str]:
        rest = ""
        with closing(answer), self._named_failures():
            for text in answer.iter_text():
                *frames, rest = (rest + text).split("\n\n")
                yield from frames

    def upload(self, form: Mapping[str, Any], content: bytes) -> None:
        """Send a file to where the API said. Another host does not get our token."""
        if form["url"].startswith("/"):
            self._send(form["method"], form["url"], content=content)
            return
        try:
            answer = httpx2.post(
                form["url"], data=form["fields"], files={"file": content}, timeout=UPLOAD_TIMEOUT
            )
            answer.raise_for_status()
        except httpx2.HTTPError as error:
            raise NetworkError("The file could not be uploaded.", hint="Try again.") from error

    def events(self, path: str, last_event_id: int) -> Any:
        headers = {"Accept": "application/json", "Last-Event-ID": str(last_event_id)}
        return self._json(self._send("GET", path, headers=headers))

    def _send(
        self, method: str, path: str, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        with self._named_failures():
            request = self._http.build_request(method, path, **options)
            answer = self._http.send(request, stream=stream)
            if not answer.is_success:
                answer.read()
        if answer.is_success:
            return answer
        raise self._error_for(answer)

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TimeoutException as error:
            raise UpstreamTimeoutError(
                f"{self.url} did not answer in time.", hint="Try again."
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NetworkError(
                f"{self.url} could not be reached.", hint="Check IDEA_API_URL and the network."
            ) from error

    def _json(self, answer: httpx2.Response) -> Any:
        try:
            return answer.json()
        except (ValueError, RecursionError) as error:
            raise self._not_our_api() from error

    def _error_for(self, answer: httpx2.Response) -> ExplorerError:
        status = answer.status_code
        message = _error_field(answer, "message")
        if status == 401:
            return AuthFailedError(
                "The API does not know this token (401).", hint="Check IDEA_API_TOKEN."
            )
        if message is None and status < 500 and status != 429:
            return self._not_our_api()
        match status:
            case 400 | 422:
                return InvalidRequestError(str(message), fields=_fields(answer))
            case 403:
                return AuthFailedError(f"The API does not allow this (403): {message}")
            case 404:
                return MissingError(str(message))
            case 409:
                return ConflictError(str(message))
            case 429 if message and _error_field(answer, "type") == QUOTA_SPENT:
                return QuotaSpentError(message)
            case 429:
                return RateLimitedError("Too many requests (429).", hint="Try again in a moment.")
            case _ if status >= 500:
                return UnavailableError(f"The API failed ({status}).", hint="Try again.")
            case _:
                return RejectedError(f"The API refused ({status}): {message}")

    def _not_our_api(self) -> ExternalError:
        return ExternalError(
            f"{self.url} is not the API of Idea Explorer.", hint="Check IDEA_API_URL."
        )


def _check(url: str) -> None:
    """Over http the token is sent in the clear, so http is for this machine only."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_complete = parts.scheme in {"http", "https"} and host and parts.port != 0
    except ValueError:
        is_complete, parts, host = False, urlsplit(""), ""
    if not is_complete or not url.isprintable() or " " in url:
        raise ConfigurationError(
            "IDEA_API_URL is not a URL.", hint="It looks like https://….amazonaws.com/prod."
        )
    if parts.scheme == "http" and not _is_this_machine(host):
        raise ConfigurationError(
            "IDEA_API_URL must begin with https: the token would be sent in the clear."
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _error_field(answer: httpx2.Response, name: str) -> str | None:
    """A field of an error in the API's shape."""
    try:
        value = answer.json()["error"][name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _fields(answer: httpx2.Response) -> dict[str, str]:
    """What is wrong with each field, where the error says so."""
    try:
        details = answer.json()["error"]["details"]
        return {str(detail["field"]): str(detail["message"]) for detail in details}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
