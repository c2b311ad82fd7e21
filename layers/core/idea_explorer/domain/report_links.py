"""Remove from the report of a run that read private text the links that the run did not find.

The address of such a link may spell what was read, and previews in chats open addresses by themselves. Links
stay that the user's request names, that the run read or found, or that lead to the team's repository; they
are spelled as they were found, because a query or a fragment could carry something too. What follows such a
link without a space is kept apart from it. Addresses that nobody else can receive stay as well.
"""

import re
from collections.abc import Sequence

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.private_text import find_request_addresses
from idea_explorer.domain.report_markup import (
    decode_target,
    rewrite_parts,
    rewrite_targets,
    write_anchor,
)
from idea_explorer.domain.sources import (
    ADDRESS_CHARS,
    escape_target,
    find_addresses,
    is_web_address,
    normalize_source,
    trim_address,
)
from idea_explorer.domain.text import unescape_html
from idea_explorer.domain.tools import Passage

REMOVED = "(link removed)"
REMOVED_TARGET = "#link-removed"
_LINKED = lazy_pattern(r"\][(:]|//|www\.|mailto|xmpp|[&@\\]", re.IGNORECASE)
_ADDRESS = lazy_pattern(
    r"""<a href="(?P<href>[^"]*+)">|<(?P<angled>(?:https?|ftp)://[^\x00-\x20<>]*+|(?:mailto:)?[^\s<>@]++@[^\s<>@]++)>"""
    rf"""|(?P<plain>(?:(?:https?|ftp)://|mailto:|xmpp:|(?<![A-Za-z0-9./@-])www\.){ADDRESS_CHARS})""",
    re.IGNORECASE,
)
# What may follow an address before the next space, so that programs which find addresses see its end.
_END = lazy_pattern(r"[]\"'|}*_~`.,:;!?)]*+(?=[ \t\r\n<]|\Z)")
_LABEL_END = lazy_pattern(rf"\]\((?P<target>#link-removed|https?://{ADDRESS_CHARS}|(?=\)))")
_SHORTEST = len("www.a")
_RUN = lazy_pattern(r"[^\s<>()\[\]\"'`|]++")
_MAIL = lazy_pattern(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++")
# On this machine, reserved for examples (RFC 2606), or a name that is only spelled like an address.
_HARMLESS = lazy_pattern(
    r"https?://(?:(?:[a-z0-9-]++\.)*+(?:localhost|test|invalid)|127(?:\.\d{1,3}){3}|\[::1\]"
    r"|(?:(?!example\.)[a-z0-9-]++\.)*+example\.(?:com|net|org))(?::\d{1,5})?(?:[/?#][^\s\\@]*+)?"
    r"|http://www\.w3\.org/(?:2000/svg|1999/xhtml|1999/xlink|1999/XSL/Transform|1998/Math/MathML|2000/xmlns/"
    r"|2001/XMLSchema(?:-instance)?|XML/1998/namespace)"
    r"|https://(?:pypi\.org/simple|registry\.npmjs\.org)/?",
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
        self._given = given
        self._mails: set[str] | None = None
        self._quotable: set[str] | None = None

    def spell(self, address: str) -> str | None:
        """The address as it was found or named; None if it was not."""
        if _HARMLESS.fullmatch(address):
            return address
        if address[:7].lower() == "mailto:":
            name = address[7:].partition("?")[0]
            return f"mailto:{name}" if self.has_mail(name) else None
        key = normalize_source(address)
        is_ours = self._home is not None and f"{key}/".startswith(f"{self._home}/")
        return address if is_ours else self._spellings.get(key)

    def has_mail(self, name: str) -> bool:
        """Whether a mail address stands in the request or in what was read."""
        if self._mails is None:
            texts = [*self._given, *self._texts]
            self._mails = {
                found[0].rstrip(".-") for text in texts for found in _MAIL.finditer(text)
            }
        return name in self._mails

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
        prose = self._remove_spelled(rewrite_targets(prose, self._rewrite_target))
        return _ADDRESS.sub(self._rewrite_address, prose)

    def _clean_code(self, code: str) -> str:
        """Other programs may see code elsewhere, so links in it count as well."""
        if not _LINKED.search(code):
            return code
        code = self._remove_spelled(rewrite_targets(code, self._rewrite_quoted_target))
        return _ADDRESS.sub(self._rewrite_quoted, code)

    def _remove_spelled(self, text: str) -> str:
        """Remove addresses that are spelled with character references or escapes."""
        return _RUN.sub(self._rewrite_run, text) if "&" in text or "\\" in text else text

    def _rewrite_run(self, found: re.Match[str]) -> str:
        given = found[0]
        if len(given) < _SHORTEST or ("&" not in given and "\\" not in given):
            return given
        spelled = _ADDRESS.search(decode_target(given))
        if not spelled or spelled[0] in given or self._known.may_quote(trim_address(spelled[0])):
            return given
        return self._remove()

    def _remove(self, by: str = REMOVED) -> str:
        self._count += 1
        return by

    def _rewrite_quoted_target(self, target: str) -> str:
        return target if self._known.may_quote(target) else self._rewrite_target(target)

    def _rewrite_target(self, target: str) -> str:
        if not is_web_address(target) and target[:7].lower() != "mailto:":
            return target
        spelling = self._known.spell(target)
        return escape_target(spelling) if spelling else self._remove(REMOVED_TARGET)

    def _rewrite_address(self, found: re.Match[str]) -> str:
        if found["href"] is not None:
            return write_anchor(self._rewrite_target(unescape_html(found["href"])))
        if found["angled"]:
            before = found.string[max(found.start() - 1, 0) : found.start()]
            written = self._rewrite_angled(found["angled"])
            # an address before it ended at the bracket
            is_joined = not written.startswith("<") and not before.isspace() and before not in "(["
            return f" {written}" if is_joined else written
        address = trim_address(found["plain"])
        rest = found["plain"][len(address) :]
        if spelling := self._known.spell(address):
            is_whole = self._ends(found.string, found.start() + len(address))
            return f"{spelling}{rest}" if is_whole else f"{_delimit(spelling)}{rest}"
        if self._known.may_quote(address):
            return f"`{address}`{rest}"  # as code, which nothing opens
        return self._remove() + rest

    def _rewrite_angled(self, angled: str) -> str:
        is_mail = "://" not in angled
        address = f"mailto:{angled}" if is_mail and angled[:7].lower() != "mailto:" else angled
        if spelling := self._known.spell(address):
            return f"<{angled}>" if is_mail and "?" not in angled else f"<{spelling}>"
        return f"`{angled}`" if self._known.may_quote(angled) else self._remove()

    def _ends(self, text: str, position: int) -> bool:
        """Whether an address ends here for every program: before a space, or as the label of a link."""
        if _END.match(text, position):
            return True
        label = _LABEL_END.match(text, position)
        return label is not None and text[label.end() : label.end() + 1] in {")", " ", "\n"}

    def _rewrite_quoted(self, found: re.Match[str]) -> str:
        if found["href"] is not None or found["angled"]:
            given = unescape_html(found["href"] or found["angled"] or "")
            known = not _is_outward(given) or self._known.may_quote(given)
            return found[0] if known else self._remove()
        address = trim_address(found["plain"])
        end = found.start() + len(address)
        is_whole = found.string[end : end + 1] in {'"', "'"} or self._ends(found.string, end)
        if is_whole and self._known.may_quote(address):
            return found[0]
        return self._remove() + found["plain"][len(address) :]


def _is_outward(target: str) -> bool:
    return is_web_address(target) or ":" in target or "@" in target


def _delimit(address: str) -> str:
    """The address in angle brackets: what follows is no part of it."""
    return f"<{address}>" if ":" in address[:8] else f"<https://{address}>"
