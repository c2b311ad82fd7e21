"""Which hosts and sites the API on this machine answers to.

A page of another site can make a browser call this machine: by a name that it lets point here (DNS
rebinding), which the Host header shows, or across sites, which the Origin header shows.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from idea_explorer.api.http import RequestError
from idea_explorer.domain.addresses import is_this_machine, parse_ip
from idea_explorer.domain.errors import BlockedAddressError, InvalidSettingError

_HOST = re.compile(r"[^@/?#\\\s]+")
READING = frozenset({"GET", "HEAD", "OPTIONS"})


class HostRules:
    """`names` are accepted besides those of this machine, also as origins: a proxy may rewrite Host."""

    def __init__(self, listening_on: str, names: Iterable[str] = ()) -> None:
        """Raises InvalidSettingError for names that no request could have."""
        self._names = frozenset(_fold(name) for name in names)
        try:
            for name in self._names:
                parse_ip(name)
        except BlockedAddressError as error:
            rule = "must be host names, without scheme, port, path and `*`"
            raise InvalidSettingError({"IDEA_ALLOWED_HOSTS": rule}) from error
        self._hosts = self._names | {_fold(listening_on)}

    def check(self, method: str, host: str, origin: str | None) -> None:
        """Raises RequestError."""
        name = _split(f"//{host}")[0] if _HOST.fullmatch(host) else None
        if name is None or not self._accepts(name):
            raise RequestError(
                403,
                "This server does not answer to that host name. Add it to IDEA_ALLOWED_HOSTS.",
            )
        if method not in READING and origin is not None and not self._is_own(origin, host):
            raise RequestError(403, "Requests from pages of other sites are refused.")

    def _accepts(self, name: str) -> bool:
        """No other site can let an address point here, or a name below `localhost`."""
        return name in self._hosts or is_this_machine(name) or _is_address(name)

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
    return name and _fold(name), port or {"http": 80, "https": 443}.get(parts.scheme)


def _fold(name: str) -> str:
    return name.casefold().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        return parse_ip(name) is not None
    except BlockedAddressError:
        return False
