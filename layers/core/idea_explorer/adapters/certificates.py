"""The certificates that connections are checked by."""

import ssl
from functools import cache

import httpx


@cache
def certificates() -> ssl.SSLContext:
    """Those that come with httpx. Loading them takes as long as a call, so once for all clients."""
    return httpx.create_ssl_context(trust_env=False)
