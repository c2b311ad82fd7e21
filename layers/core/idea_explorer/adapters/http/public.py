"""The only place that sends requests to URLs chosen by a user or a model.

Only public addresses are reached, which is checked when connecting. Responses are limited in size and
time, however a server encodes, compresses or delays them. Their content is untrusted data.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import partial

import httpcore2
import httpx2

from idea_explorer import __version__
from idea_explorer.adapters.http.clients import certificates
from idea_explorer.adapters.http.connections import (
    FETCH_RULES,
    WEBHOOK_RULES,
    AddressRules,
    CheckedBackend,
    Resolver,
    system_resolver,
)
from idea_explorer.adapters.http.decoding import ACCEPT_ENCODING, read_body
from idea_explorer.domain import errors, limits
from idea_explorer.domain.deadline import Clock, Deadline
from idea_explorer.domain.file_kinds import FileKind, FileSample, detect_kind
from idea_explorer.domain.retry import parse_retry_after
from idea_explorer.ports import WebPage

MAX_REDIRECTS = 5
SILENCE_SECONDS = 4.0  # without a byte; a second attempt then still fits into the ten seconds
DEFAULT_PORTS = {"http": 80, "https": 443}
READABLE_TYPES = frozenset(
    f"application/{name}" for name in "json xhtml+xml xml rss+xml atom+xml yaml pdf".split()
)
# What servers say of files that they know nothing about.
UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
PDF = "application/pdf"
PDF_MARK = b"%PDF-"
HEADERS = {
    "user-agent": f"idea-explorer/{__version__}",
    "accept": "text/html, application/json, text/*;q=0.9, application/pdf;q=0.8, */*;q=0.1",
    "accept-encoding": ACCEPT_ENCODING,
}
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"',]{1,40})""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PublicHttp:
    """Fetches pages and posts webhooks. A request can never change the address rules."""

    clock: Clock
    _: KW_ONLY
    fetch_rules: AddressRules = FETCH_RULES
    post_rules: AddressRules = WEBHOOK_RULES
    resolver: Resolver = system_resolver
    ssl_context: ssl.SSLContext | None = None
    fetch_seconds: float = limits.FETCH_SECONDS
    silence_seconds: float = SILENCE_SECONDS

    def fetch(self, url: str, may_redirect_to: Callable[[str], bool] | None = None) -> WebPage:
        """GET a text, HTML, JSON or PDF page; each of at most five redirects is checked too."""
        with self._session(self.fetch_rules, self.fetch_seconds, self.silence_seconds) as session:
            request = session.request("GET", url)
            for _ in range(MAX_REDIRECTS + 1):
                with session.send(request) as response:
                    if response.next_request is None:
                        return _read_page(response)
                    request = response.next_request
                    if may_redirect_to and not may_redirect_to(str(request.url)):
                        raise errors.BlockedAddressError(
                            "The page redirects to a domain that an operator has not allowed."
                        )
        raise errors.TooManyRedirectsError(
            f"The address redirects more than {MAX_REDIRECTS} times."
        )

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        """POST to an https address and return the 2xx status; redirects are refused.

        `timeout` covers the whole exchange. The body of the response is not read.
        """
        with (
            self._session(self.post_rules, timeout, timeout) as session,
            session.send(session.request("POST", url, body, headers)) as response,
        ):
            if response.is_redirect:
                raise errors.HttpError(
                    "The server redirects, which is refused.", status=response.status_code
                )
            _raise_for_status(response)
            return response.status_code

    @contextmanager
    def _session(
        self, rules: AddressRules, seconds: float, silence_seconds: float
    ) -> Iterator["_Session"]:
        deadline = Deadline.after(self.clock, seconds=seconds)
        backend = CheckedBackend(rules, self.resolver, deadline)
        with httpx2.Client(
            transport=_CheckedTransport(self.ssl_context or certificates(), backend),
            headers=HEADERS,
            timeout=silence_seconds,
            trust_env=False,
        ) as client:
            yield _Session(client, rules, backend, deadline)


class _CheckedTransport(httpx2.HTTPTransport):
    """httpx2's transport over connections that obey the address rules."""

    def __init__(self, ssl_context: ssl.SSLContext, backend: CheckedBackend) -> None:
        super().__init__(verify=ssl_context, trust_env=False)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl_context, network_backend=backend, max_keepalive_connections=0
        )


