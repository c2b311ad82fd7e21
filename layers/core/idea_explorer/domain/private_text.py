"""Where private text may go: whether a run has read any, and which addresses it may open.

Both are computed from the transcript, so that a resumed run follows the same rule. Addresses count that the
user's request named, and those that search results and pages named. Files, code and research documents are
no source of addresses: whoever wrote them could have the run carry their other contents there. What a search
found is kept apart from what pages name: a page may offer as many addresses as it takes to spell a text.
"""

import re
from collections.abc import Iterator, Sequence

from idea_explorer.domain.json import Block, JsonObject, document_text, text_of
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.sources import find_addresses, normalize_source, trim_address
from idea_explorer.domain.tools import parse_search_results
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    Instruction,
    ModelCallFinished,
    Opening,
    StoredResult,
    ToolsRan,
)

PAGE_TOOLS = frozenset({"http_fetch"})
REFUSALS = frozenset({"address_not_named", "domain_not_allowed", "page_limit"})  # nothing was sent
PRIVATE_TOOLS = frozenset(name for spec in TOOLSETS.values() for name in spec.private_tools)

# What a person wrote, in a transcript that does not store it apart.
_ASKED = lazy_pattern(
    r"\AToday is [^\n]*\n\n<idea>\n(.*?)\n</idea>(?:\n\n<context>\n(.*?)\n</context>)?", re.DOTALL
)
# A person's address ends where nobody would go on with it, and not at every character that needs escaping.
_REST = r"[^\s<>\"'`\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\u201c\u201d]"
_WITH_SCHEME = lazy_pattern(rf"https?://{_REST}++", re.IGNORECASE)
# People leave out the scheme: `example.com/prices`. Possessive, so that nothing is matched a second way.
_BARE_ADDRESS = lazy_pattern(
    r"(?<![\w@./:-])(?P<host>(?:[^\W_](?:[^\W_]|-){0,62}+\.)++(?P<ending>[a-z]{2,24}+|[^\W\d_]{2,24}+))"
    rf"(?::\d{{1,5}}+)?+(?P<path>/{_REST}*+)?+(?!@)",
    re.IGNORECASE,
)
# Alone, a name with such an ending is that of a file or a program. Some are endings of domains as well.
_FILE_ENDINGS = frozenset(
    "bat bib bin cfg conf cpp css csv doc docx env exe gif gz htm html ini ipynb java jpeg jpg js json jsx"
    " kt lock log lua md mjs mov pdf php png ppt pptx ps py rb rs rst scss sh sql svg swift tar tex toml ts"
    " tsv tsx txt vue wasm xls xlsx xml yaml yml zip".split()
)
_LINK_TARGET = lazy_pattern(r"\]\((https?://[^\s()<>]++)\)", re.IGNORECASE)


def find_request_texts(opening: Opening) -> list[str]:
    """The ideas and contexts of this request and of those that it continues, as they were given."""
    if opening.requests is not None:
        return opening.requests
    asked: JsonObject = {"role": "user", "content": [*opening.content]}
    return [text for message in [*opening.turns, asked] for text in _parse_request(message)]


def _parse_request(message: JsonObject) -> list[str]:
    """What the first text of a user's message asks. A model may write the same elsewhere."""
    blocks = _blocks(message) if message.get("role") == "user" else ()
    first = next((block for block in blocks if block.get("type") == "text"), {})
    asked = _ASKED.match(text_of(first.get("text")))
    return [part for part in asked.groups() if part] if asked else []


def has_private_text(entries: Sequence[AnyEntry]) -> bool:
    """Whether an upload, code, the team's research or its library was read."""
    return any(_reads_private_text(entry) for entry in entries)


def _reads_private_text(entry: AnyEntry) -> bool:
    match entry:
        case Opening():
            documents = [block for block in entry.content if block.get("type") == "document"]
            # of a branch, its question is a document too
            asked = entry.question
            attached = any(not asked or document_text(block) != asked for block in documents)
            private = any(not _is_page(passage.source) for passage in entry.passages)
            blocks = (block for message in entry.turns for block in _blocks(message))
            called = (block.get("name") for block in blocks if block.get("type") == "tool_use")
            return (
                entry.private
                or attached
                or private
                or any(name in PRIVATE_TOOLS for name in called)
            )
        case ToolsRan(refused=False) | ApprovalsDecided():
            return any(r.name in PRIVATE_TOOLS and _found_something(r) for r in entry.results)
        case BranchesFinished():
            return any(found.private_text for found in entry.findings)
        case _:
            return False


