"""GitHub's REST API over httpx: one place for its headers, errors, redirects and limits."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

import httpx

from idea_explorer.adapters.github.responses import Repository, read
from idea_explorer.adapters.http.connections import certificates
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentMissingError,
    ExplorerError,
    ExternalError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamConflictError,
    UpstreamTimeoutError,
    name_system,
)
from idea_explorer.domain.retry_after import parse_quota_reset, parse_retry_after

TIMEOUT = httpx.Timeout(10.0)
API_VERSION = "2022-11-28"
SPOOLED_BYTES = 4_000_000  # beyond it a download goes to disk
MAX_REDIRECTS = 5
MOVED = frozenset({301, 307, 308})
FOLLOWED = MOVED | {302}  # an archive is elsewhere for the time being
LIMIT_SECONDS = 60.0  # what GitHub asks for where a limit comes without a time, and then for longer
LONGEST_LIMIT_SECONDS = 900.0


class GitHubClient:
    """Calls for one repository, under whatever name it has by now.

    The token is asked for at each call, so a rotated one is picked up. One that GitHub refuses is
    asked for once more, from `fresh_token`, before the call fails. Proxies of the environment are used.
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
        self._address = f"{api_url.rstrip('/')}/repos/{repository}"
        self._has_moved = False
        self._limits_without_time: dict[str, int] = {}  # by method: some are limits on writing only
        self._http = _connect()

    def about(self) -> Repository:
        """The repository itself; raises DocumentMissingError where there is none to be seen."""
        try:
            return read(Repository, self.get(""))
        except DocumentMissingError as error:
            raise DocumentMissingError(
                f"GitHub does not know {self.repository}, or the token may not see it.",
                hint="Check the repository's name and the repositories that the token covers.",
            ) from error

    def owner(self) -> str:
        """Whose repository it is; one that has moved may have gone to somebody else."""
        name = self.about().full_name if self._has_moved else self.repository
        return name.partition("/")[0]

    def get(self, path: str, **parameters: str | int) -> Any:
        return self._json("GET", path, params=parameters)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._json("POST", path, json=body)

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        return self._json("PATCH", path, json=body)

    @contextmanager
    def download(self, path: str, max_bytes: int) -> Iterator[IO[bytes]]:
        """What is at a path, as a file that goes away afterwards: large ones never fill the memory."""
        with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as file:
            with self._answer("GET", path) as response:
                for chunk in response.iter_bytes():
                    file.write(chunk)
                    if file.tell() > max_bytes:
                        raise RejectedError(f"The repository is larger than {max_bytes:,} bytes.")
            file.seek(0)
            yield file

    def _json(self, method: str, path: str, **options: Any) -> Any:
        with self._answer(method, path, **options) as response:
            response.read()
            try:
                return response.json()
            except ValueError as error:
                raise ExternalError("GitHub's answer could not be read.") from error

    @contextmanager
    def _answer(self, method: str, path: str, **options: Any) -> Iterator[httpx.Response]:
        """A good answer, of which the body has not come yet; raises what any other means."""
        token = self._token()
        with name_system("GITHUB_UNAVAILABLE"), _our_errors():
            response = self._send(method, path, token, options)
            if response.status_code == 401 and (rotated := self._rotated(token)):
                response.close()
                response = self._send(method, path, rotated, options)
            try:
                if not response.is_success:
                    response.read()
                    raise self._failure(response)
                self._limits_without_time.pop(method, None)
                yield response
            finally:
                response.close()

    def _rotated(self, refused: str) -> str | None:
        fresh = self._fresh_token() if self._fresh_token else refused
        return None if fresh == refused else fresh

    def _send(self, method: str, path: str, token: str, options: Any) -> httpx.Response:
        """Follows redirects with method and body kept, which httpx does not do after a 301."""
        headers = {"Authorization": f"Bearer {token}"}
        request = self._http.build_request(
            method, f"{self._address}{path}", headers=headers, **options
        )
        for _ in range(MAX_REDIRECTS + 1):
            response = self._http.send(request, stream=True)
            if response.status_code not in FOLLOWED or "location" not in response.headers:
                return response
            response.read()
            self._has_moved = self._has_moved or response.status_code in MOVED
            request = self._redirected(request, response)
        raise ExternalError("GitHub redirects without an end.")

    def _redirected(self, request: httpx.Request, response: httpx.Response) -> httpx.Request:
        """The same request at its new place. Another host never gets to see the token."""
        url = request.url.join(response.headers["location"])
        if url.scheme != "https" and url.scheme != request.url.scheme:
            raise ExternalError(f"GitHub redirects to an address that is not safe: {url.host}")
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

    def _failure(self, response: httpx.Response) -> ExplorerError:
        """What a failed answer means for us."""
        said = _message(response)
        if _is_limit(response, said):
            return RateLimitedError(
                f"GitHub's rate limit was reached ({response.status_code}).",
                hint="Wait a little and try again.",
                retry_after=self._seconds_to_wait(response),
            )
        if response.status_code == 401:
            return AuthFailedError("GitHub refused the token (401).", hint=self._refused_hint)
        return _github_error(response.status_code, said, self.repository)

    def _seconds_to_wait(self, response: httpx.Response) -> float:
        now = datetime.now(UTC)
        named = parse_retry_after(response.headers, now)
        if named is None:
            named = parse_quota_reset(response.headers, now)
        if named is not None:
            return named
        method = response.request.method
        before = self._limits_without_time.get(method, 0)
        self._limits_without_time[method] = before + 1
        seconds = LIMIT_SECONDS * 2.0**before
        return min(seconds, LONGEST_LIMIT_SECONDS)


