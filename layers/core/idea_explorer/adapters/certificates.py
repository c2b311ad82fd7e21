"""The certificates that connections are checked by."""

import os
import ssl
from functools import cache

import httpx

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates(*, of_environment: bool = False) -> ssl.SSLContext:
    """Those that come with httpx; `of_environment`, those that a variable names, where one is set: a
    proxy that looks into what passes shows a certificate of its own."""
    return _load(of_environment and any(os.environ.get(name) for name in VARIABLES))


@cache  # loading them takes as long as a call, so once for all clients
def _load(of_environment: bool) -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=of_environment)