@dataclass(frozen=True, slots=True)
class _Session:
    """One fetch or post with all its redirects, under one deadline and with its own cookies."""

    client: httpx2.Client
    rules: AddressRules
    backend: CheckedBackend
    deadline: Deadline

    def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Request:
        try:
            return self.client.build_request(method, url, content=body, headers=headers)
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise errors.BlockedAddressError("The address is not a valid URL.") from error

    @contextmanager
    def send(self, request: httpx2.Request) -> Iterator[httpx2.Response]:
        with self._map_errors():
            url = request.url
            self.rules.check_url(
                scheme=url.scheme,
                userinfo=url.userinfo,
                host=url.raw_host.decode("ascii"),
                port=url.port or DEFAULT_PORTS.get(url.scheme, 0),
            )
            response = self.client.send(request, stream=True, follow_redirects=False)
            try:
                yield response
            finally:
                response.close()

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        """A broken connection is worth retrying; an invalid response is not."""
        try:
            yield
        except httpx2.TimeoutException as error:
            if self.deadline.passed:
                raise errors.TimeSpentError("The response took too long.") from error
            raise errors.UpstreamTimeoutError("The server did not answer in time.") from error
        except httpx2.ConnectError as error:
            raise errors.NetworkError("The server could not be reached.") from error
        except httpx2.NetworkError as error:
            raise errors.NetworkError("The connection was interrupted.") from error
        except httpx2.RemoteProtocolError as error:
            if self.backend.peer_closed:
                raise errors.NetworkError("The connection was interrupted.") from error
            raise errors.HttpError("The server does not speak proper HTTP.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise errors.HttpError(
                "The address, or one it redirects to, cannot be used."
            ) from error


def _read_page(response: httpx2.Response) -> WebPage:
    """A long page is cut; a PDF that is too large is refused, because a part of one cannot be read."""
    _raise_for_status(response)
    header = response.headers.get("content-type", "")
    declared = header.split(";")[0].strip().lower()
    if not _is_readable(declared):
        raise _unsupported(declared)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    body, is_cut = read_body(response.iter_raw(), encoding, partial(_choose_limit, declared))
    content_type = PDF if body.startswith(PDF_MARK) else declared
    if content_type == PDF and is_cut:
        most = limits.MAX_PDF_BYTES // 1_048_576
        raise errors.ResponseTooLargeError(f"The PDF is larger than {most} MB.")
    charset = _CHARSET.search(header)
    return WebPage(
        url=str(response.url),
        status=response.status_code,
        content_type=_detect_type(body) if content_type in UNKNOWN_TYPES else content_type,
        charset=charset.group(1) if charset else "",
        body=body,
        is_cut=is_cut,
    )


def _choose_limit(declared: str, body: bytearray) -> int:
    is_pdf = declared == PDF or body.startswith(PDF_MARK)
    return limits.MAX_PDF_BYTES if is_pdf else limits.MAX_PAGE_BYTES


def _detect_type(body: bytes) -> str:
    """What a server sends without saying what it is."""
    try:
        kind = detect_kind(FileSample.of("", body))
    except errors.UnreadableFileError as error:
        raise _unsupported("no readable content") from error
    if kind.is_document:
        raise _unsupported(f"{kind.upper()} without a content type")
    return "text/html" if kind is FileKind.PAGE else "text/plain"


def _unsupported(content_type: str) -> errors.UnsupportedContentError:
    return errors.UnsupportedContentError(
        f"The address serves {content_type[:80]}; only text, HTML, JSON and PDF can be read."
    )


def _is_readable(content_type: str) -> bool:
    return (
        content_type.startswith("text/")
        or content_type in READABLE_TYPES | UNKNOWN_TYPES
        or content_type.endswith("+json")
    )


def _raise_for_status(response: httpx2.Response) -> None:
    status = response.status_code
    message = f"The server answered {status}."
    if 200 <= status < 300:
        return
    if status == 429:
        wait = parse_retry_after(response.headers, datetime.now(UTC))
        raise errors.RateLimitedError(message, retry_after=wait)
    if status in {500, 502, 503, 504}:
        raise errors.UnavailableError(message)
    if status in {401, 403}:
        raise errors.AuthFailedError(
            message, hint="It requires a login or blocks automated requests."
        )
    raise errors.HttpError(message, status=status)