def _connect() -> httpx.Client:
    try:
        return httpx.Client(
            timeout=TIMEOUT,
            headers={
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": API_VERSION,
                "User-Agent": "idea-explorer",
            },
            verify=certificates(of_environment=True),
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        raise ConfigurationError(
            "The proxy or the certificates that the environment names cannot be used.",
            hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE.",
        ) from error


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise UpstreamTimeoutError("GitHub did not answer in time.", hint="Try again.") from error
    except httpx.ProxyError as error:
        raise NetworkError(
            "The proxy of the environment gave no connection to GitHub.",
            hint="Check HTTPS_PROXY and NO_PROXY.",
        ) from error
    except httpx.HTTPError as error:
        raise NetworkError(
            "GitHub could not be reached.", hint="Check the network and GITHUB_API_URL."
        ) from error


@contextmanager
def safe_to_repeat() -> Iterator[None]:
    """Around writes that find out what they did already: any failure of GitHub's own is worth another try.

    So is an answer that cannot be understood. Elsewhere such a failure is final, as it tells nothing
    of whether the request was carried out.
    """
    try:
        yield
    except ExternalError as error:
        if type(error) is ExternalError:
            unavailable = UnavailableError(error.message, hint="Try again.")
            unavailable.code = error.code
            raise unavailable from error
        raise


def _github_error(status: int, said: str, repository: str) -> ExplorerError:
    if status == 403:
        return AuthFailedError(
            f"GitHub does not allow this (403): {said}",
            hint=f"Check the token's permissions on {repository}.",
        )
    if status == 404:
        return DocumentMissingError(f"GitHub does not know it (404): {said}")
    if status == 409:
        return UpstreamConflictError(f"GitHub reports a conflict (409): {said}")
    if status in {500, 502, 503, 504}:
        return UnavailableError(f"GitHub is not available ({status}).", hint="Try again.")
    if status >= 500:
        return ExternalError(f"GitHub failed ({status}).")
    return RejectedError(f"GitHub rejected the request ({status}): {said}")


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return "no reason given"
    return str(body.get("message") if isinstance(body, dict) else body)[:300]


def _is_limit(response: httpx.Response, said: str) -> bool:
    if response.status_code != 403:
        return response.status_code == 429
    return (
        "retry-after" in response.headers
        or response.headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in said
        or "abuse detection" in said
    )
