"""Which hosts and sites the API on this machine answers to.

A page of another site can make a browser call this machine: by a name that it lets point here (DNS
rebinding), which the Host header shows, or across sites, which the Origin header shows.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from idea_explorer.api.http import RequestError

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"[^@/?#\\\s]+")
READING = frozenset({"GET", "HEAD", "OPTIONS"})


class HostRules:
    """`names` are accepted besides those of this machine, also as origins: a proxy may rewrite Host."""

    def __init__(self, listening_on: str, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.casefold() for name in names)
        self._hosts = self._names | LOCAL_NAMES | {listening_on.casefold()}

    def check(self, method: str, host: str, origin: str | None, local_address: str) -> None:
        """Raises RequestError. `local_address` is the one that the peer connected to: it needs no name,
        so no other site can have made it."""
        name = _split(f"//{host}")[0] if _HOST.fullmatch(host) else None
        if name is None or name not in self._hosts | {local_address}:
            raise RequestError(
                403,
                "This server does not answer to that host name. Add it to IDEA_ALLOWED_HOSTS.",
            )
        if method not in READING and origin is not None and not self._is_own(origin, host):
            raise RequestError(403, "Requests from pages of other sites are refused.")

    def _is_own(self, origin: str, host: str) -> bool:
        name, port = _split(origin)
        scheme, _, _ = origin.partition("://")
        return name is not None and (
            name in self._names or (name, port) == _split(f"{scheme}://{host}")
        )


def _split(url: str) -> tuple[str | None, int | None]:
    """Host and port; no host if the address is not valid."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None, None
    return name, port or {"http": 80, "https": 443}.get(parts.scheme)
