"""GitHub's REST API over httpx: one place for its headers, errors and limits."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import IO, Any

import httpx

from idea_explorer.adapters.certificates import certificates
from idea_explorer.domain.errors import (
    AuthFailedError,
    DocumentMissingError,
    ExplorerError,
    ExternalError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamConflictError,
    UpstreamTimeoutError,
)

TIMEOUT = httpx.Timeout(10.0)
API_VERSION = "2022-11-28"
SPOOLED_BYTES = 4_000_000  # beyond it a download goes to disk


class GitHubClient:
    """Calls for one repository. The token is asked for at each call, so a rotated one is picked up."""

    def __init__(self, repository: str, token: Callable[[], str], api_url: str) -> None:
        self.repository = repository
        self._token = token
        self._http = httpx.Client(
            base_url=f"{api_url.rstrip('/')}/repos/{repository}",
            timeout=TIMEOUT,
            headers={
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": API_VERSION,
                "User-Agent": "idea-explorer",
            },
            follow_redirects=True,
            verify=certificates(),
            trust_env=False,
        )

    def get(self, path: str, **parameters: str | int) -> Any:
        return self._json(self._send("GET", path, params=parameters))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._json(self._send("POST", path, json=body))

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        return self._json(self._send("PATCH", path, json=body))

    @contextmanager
    def download(self, path: str, max_bytes: int) -> Iterator[IO[bytes]]:
        """What is at a path, as a file that goes away afterwards: large ones never fill the memory."""
        with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as file, _our_errors():
            with self._http.stream("GET", path, headers=self._authorization()) as response:
                if not response.is_success:
                    response.read()
                    raise github_error(response, self.repository)
                for chunk in response.iter_bytes():
                    file.write(chunk)
                    if file.tell() > max_bytes:
                        raise RejectedError(f"The repository is larger than {max_bytes:,} bytes.")
            file.seek(0)
            yield file

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token()}"}

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with _our_errors():
            response = self._http.request(method, path, headers=self._authorization(), **options)
        if response.is_success:
            return response
        raise github_error(response, self.repository)

    def _json(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as error:
            raise ExternalError("GitHub's answer could not be read.") from error


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise UpstreamTimeoutError("GitHub did not answer in time.", hint="Try again.") from error
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
            raise UnavailableError(error.message, hint="Try again.") from error
        raise


def github_error(response: httpx.Response, repository: str) -> ExplorerError:
    """What a failed answer means for us."""
    status = response.status_code
    said = _message(response)
    if status == 429 or (status == 403 and _is_limit(response, said)):
        return RateLimitedError(
            f"GitHub's rate limit was reached ({status}).",
            hint="Wait a little and try again.",
            retry_after=_retry_after(response),
        )
    if status == 401:
        return AuthFailedError("GitHub refused the token (401).", hint="Check GITHUB_TOKEN.")
    if status == 403:
        return AuthFailedError(
            f"GitHub does not allow this (403): {said}",
            hint=f"Check the token's permissions on {repository}.",
        )
    if status == 404:
        return DocumentMissingError(f"GitHub does not know it (404): {said}")
    if status == 409:
        return UpstreamConflictError(f"GitHub reports a conflict (409): {said}")
    if status in {503, 504}:
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
    return (
        "retry-after" in response.headers
        or response.headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in said
        or "abuse detection" in said
    )


def _retry_after(response: httpx.Response) -> float | None:
    """The seconds to wait: as said, or until the quota starts anew by GitHub's own clock."""
    headers = response.headers
    try:
        if "retry-after" in headers:
            return max(0.0, float(headers["retry-after"]))
        if headers.get("x-ratelimit-remaining") == "0":
            now = parsedate_to_datetime(headers["date"]).timestamp()
            return max(1.0, float(headers["x-ratelimit-reset"]) - now)
    except (KeyError, ValueError):
        return None
    return None
