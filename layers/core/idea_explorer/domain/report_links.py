"""Remove from the report of a run that read private text the links that the run did not find.

The address of such a link may spell what was read, and previews in chats open addresses by themselves. Links
stay that the user's request names, that the run read or found, or that lead to the team's repository; they
are spelled as they were found, because a query or a fragment could carry something too.
"""

import re
from collections.abc import Sequence

from idea_explorer.domain.private_text import find_request_addresses
from idea_explorer.domain.report_markup import rewrite_parts, rewrite_targets
from idea_explorer.domain.sources import (
    ADDRESS_CHARS,
    escape_target,
    find_addresses,
    is_web_address,
    normalize_source,
    trim_address,
)
from idea_explorer.domain.tools import Passage

REMOVED = "(link removed)"
REMOVED_TARGET = "#link-removed"
_LINKED = re.compile(r"\][(:]|//|www\.", re.IGNORECASE)
_ADDRESS = re.compile(
    rf"""(?P<href>href=")?(?P<angle><)?(?P<address>(?:https?://|(?<![\w./@-])www\.){ADDRESS_CHARS})"""
    r"(?(angle)>?)",
    re.IGNORECASE,
)


class KnownLinks:
    """`given` are the texts of the request, `page` is the repository's address on the web."""

    def __init__(
        self, evidence: Sequence[Passage], given: Sequence[str] = (), page: str | None = None
    ) -> None:
        named = [address for text in given for address in find_request_addresses(text)]
        found = [passage.source for passage in evidence if "://" in passage.source]
        with_scheme = [a if "://" in a else f"https://{a}" for a in [*found, *named]]
        self._spellings = {normalize_source(a): a for a in reversed(with_scheme)}
        self._home = normalize_source(page) if page else None
        # of what was read, and not of whole results: these repeat what the model asked for
        self._texts = [passage.text for passage in evidence]
        self._quotable: set[str] | None = None

    def spell(self, address: str) -> str | None:
        """The address as it was found or named; None if it was not."""
        key = normalize_source(address)
        is_ours = self._home is not None and f"{key}/".startswith(f"{self._home}/")
        return address if is_ours else self._spellings.get(key)

    def may_quote(self, address: str) -> bool:
        """Whether an address may be shown as code: it is spelled like this in what was read."""
        if self._quotable is None:
            self._quotable = {a for text in self._texts for a in find_addresses(text)}
        return address in self._quotable or self.spell(address) == address


def remove_unknown_links(text: str, known: KnownLinks) -> tuple[str, int]:
    """The text, and how many links were removed from it."""
    return _Removal(known).run(text)


class _Removal:
    def __init__(self, known: KnownLinks) -> None:
        self._known = known
        self._count = 0

    def run(self, text: str) -> tuple[str, int]:
        return rewrite_parts(text, prose=self._clean_prose, code=self._clean_code), self._count

    def _clean_prose(self, prose: str) -> str:
        if not _LINKED.search(prose):
            return prose
        return _ADDRESS.sub(self._rewrite_address, rewrite_targets(prose, self._rewrite_target))

    def _clean_code(self, code: str) -> str:
        """Other programs may see code elsewhere, so links in it count as well."""
        if not _LINKED.search(code):
            return code
        return _ADDRESS.sub(
            self._rewrite_quoted, rewrite_targets(code, self._rewrite_quoted_target)
        )

    def _rewrite_quoted_target(self, target: str) -> str:
        return target if self._known.may_quote(target) else self._rewrite_target(target)

    def _rewrite_target(self, target: str) -> str:
        if not is_web_address(target):
            return target
        if spelling := self._known.spell(target):
            return escape_target(spelling)
        self._count += 1
        return REMOVED_TARGET

    def _rewrite_address(self, found: re.Match[str]) -> str:
        address = trim_address(found["address"])
        rest = found["address"][len(address) :]
        if spelling := self._known.spell(address):
            before, after = found[0].split(found["address"], 1)
            return f"{before}{spelling}{rest}{after}"
        if not found["href"] and self._known.may_quote(address):
            return f"`{address}`{rest}"  # as code, which nothing opens
        self._count += 1
        return f'href="{REMOVED_TARGET}' if found["href"] else f"{REMOVED}{rest}"

    def _rewrite_quoted(self, found: re.Match[str]) -> str:
        address = trim_address(found["address"])
        if self._known.may_quote(address):
            return found[0]
        self._count += 1
        return REMOVED + found["address"][len(address) :]
