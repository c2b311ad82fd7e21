"""GitHub's REST API over httpx2: its headers, errors, redirects and rate limits."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import IO, Any
from urllib.parse import quote, urlencode

import httpx2

from idea_explorer.adapters.github.responses import Repository, parse, unreadable
from idea_explorer.adapters.http.clients import (
    CERTIFICATE_VARIABLES,
    certificates,
    map_httpx_errors,
)
from idea_explorer.adapters.http.transport import make_transport
from idea_explorer.domain import errors
from idea_explorer.domain.json import parse_json
from idea_explorer.domain.retry import parse_quota_reset, parse_retry_after

TIMEOUT = httpx2.Timeout(10.0)
API_VERSION = "2022-11-28"
SPOOLED_BYTES = 4_000_000  # larger downloads go to disk
MAX_REDIRECTS = 5
MOVED = frozenset({301, 307, 308})
FOLLOWED = MOVED | {302}  # archives are served from a temporary address
LIMIT_SECONDS = 60.0  # what GitHub asks for if a rate limit comes without a time; doubled each time
LONGEST_LIMIT_SECONDS = 900.0
# what httpx2 reads from the environment
CONNECTION_VARIABLES = (
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    *CERTIFICATE_VARIABLES,
)


class GitHubClient:
    """Requests for one repository, even after it was renamed.

    A resource is named by the segments of its path below the repository. A segment is one name, whoever
    chose it: it is encoded whole, and those that a URL's parser would collapse are refused, so that no
    name leads to another resource or repository.

    The token is read for each request, so rotation works. If GitHub refuses it, the request is tried
    once more with the token from `fresh_token`. Proxies named by the environment are used.
    """

    def __init__(
        self,
        repository: str,
        token: Callable[[], str],
        api_url: str,
        *,
        fresh_token: Callable[[], str] | None = None,
        refused_hint: str = "Check GITHUB_TOKEN.",
    ) -> None:
        self.repository = repository
        self._token = token
        self._fresh_token = fresh_token
        self._refused_hint = refused_hint
        self._address = f"{api_url.rstrip('/')}/repos{_join(repository.split('/'))}"
        self._has_moved = False
        self._untimed_limits: dict[str, int] = {}  # by method, as some limits only affect writing
        self._http = _share_client(_read_environment())

    def about(self) -> Repository:
        """The repository itself; raises DocumentMissingError if the token cannot see one."""
        try:
            return parse(Repository, self.get())
        except errors.DocumentMissingError as error:
            raise errors.DocumentMissingError(
                f"GitHub does not know {self.repository}, or the token may not see it.",
                hint="Check the repository's name and the repositories that the token covers.",
            ) from error

    def owner(self) -> str:
        """The repository's owner, who may have changed if the repository has moved."""
        name = self.about().full_name or self.repository if self._has_moved else self.repository
        return name.partition("/")[0]

    def get(self, *segments: str, **parameters: str | int) -> Any:
        query = urlencode(parameters, quote_via=quote)
        return self._json("GET", segments, query)

    def post(self, *segments: str, body: dict[str, Any]) -> Any:
        return self._json("POST", segments, json=body)

    def patch(self, *segments: str, body: dict[str, Any]) -> Any:
        return self._json("PATCH", segments, json=body)

    @contextmanager
    def download(self, *segments: str, max_bytes: int) -> Iterator[IO[bytes]]:
        """A response body as a temporary file, so that large ones do not fill the memory."""
        with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as file:
            with self._request("GET", segments) as response:
                for chunk in response.iter_bytes():
                    file.write(chunk)
                    if file.tell() > max_bytes:
                        raise errors.RejectedError(
                            f"GitHub's archive is larger than {max_bytes:,} bytes."
                        )
            file.seek(0)
            yield file

    def _json(self, method: str, segments: Sequence[str], query: str = "", **options: Any) -> Any:
        with self._request(method, segments, query, **options) as response:
            body = response.read()
            try:
                return parse_json(body)
            except (ValueError, RecursionError) as error:
                raise unreadable() from error

    @contextmanager
    def _request(
        self, method: str, segments: Sequence[str], query: str = "", **options: Any
    ) -> Iterator[httpx2.Response]:
        """A successful response whose body has not been read yet; raises for any other."""
        path, token = _join(segments), self._token()
        path = f"{path}?{query}" if query else path  # httpx2 would parse the address once more
        response = self._send(method, path, token, options)
        if response.status_code == 401 and (rotated := self._fetch_rotated_token(token)):
            response.close()
            response = self._send(method, path, rotated, options)
        with _map_errors():
            try:
                if not response.is_success:
                    response.read()
                    raise self._map_failure(response)
                self._untimed_limits.pop(method, None)
                yield response
            finally:
                response.close()

    def _fetch_rotated_token(self, refused: str) -> str | None:
        fresh = self._fresh_token() if self._fresh_token else refused
        return None if fresh == refused else fresh

    def _send(self, method: str, path: str, token: str, options: Any) -> httpx2.Response:
        """Follows redirects with the same method and body, which httpx2 does not do after a 301."""
        headers = {"Authorization": f"Bearer {token}"}
        with _map_errors():
            request = self._http.build_request(
                method, f"{self._address}{path}", headers=headers, **options
            )
            for _ in range(MAX_REDIRECTS + 1):
                response = self._http.send(request, stream=True)
                if response.status_code not in FOLLOWED or "location" not in response.headers:
                    return response
                response.read()
                self._has_moved = self._has_moved or response.status_code in MOVED
                request = self._redirect(request, response)
            raise errors.ExternalError("GitHub redirects too often.")

    def _redirect(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Request:
        """The same request at its new address. Another host never sees the token."""
        url = request.url.join(response.headers["location"])
        if url.scheme != "https" and url.scheme != request.url.scheme:
            raise errors.ExternalError(
                f"GitHub redirects to an address that is not safe: {url.host}"
            )
        headers = request.headers.copy()
        for name in ("host", "content-length"):
            headers.pop(name, None)
        if (url.scheme, url.host, url.port) != (
            request.url.scheme,
            request.url.host,
            request.url.port,
        ):
            headers.pop("authorization", None)
        return self._http.build_request(
            request.method, url, headers=headers, content=request.content
        )

    def _map_failure(self, response: httpx2.Response) -> errors.ExplorerError:
        reason = _message(response)
        if _is_rate_limit(response, reason):
            return errors.RateLimitedError(
                f"GitHub's rate limit was reached ({response.status_code}).",
                hint="Wait a little and try again.",
                retry_after=self._seconds_to_wait(response),
            )
        if response.status_code == 401:
            return errors.AuthFailedError(
                "GitHub refused the token (401).", hint=self._refused_hint
            )
        return _map_status(response.status_code, reason, self.repository)

    def _seconds_to_wait(self, response: httpx2.Response) -> float:
        now = datetime.now(UTC)
        seconds = parse_retry_after(response.headers, now)
        if seconds is None:
            seconds = parse_quota_reset(response.headers, now)
        if seconds is not None:
            return seconds
        method = response.request.method
        earlier = self._untimed_limits.get(method, 0)
        self._untimed_limits[method] = earlier + 1
        return min(LIMIT_SECONDS * 2.0**earlier, LONGEST_LIMIT_SECONDS)


def _join(segments: Sequence[str]) -> str:
    parts = (part for name in segments for part in name.replace("\\", "/").split("/"))
    if not {"", ".", ".."}.isdisjoint(parts):  # also of a name that a router decodes first
        raise errors.RejectedError(f"{'/'.join(segments)[:200]!r} is not a name that GitHub knows.")
    return "".join(f"/{quote(name, safe='', errors='surrogatepass')}" for name in segments)


@contextmanager
def _map_errors() -> Iterator[None]:
    hint = "Check the network and GITHUB_API_URL."
    with errors.name_system("GITHUB_UNAVAILABLE"), map_httpx_errors("GitHub", hint=hint):
        yield


def _read_environment() -> tuple[str | None, ...]:
    names = [spelling for name in CONNECTION_VARIABLES for spelling in (name, name.upper())]
    return tuple(os.environ.get(name) for name in names)


@cache
def _share_client(_: tuple[str | None, ...]) -> httpx2.Client:
    """One for all repositories and all runs of a process, so that they use the same connections. It holds
    nothing of them: each request has its own token, and cookies are not kept."""
    trusted = certificates(of_environment=True)
    try:
        return httpx2.Client(
            transport=make_transport(trusted),
            timeout=TIMEOUT,
            headers={
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": API_VERSION,
                "User-Agent": "idea-explorer",
            },
            verify=trusted,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise errors.ConfigurationError(
            "The proxy or the certificates named by the environment cannot be used.",
            hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE.",
        ) from error


@contextmanager
def make_retryable() -> Iterator[None]:
    """Makes every failure of GitHub's retryable, for writes that recognise their own earlier attempts.

    For other writes an unknown failure is final, because it does not say whether GitHub carried out the
    request.
    """
    try:
        yield
    except errors.ExternalError as error:
        if type(error) is errors.ExternalError:
            unavailable = errors.UnavailableError(error.message, hint="Try again.")
            unavailable.code = error.code
            raise unavailable from error
        raise


def _map_status(status: int, reason: str, repository: str) -> errors.ExplorerError:
    if status == 403:
        return errors.AuthFailedError(
            f"GitHub does not allow this (403): {reason}",
            hint=f"Check the token's permissions on {repository}.",
        )
    if status == 404:
        return errors.DocumentMissingError(f"GitHub does not have it (404): {reason}")
    if status == 409:
        return errors.UpstreamConflictError(f"GitHub reports a conflict (409): {reason}")
    if status in {500, 502, 503, 504}:
        return errors.UnavailableError(f"GitHub is not available ({status}).", hint="Try again.")
    if status >= 500:
        return errors.ExternalError(f"GitHub failed ({status}).")
    return errors.RejectedError(f"GitHub rejected the request ({status}): {reason}")


def _message(response: httpx2.Response) -> str:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return "no reason given"
    return str(body.get("message") if isinstance(body, dict) else body)[:300]


def _is_rate_limit(response: httpx2.Response, reason: str) -> bool:
    if response.status_code != 403:
        return response.status_code == 429
    return (
        "retry-after" in response.headers
        or response.headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in reason
        or "abuse detection" in reason
    )
