"""The API of a deployment, called over HTTP. Whatever goes wrong is one clear sentence."""

import os
import ssl
from collections.abc import Mapping
from functools import cache
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

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

# an answer may wait for events for 20 s
TIMEOUT = httpx.Timeout(40.0, connect=10.0)
UPLOAD_TIMEOUT = httpx.Timeout(120.0, connect=10.0)
CHECK_URL = "Check IDEA_API_URL."


@cache
def _certificates() -> ssl.SSLContext:
    """Those of this machine's environment; loading them takes a while, so once."""
    return httpx.create_ssl_context()


class Remote:
    """Raises ExplorerError: its kind says whether trying again helps."""

    def __init__(self, url: str, token: str, timeout: httpx.Timeout = TIMEOUT) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}", "User-Agent": "idea-explorer"},
            timeout=timeout,
            verify=_certificates(),
        )

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, *, seconds: float | None = None
    ) -> Self:
        """`seconds` is for who asks whether there is an answer, and waits for no events."""
        url, token = environment.get("IDEA_API_URL", ""), environment.get("IDEA_API_TOKEN", "")
        if not url:
            raise ConfigurationError(
                "IDEA_API_URL is not set.",
                hint="Set it to the ApiUrl of your deployment, or to what `idea serve` prints.",
            )
        if not token:
            raise ConfigurationError(
                "IDEA_API_TOKEN is not set.",
                hint="`idea serve` prints one; of a deployment, an operator gets you one with:"
                " idea admin token add OWNER --stack NAME.",
            )
        if not is_header_safe(token):
            raise ConfigurationError("IDEA_API_TOKEN holds characters that no token has.")
        _check(url)
        return cls(url, token, httpx.Timeout(seconds) if seconds else TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: object) -> Any:
        given = {name: str(value) for name, value in query.items() if value is not None}
        return self._json(self._send("GET", path, params=given))

    def post(self, path: str, body: JsonObject, headers: Mapping[str, str] | None = None) -> Any:
        return self._json(self._send("POST", path, json=body, headers=headers))

    def path(self, exploration_id: str, what: str = "") -> str:
        if not is_id(exploration_id):
            raise MissingError("There is no exploration with this id.")
        own = f"/explorations/{exploration_id}"
        return f"{own}/{what}" if what else own

    def exploration(self, exploration_id: str) -> JsonObject:
        found: JsonObject = self.get(self.path(exploration_id))
        return found

    def text(self, path: str) -> str:
        return self._send("GET", path).text

    def stream(self, path: str, last_event_id: int) -> str | None:
        """One answer of the live view, or None where nothing follows."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last_event_id)}
        answer = self._send("GET", path, headers=headers)
        if answer.status_code == 204:
            return None
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            raise self._not_ours()
        return answer.text

    def upload(self, form: Mapping[str, Any], content: bytes) -> None:
        """Send a file where the API said. An address of its own gets no token of ours."""
        if form["url"].startswith("/"):
            self._send(form["method"], form["url"], content=content)
            return
        try:
            answer = httpx.post(
                form["url"], data=form["fields"], files={"file": content}, timeout=UPLOAD_TIMEOUT
            )
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise NetworkError("The file could not be sent.", hint="Try again.") from error

    def last_event_id(self, exploration_id: str) -> int:
        """The number of the last event of an exploration that has ended."""
        last, over = 0, False
        while not over:
            headers = {"Accept": "application/json", "Last-Event-ID": str(last)}
            answer = self._send("GET", self.path(exploration_id, "events"), headers=headers)
            page = self._json(answer)
            last, over = page["last_event_id"], page["over"] or not page["events"]
        return last

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TimeoutException as error:
            raise UpstreamTimeoutError(
                f"{self.url} did not answer in time.", hint="Try again."
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NetworkError(
                f"{self.url} could not be reached.", hint="Check IDEA_API_URL and the network."
            ) from error
        if answer.is_success:
            return answer
        raise self._refused(answer)

    def _json(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError as error:
            raise self._not_ours() from error

    def _refused(self, answer: httpx.Response) -> ExplorerError:
        status = answer.status_code
        said = _told(answer, "message")
        if status == 401:
            return AuthFailedError(
                "The API does not know this token (401).", hint="Check IDEA_API_TOKEN."
            )
        if said is None and status < 500 and status != 429:
            return self._not_ours()
        match status:
            case 400 | 422:
                return InvalidRequestError(str(said), fields=_fields(answer))
            case 403:
                return AuthFailedError(f"The API does not allow this (403): {said}")
            case 404:
                return MissingError(str(said))
            case 409:
                return ConflictError(str(said))
            case 429 if said and _told(answer, "type") == QUOTA_SPENT:
                return QuotaSpentError(said)
            case 429:
                return RateLimitedError("Too many requests (429).", hint="Try again in a moment.")
            case _ if status >= 500:
                return UnavailableError(f"The API failed ({status}).", hint="Try again.")
            case _:
                return RejectedError(f"The API refused ({status}): {said}")

    def _not_ours(self) -> ExternalError:
        return ExternalError(
            f"{self.url} does not answer as the API of Idea Explorer does.", hint=CHECK_URL
        )


def _check(url: str) -> None:
    """The token is sent in the clear over http, so that is for this machine only."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        whole = parts.scheme in {"http", "https"} and host and parts.port != 0
    except ValueError:
        whole, parts, host = False, urlsplit(""), ""
    if not whole or not url.isprintable() or " " in url:
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


def _told(answer: httpx.Response, what: str) -> str | None:
    """The type or the sentence of an error in our shape."""
    try:
        said = answer.json()["error"][what]
    except (ValueError, KeyError, TypeError):
        return None
    return said if isinstance(said, str) else None


def _fields(answer: httpx.Response) -> dict[str, str]:
    """What is wrong with each field, where the error says it."""
    try:
        found = answer.json()["error"]["details"]
        return {str(detail["field"]): str(detail["message"]) for detail in found}
    except (ValueError, KeyError, TypeError):
        return {}
