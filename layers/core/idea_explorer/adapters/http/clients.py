"""What all our HTTP clients share: the certificates that they trust, and how httpx2's errors map to ours."""

import os
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

import httpx2

from idea_explorer.domain.errors import (
    AuthFailedError,
    NetworkError,
    RejectedError,
    UpstreamTimeoutError,
)

CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates(*, of_environment: bool = False) -> ssl.SSLContext:
    """Those of this machine; with `of_environment` those that a variable names, if one is set: a proxy that
    inspects traffic presents a certificate of its own."""
    is_set = any(os.environ.get(name) for name in CERTIFICATE_VARIABLES)
    return _load(of_environment and is_set)


@cache  # so that all clients share them
def _load(of_environment: bool) -> ssl.SSLContext:
    return _LazyContext(lambda: httpx2.create_ssl_context(trust_env=of_environment))


class _LazyContext(ssl.SSLContext):
    """Loads certificates for the first connection that is secured, which takes as long as a request and a
    few megabytes: a start, or a run whose services are on this machine, goes without."""

    def __new__(cls, _: Callable[[], ssl.SSLContext]) -> Self:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, load: Callable[[], ssl.SSLContext]) -> None:
        self._load = load
        self._loading = threading.Lock()  # connections are often opened at the same time
        self._loaded: ssl.SSLContext | None = None

    def _context(self) -> ssl.SSLContext:
        with self._loading:
            self._loaded = self._loaded or self._load()
        return self._loaded

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        self._context().set_alpn_protocols(alpn_protocols)

    def wrap_socket(self, *arguments: Any, **named: Any) -> ssl.SSLSocket:
        return self._context().wrap_socket(*arguments, **named)

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        return self._context().wrap_bio(*arguments, **named)


@contextmanager
def map_httpx_errors(service: str, *, hint: str = "") -> Iterator[None]:
    """Map httpx2's errors to ours. `hint` says what to check if the service cannot be reached."""
    try:
        yield
    except httpx2.TimeoutException as error:
        message = f"{service} did not answer in time."
        raise UpstreamTimeoutError(message, hint="Try again.") from error
    except httpx2.ProxyError as error:
        raise NetworkError(
            f"The proxy could not connect to {service}.", hint="Check HTTPS_PROXY and NO_PROXY."
        ) from error
    except httpx2.InvalidURL as error:
        raise RejectedError(f"The address for {service} is too long or not valid.") from error
    except (httpx2.LocalProtocolError, UnicodeEncodeError) as error:
        raise AuthFailedError(
            f"The request to {service} cannot be sent: a header contains a character that"
            " headers must not have.",
            hint="Check the token for line breaks and other control characters.",
        ) from error
    except httpx2.HTTPError as error:
        raise NetworkError(f"{service} could not be reached.", hint=hint) from error