def _found_something(result: StoredResult) -> bool:
    counts = (result.payload.get("total"), result.payload.get("totalFound"))
    return result.record.ok and 0 not in counts


def _is_page(source: str) -> bool:
    """Whether a passage is from the web. A file may be named `www.example.com`, but never with a scheme."""
    return source.startswith(("https://", "http://"))


def _blocks(message: JsonObject) -> list[Block]:
    content = message.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


class NamedAddresses:
    """The addresses that a run may open, each in the spelling in which it was named. Reads each entry of
    the transcript once."""

    def __init__(self) -> None:
        self.has_private_text = False
        self.pages_read = 0  # with tools of ours, since the last resume
        self.pages_asked = 0  # the same, with those that could not be read
        self._by_user: dict[str, str] = {}
        self._by_search: dict[str, str] = {}
        self._found: dict[str, str] = {}
        self._position = 0

    def read(self, entries: Sequence[AnyEntry]) -> None:
        """Read what was appended since the last call."""
        for entry in entries[self._position :]:
            self._read_entry(entry)
        self._position = len(entries)

    def named_by_user(self, url: str) -> str | None:
        return self._by_user.get(_key(url))

    def found_by_search(self, url: str) -> str | None:
        return self._by_search.get(_key(url))

    def named(self, url: str) -> str | None:
        """The address as the user, a search result or a page named it."""
        key = _key(url)
        return self._by_user.get(key) or self._by_search.get(key) or self._found.get(key)

    def _read_entry(self, entry: AnyEntry) -> None:
        self.has_private_text = self.has_private_text or _reads_private_text(entry)
        match entry:
            case Opening():
                self._read_opening(entry)
            case ModelCallFinished():
                self._read_answer(entry.content)
            case ToolsRan() | ApprovalsDecided():
                for result in entry.results:
                    self._read_result(result)
            case BranchesFinished():
                for passage in (p for found in entry.findings for p in found.passages):
                    if _is_page(passage.source):
                        self._add(self._found, passage.source)
            case Instruction(purpose="resume"):
                self.pages_read = self.pages_asked = 0

    def _read_opening(self, opening: Opening) -> None:
        for text in find_request_texts(opening):
            for address in find_request_addresses(text):
                self._add(self._by_user, address)
        for passage in opening.passages:
            if _is_page(passage.source):
                self._read_page(passage.source, passage.text)

    def _read_answer(self, content: Sequence[Block]) -> None:
        for block in content:
            is_search = block.get("type") == "web_search_tool_result"
            for passage in parse_search_results([block]):
                if is_search:
                    self._add(self._by_search, passage.source)
                else:
                    self._read_page(passage.source, passage.text)

    def _read_result(self, result: StoredResult) -> None:
        if result.name not in PAGE_TOOLS:
            return
        self.pages_asked += result.record.error_type not in REFUSALS
        if result.record.ok:
            self.pages_read += 1
            payload = result.payload
            self._read_page(text_of(payload.get("url")), text_of(payload.get("text")))

    def _read_page(self, url: str, text: str) -> None:
        self._add(self._found, url)
        for address in find_addresses(text):
            self._add(self._found, address)
        for link in _LINK_TARGET.finditer(text):
            self._add(self._found, link[1])

    def _add(self, known: dict[str, str], address: str) -> None:
        known.setdefault(_key(address), address)


def _key(address: str) -> str:
    return normalize_source(address if "://" in address else f"https://{address}")


def find_request_addresses(text: str) -> Iterator[str]:
    """The addresses that a person wrote, also those without a scheme. Brackets around one are no part
    of it, so it counts with and without them."""
    found = [address[0] for address in _WITH_SCHEME.finditer(text)]
    found += [bare[0] for bare in _BARE_ADDRESS.finditer(text) if not _is_file_name(bare)]
    for address in found:
        yield trim_address(address)
    yield from find_addresses(text)


def _is_file_name(bare: re.Match[str]) -> bool:
    is_whole = not bare["path"] and bare["host"][:4].lower() != "www."
    return is_whole and bare["ending"].lower() in _FILE_ENDINGS
