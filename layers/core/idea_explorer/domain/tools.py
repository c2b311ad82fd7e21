"""A tool call, its result, the evidence in it, and what is recorded of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import (
    Block,
    JsonObject,
    digest,
    document_text,
    dump_canonical,
    text_of,
)
from idea_explorer.domain.server_tools import RESULT_TYPES, WEB_FETCH
from idea_explorer.domain.text import hash_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One piece of evidence. `text` is empty for results of web_search, whose content is encrypted, and for
    PDFs. `age` is the page's own date, `read_on` the day on which a page was read."""

    source: str
    title: str = ""
    sha256: str
    text: str = ""
    age: str = ""
    read_on: str = ""


def make_passage(source: str, text: str, *, title: str = "") -> Passage:
    return Passage(source=source, title=title, sha256=hash_text(text), text=text)


_PARTS = (", page ", ", sheet ", ", slide ")


def name_part(file: str, label: str) -> str:
    """How a part of a file is cited: `report.pdf, page 3`."""
    return f"{file}, {label}" if label else file


def find_file(source: str) -> str:
    """The name of the file in the citation of one of its parts."""
    end = max(map(source.rfind, _PARTS))
    return source[:end] if end >= 0 else source


def parse_search_results(content: Iterable[Block]) -> Iterator[Passage]:
    """The web pages that Anthropic's web_search found and web_fetch read during an answer."""
    for block in content:
        found = block.get("content")
        match block.get("type"), found:
            case "web_search_tool_result", list():
                for result in found:
                    if isinstance(result, dict) and (url := text_of(result.get("url"))):
                        yield Passage(
                            source=url,
                            title=text_of(result.get("title")),
                            sha256=hash_text(text_of(result.get("encrypted_content"))),
                            age=text_of(result.get("page_age")),
                        )
            case "web_fetch_tool_result", dict() if url := text_of(found.get("url")):
                yield _parse_page(url, found)


def _parse_page(url: str, page: JsonObject) -> Passage:
    document = page.get("content")
    document = document if isinstance(document, dict) else {}
    source = document.get("source")
    data = document_text(document)
    is_text = isinstance(source, dict) and source.get("type") == "text"
    return Passage(
        source=url,
        title=text_of(document.get("title")),
        sha256=hash_text(data),
        text=data if is_text else "",
        read_on=text_of(page.get("retrieved_at"))[: len("2026-11-17")],
    )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asked for. `input` is untrusted and not yet checked."""

    id: str
    name: str
    input: JsonObject

    @property
    def key(self) -> str:
        """Equal for the same call, whatever the order of its arguments."""
        return f"{self.name} {dump_canonical(self.input)}"


@dataclass(frozen=True)
class ToolResult:
    """What a tool returns and what is recorded of it: `payload` goes to the model, the rest to people,
    logs and the evidence ledger."""

    payload: JsonObject
    summary: str
    error_type: str | None = None
    transient: bool = False
    retry_after: float | None = None
    was_retried: bool = False
    result_count: int | None = None
    size: int | None = None
    passages: tuple[Passage, ...] = ()
    proposal: Proposal | None = None  # the result waits for a person

    @property
    def ok(self) -> bool:
        return self.error_type is None

    @cached_property
    def canonical(self) -> str:
        """The payload as text. It may be large, so it is written once."""
        return dump_canonical(self.payload)

    @property
    def sha256(self) -> str:
        """Equal for equal findings; how long they took does not count."""
        if "durationMs" not in self.payload:
            return hash_text(self.canonical)
        return digest({name: v for name, v in self.payload.items() if name != "durationMs"})

    @classmethod
    def success(
        cls,
        fields: JsonObject,
        summary: str,
        *,
        result_count: int | None = None,
        size: int | None = None,
        passages: Sequence[Passage] = (),
        proposal: Proposal | None = None,
    ) -> "ToolResult":
        return cls(
            payload={"ok": True, **fields},
            summary=summary,
            result_count=result_count,
            size=size,
            passages=tuple(passages),
            proposal=proposal,
        )

    @classmethod
    def failure(
        cls,
        error_type: str,
        message: str,
        *,
        hint: str = "",
        transient: bool = False,
        retry_after: float | None = None,
    ) -> "ToolResult":
        payload: JsonObject = {"ok": False, "error_type": error_type, "message": message}
        if hint:
            payload["hint"] = hint
        return cls(
            payload=payload,
            summary=message,
            error_type=error_type,
            transient=transient,
            retry_after=retry_after,
        )

    @classmethod
    def from_error(cls, error: ToolError) -> "ToolResult":
        return cls.failure(
            error.error_type,
            error.message,
            transient=error.transient,
            retry_after=error.retry_after,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """One line of the log and of `stats.tool_calls`; never holds contents."""

    name: str
    path: str | None = None
    duration_ms: int
    ok: bool
    bytes: int | None = None
    error_type: str | None = None
    was_retried: bool = False  # in the log only, as is the step
    step: int | None = None

    @classmethod
    def of_server_result(cls, block: Block, step: int) -> "ToolRecord":
        """From the result of a tool that runs at Anthropic: how long it took is not known."""
        found = block.get("content")
        name = RESULT_TYPES[text_of(block.get("type"))]
        code = text_of(found.get("error_code")) if isinstance(found, dict) else "unavailable"
        is_page = name == WEB_FETCH
        pages = [passage.text for passage in parse_search_results([block])] if is_page else []
        ok = bool(pages) if is_page else isinstance(found, list)
        size = len(pages[0].encode("utf-8", "surrogatepass")) if is_page and ok else None
        return cls(
            name=name,
            duration_ms=0,
            ok=ok,
            bytes=size,
            error_type=None if ok else code or "unavailable",
            step=step,
        )

    @property
    def known_name(self) -> str:
        """The name to count by. A model may invent names, and each would become a metric of its own."""
        return "unknown" if self.error_type == "unknown_tool" else self.name

    def as_json(self) -> JsonObject:
        """The contract's spelling, with absent fields left out."""
        named: JsonObject = {
            "name": self.name,
            "path": self.path,
            "durationMs": self.duration_ms,
            "ok": self.ok,
            "bytes": self.bytes,
            "errorType": self.error_type,
        }
        return {key: value for key, value in named.items() if value is not None}
