"""Which address http_fetch may open. An address carries data out: in its host, its path and its query.

So the model may choose among addresses that others named, and cannot make one up: what is opened is spelled
as it was named. Once a run has read private text, a choice among many addresses could spell that text, and
only those count that the user's request names. An operator may list domains that are always open.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.private_text import NamedAddresses
from idea_explorer.domain.transcript import AnyEntry

NOT_NAMED = (
    "The address was not opened: neither the user, nor a search result, nor a page read in this run named"
    " it. Find the page with web_search, or say in the answer which address the user should name."
)
AFTER_PRIVATE = (
    "The address was not opened: private text was read in this run, and from then on only addresses open"
    " that the user's request names. Answer without the page, and say in the answer which address the user"
    " should name, or that a request with allow_fetch_after_private opens pages that were found."
)


@dataclass(frozen=True, slots=True)
class AllowedAddress:
    """An address to open. `may_redirect_to` is None where redirects may lead to any public address."""

    url: str
    may_redirect_to: Callable[[str], bool] | None = None


class FetchRules:
    """The rule of one run. `domains` are open with all their pages and subdomains, but lead only to one
    another: a redirect that the address asks for could lead anywhere."""

    def __init__(self, domains: Sequence[str] = (), *, allow_after_private: bool = False) -> None:
        self._domains = tuple(domain.lower().strip(".") for domain in domains)
        self._allow_after_private = allow_after_private
        self._named = NamedAddresses()

    def read(self, entries: Sequence[AnyEntry]) -> None:
        """Take the transcript into account, before the calls of a step run."""
        self._named.read(entries)

    def check(self, url: str) -> AllowedAddress:
        """Raises ToolError `address_not_named`."""
        is_confined = self._named.has_private_text and not self._allow_after_private
        find = self._named.named_by_user if is_confined else self._named.named
        if named := find(url):
            scheme = url.partition("://")[0]
            return AllowedAddress(named if "://" in named else f"{scheme}://{named}")
        if self._is_open(url):
            return AllowedAddress(url, self._is_open)
        raise ToolError("address_not_named", AFTER_PRIVATE if is_confined else NOT_NAMED)

    def _is_open(self, url: str) -> bool:
        try:
            host = (urlsplit(url).hostname or "").rstrip(".")
        except ValueError:
            return False
        return any(host == domain or host.endswith(f".{domain}") for domain in self._domains)
