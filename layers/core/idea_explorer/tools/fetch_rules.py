"""Which address http_fetch may open. An address carries data out: in its host, its path and its query.

So the model may choose among addresses that others named, and cannot make one up: what is opened is spelled
as it was named. Once a run has read private text, a choice among many addresses could spell that text. From
then on those count that the user's request names, and a few of those that a web search found: what a search
finds is bounded by its queries, but a page may name any number. An operator may list domains that are always
open, and a request or an operator those that a run is limited to.
"""

import threading
from collections.abc import Callable, Sequence

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.private_text import NamedAddresses
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.web_scope import ANYWHERE, WebScope

NOT_NAMED = (
    "The address was not opened: neither the user, nor a search result, nor a page read in this run named"
    " it. Find the page with web_search, or say in the answer which address the user should name."
)
AFTER_PRIVATE = (
    "The address was not opened: private text was read in this run, and from then on only addresses open"
    " that the user's request names or that web_search found, exactly as found. Find the page with"
    " web_search, or say in the answer which address the user should name, or that a request with"
    " allow_fetch_after_private opens addresses that pages name."
)
OUT_OF_SCOPE = (
    "The address was not opened: this request is limited to other domains. Answer without the page, and say"
    " in the answer that it was left out."
)
NO_MORE_PAGES = (
    "The page was not opened: this run has read as many pages as it may. Go on with what they say."
)
MAX_FOUND_PAGES = 8  # that a run without a limit of pages asks for after it has read private text


@dataclass(frozen=True, slots=True)
class AllowedAddress:
    """An address to open. `may_redirect_to` is None where redirects may lead to any public address."""

    url: str
    may_redirect_to: Callable[[str], bool] | None = None


class FetchRules:
    """The rule of one run. `domains` are open with all their pages and subdomains, but lead only to one
    another: a redirect that the address asks for could lead anywhere. Pages outside of `scope` stay closed.
    Where it lists the domains that are allowed, pages there that pages named stay open after private text was
    read: whoever listed them trusts their owners with what a choice among their pages tells."""

    def __init__(
        self,
        domains: Sequence[str] = (),
        *,
        allow_after_private: bool = False,
        scope: WebScope = ANYWHERE,
        max_pages: int | None = None,
    ) -> None:
        self._open = WebScope(tuple(domain.lower().strip(".") for domain in domains))
        self._allow_after_private = allow_after_private or bool(scope.allowed_domains)
        self._scope = scope
        self._max_pages = max_pages
        self._named = NamedAddresses()
        self._opened = 0  # in this step
        self._lock = threading.Lock()

    def read(self, entries: Sequence[AnyEntry]) -> None:
        """Take the transcript into account, before the calls of a step run."""
        self._named.read(entries)
        self._opened = 0

    def check(self, url: str) -> AllowedAddress:
        """Raises ToolError `address_not_named`, `domain_not_allowed` or `page_limit`."""
        is_confined = self._named.has_private_text and not self._allow_after_private
        by_user = self._named.named_by_user(url)
        find = self._named.found_by_search if is_confined else self._named.named
        if named := by_user or find(url):
            scheme = url.partition("://")[0]
            found = AllowedAddress(
                named if "://" in named else f"{scheme}://{named}",
                self._scope.permits if self._scope.has_domains else None,
            )
        elif self._is_open(url):
            found = AllowedAddress(url, self._is_open)
        else:
            raise ToolError("address_not_named", AFTER_PRIVATE if is_confined else NOT_NAMED)
        if not self._scope.permits(found.url):
            raise ToolError("domain_not_allowed", OUT_OF_SCOPE)
        self._count_page(tells=is_confined and named is not None and not by_user)
        return found

    def _count_page(self, *, tells: bool) -> None:
        """`tells`: the choice of the page may say something about private text, also if it is not there."""
        most, before = self._max_pages, self._named.pages_read
        if tells:
            most, before = most or MAX_FOUND_PAGES, self._named.pages_asked
        with self._lock:
            if most is not None and before + self._opened >= most:
                raise ToolError("page_limit", NO_MORE_PAGES)
            self._opened += 1

    def _is_open(self, url: str) -> bool:
        is_listed = bool(self._open.allowed_domains) and self._open.permits(url)
        return is_listed and self._scope.permits(url)
