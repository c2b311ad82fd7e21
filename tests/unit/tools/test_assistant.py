import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRecorder, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.deadline import TimeLimitExceededError
from idea_explorer.domain.errors import (
    BlockedAddressError,
    ExternalError,
    HttpError,
    NetworkError,
    RateLimitedError,
    ResponseTooLargeError,
    TimeSpentError,
    TooManyRedirectsError,
    UnreadableFileError,
    UnsupportedContentError,
)
from idea_explorer.domain.events import RunEvent, ToolCallError
from idea_explorer.domain.file_kinds import FileKind
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.ports import DocumentPart, DocumentText, FileInfo, UploadedFile, WebPage
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools

TOOLS = ("http_fetch", "file_search", "calculator")
URL = "https://example.org/rules"


@dataclass
class Pages:
    """The web in memory: one answer after the other, the last for ever. Counts what it is asked."""

    answers: list[WebPage | ExternalError] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def fetch(self, url: str, may_redirect_to: object = None) -> WebPage:
        self.asked.append(url)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, ExternalError):
            raise answer
        return answer


@dataclass
class Files:
    files: Sequence[UploadedFile] = ()
    reads: int = 0

    def list(self) -> Sequence[FileInfo]:
        return [FileInfo(file.name, len(file.content)) for file in self.files]

    def read_all(self) -> Iterable[UploadedFile]:
        self.reads += 1
        return iter(self.files)


class Impatient(SystemClock):
    def sleep(self, seconds: float) -> None:
        """The second before another try is not what these tests are about."""


@dataclass
class Told:
    """Keeps events and log lines."""

    events: list[RunEvent] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def emit(self, event: RunEvent) -> None:
        self.events.append(event)

    def info(self, message: str, **fields: object) -> None:
        self.lines.append(message)

    warning = error = info


def html(body: str, *, url: str = URL) -> WebPage:
    return WebPage(url, 200, "text/html", "utf-8", body.encode())


@dataclass
class Documents:
    """Every document says the same, or cannot be read. `fails_at` is the read whose time is up."""

    text: DocumentText | None = None
    fails_at: int = 0
    reads: int = 0

    def read(self, kind: FileKind, content: bytes, *, max_chars: int) -> DocumentText:
        self.reads += 1
        if self.reads == self.fails_at:
            raise TimeLimitExceededError
        if self.text is None:
            raise UnreadableFileError("is encrypted")
        return self.text


@dataclass
class Assistant:
    """The toolset behind all its wrappers, as the loop calls it."""

    pages: Pages = field(default_factory=lambda: Pages([html("<title>T</title><p>Hello")]))
    files: Files = field(default_factory=Files)
    told: Told = field(default_factory=Told)
    documents: Documents = field(default_factory=Documents)

    def __post_init__(self) -> None:
        clock = Impatient()
        toolset = assistant_tools(
            self.pages, self.files, DIRECT_VERSION, None, documents=self.documents
        )
        self.toolset = toolset
        runner = ToolLimiter(ToolRetrier(ToolExecutor(self.told), clock, self.told))
        self._caller = ToolRecorder(ArgumentValidator(toolset, runner, self.told), self.told, clock)

    def call(self, name: str, given: JsonObject) -> ToolResult:
        return self._caller.call(ToolCall("call_1", name, given))

    def ok(self, name: str, given: JsonObject) -> dict[str, Any]:
        result = self.call(name, given)
        assert result.ok, result.payload
        return result.payload


def notes(*texts: str) -> Files:
    return Files([UploadedFile(f"{n}.txt", text.encode()) for n, text in enumerate(texts)])


# http_fetch


def test_html_comes_as_readable_text_with_its_title() -> None:
    page = html("<title>Rules</title><nav>Menu</nav><h1>Permits</h1><p>Ask <a href='/x'>us</a>")
    assert Assistant(Pages([page])).ok("http_fetch", {"url": URL}) == {
        "ok": True,
        "url": URL,
        "status": 200,
        "contentType": "text/html",
        "title": "Rules",
        "text": "# Permits\n\nAsk [us](https://example.org/x)",
        "truncated": False,
        "bytes": len(page.body),
    }


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "text/csv"])
def test_json_and_text_come_as_they_are(content_type: str) -> None:
    body = '{"a":  "<b>"}\r\n'
    page = WebPage(URL, 200, content_type, "", body.encode())
    fields = Assistant(Pages([page])).ok("http_fetch", {"url": URL})
    assert (fields["text"], fields["title"]) == (body, None)


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
def test_a_long_page_is_cut_and_said_to_be(content_type: str) -> None:
    page = WebPage(URL, 200, content_type, "", b"word " * 30_000)
    fields = Assistant(Pages([page])).ok("http_fetch", {"url": URL})
    assert len(fields["text"]) == 100_000
    assert fields["truncated"]
    assert fields["bytes"] == 150_000
    assert fields["note"] == "The page is longer: this is the first 100,000 characters of its text."


def test_a_page_whose_end_was_not_fetched_is_said_to_be_cut() -> None:
    page = WebPage(URL, 200, "text/html", "", b"<p>Hello", is_cut=True)
    fields = Assistant(Pages([page])).ok("http_fetch", {"url": URL})
    assert (fields["text"], fields["truncated"]) == ("Hello", True)
    assert "The page is longer" in fields["note"]


def test_a_pdf_comes_as_the_text_of_its_pages_and_each_is_cited_by_its_address() -> None:
    parts = [DocumentPart("page 1", "Permits"), DocumentPart("page 2", "A permit costs 120.")]
    page = WebPage(f"{URL}#top", 200, "application/pdf", "", b"%PDF-1.7")
    assistant = Assistant(Pages([page]), documents=Documents(DocumentText(parts, "it is cut")))
    result = assistant.call("http_fetch", {"url": URL})

    assert result.payload["text"] == "[page 1]\nPermits\n\n[page 2]\nA permit costs 120."
    assert (result.payload["truncated"], result.payload["note"]) == (True, "Of the PDF, it is cut.")
    assert [p.source for p in result.passages] == [f"{URL}#page=1", f"{URL}#page=2"]


def test_a_pdf_that_cannot_be_read_is_an_error_with_the_reason() -> None:
    page = WebPage(URL, 200, "application/pdf", "", b"%PDF-1.7")
    result = Assistant(Pages([page])).call("http_fetch", {"url": URL})
    assert (result.error_type, result.summary) == ("unreadable_pdf", "The PDF is encrypted.")


def test_what_was_read_is_evidence_under_its_final_address() -> None:
    page = html("<title>Rules</title>Hello", url="https://example.org/final")
    (passage,) = Assistant(Pages([page])).call("http_fetch", {"url": URL}).passages
    assert (passage.source, passage.title, passage.text) == (page.url, "Rules", "Hello")


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (BlockedAddressError("no"), "blocked_address"),
        (UnsupportedContentError("no"), "unsupported_content_type"),
        (ResponseTooLargeError("no"), "response_too_large"),
        (TooManyRedirectsError("no"), "too_many_redirects"),
        (HttpError("no", status=404), "http_error"),
        (TimeSpentError("no"), "timeout"),
    ],
)
def test_a_permanent_failure_has_its_type_and_is_not_tried_again(
    error: ExternalError, error_type: str
) -> None:
    assistant = Assistant(Pages([error]))
    result = assistant.call("http_fetch", {"url": URL})
    assert result.payload == {"ok": False, "error_type": error_type, "message": "no"}
    assert len(assistant.pages.asked) == 1
    assert not result.was_retried


@pytest.mark.parametrize("error", [NetworkError("reset"), RateLimitedError("429")])
def test_a_transient_failure_is_tried_once_more(error: ExternalError) -> None:
    assistant = Assistant(Pages([error, html("Hello")]))
    assert assistant.ok("http_fetch", {"url": URL})["text"] == "Hello"
    assert "http_fetch_retry_attempt" in assistant.told.lines
    failing = Assistant(Pages([error]))
    failing.call("http_fetch", {"url": URL})
    assert len(failing.pages.asked) == 2
    (told,) = [event for event in failing.told.events if isinstance(event, ToolCallError)]
    assert told.was_retried


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "example.org", "//example.org", "https://",
            "https://a b", "javascript:alert(1)", "https://x/" + "y" * 4_000, 7, ["https://x"], True],
)  # fmt: skip
def test_what_is_no_web_address_is_not_fetched(url: JsonValue) -> None:
    assistant = Assistant()
    result = assistant.call("http_fetch", {"url": url})
    assert result.error_type == "invalid_arguments"
    assert result.payload["message"] == (
        "http_fetch requires 'url' parameter (full http or https URL, at most 4,000 characters)."
        ' Example: {"url": "https://www.example.com/permits"}'
    )
    assert assistant.pages.asked == []


def test_a_page_of_control_characters_still_gives_a_result() -> None:
    page = WebPage(URL, 200, "text/plain", "", b'\x00\x01"\\' * 120_000)
    assert Assistant(Pages([page])).ok("http_fetch", {"url": URL})["truncated"]


# file_search


def test_uploaded_documentation_is_searched_for_what_the_user_asks() -> None:
    files = notes("Our API endpoints are GET /orders and POST /orders.", "Holiday plan")
    assistant = Assistant(files=files)
    fields = assistant.ok("file_search", {"query": "API endpoints"})
    (result,) = fields["results"]
    assert (result["file"], fields["totalFound"]) == ("0.txt", 1)
    assert "GET /orders" in result["excerpt"]
    assert isinstance(result["score"], float)
    assert fields["query"] == "API endpoints"


def test_top_k_bounds_the_results_and_not_the_count() -> None:
    assistant = Assistant(files=notes(*["the same words"] * 12))
    fields = assistant.ok("file_search", {"query": "words", "top_k": 2})
    assert (len(fields["results"]), fields["totalFound"]) == (2, 12)
    assert len(assistant.ok("file_search", {"query": "same"})["results"]) == 5


def test_the_files_are_read_once() -> None:
    assistant = Assistant(files=notes("a b c"))
    for query in ("a", "b", "c"):
        assistant.ok("file_search", {"query": query})
    assert assistant.files.reads == 1


def test_without_a_match_the_searched_files_are_named() -> None:
    fields = Assistant(files=notes("hay", "straw")).ok("file_search", {"query": "needle"})
    assert (fields["results"], fields["totalFound"]) == ([], 0)
    assert "0.txt, 1.txt" in fields["note"]


def test_files_that_are_no_text_are_named_with_the_reason() -> None:
    files = Files([UploadedFile("a.txt", b"words"), UploadedFile("b.pdf", b"%PDF-1.4")])
    fields = Assistant(files=files).ok("file_search", {"query": "words"})
    assert fields["remarks"]["b.pdf"] == "not searched: it is encrypted"


def test_a_passage_of_a_document_has_its_page_also_as_evidence() -> None:
    parts = [DocumentPart("page 1", "Bees"), DocumentPart("page 2", "A permit costs 120.")]
    documents = Documents(DocumentText(parts, "only its first 2 pages are read"))
    assistant = Assistant(files=Files([UploadedFile("b.pdf", b"%PDF-1.4")]), documents=documents)
    result = assistant.call("file_search", {"query": "permit"})

    assert isinstance(result.payload["results"], list)
    (found,) = result.payload["results"]
    assert isinstance(found, dict)
    assert (found["file"], found["part"]) == ("b.pdf", "page 2")
    assert result.payload["remarks"] == {"b.pdf": "only its first 2 pages are read"}
    assert [passage.source for passage in result.passages] == ["b.pdf, page 2"]


def test_files_that_were_read_before_the_time_was_up_are_not_read_again() -> None:
    documents = Documents(DocumentText([DocumentPart("page 1", "Bees")]), fails_at=2)
    pdfs = Files([UploadedFile(f"{n}.pdf", b"%PDF-1.4") for n in range(3)])
    assistant = Assistant(files=pdfs, documents=documents)

    assert assistant.call("file_search", {"query": "bees"}).error_type == "timeout"
    assert assistant.ok("file_search", {"query": "bees"})["totalFound"] == 3
    assert documents.reads == 4  # the one that was interrupted, twice


@pytest.mark.parametrize("files", [Files(), Files([UploadedFile("b.pdf", b"%PDF-1.4")])])
def test_no_files_is_an_error_that_names_the_better_tool_or_the_reason(files: Files) -> None:
    result = Assistant(files=files).call("file_search", {"query": "permits"})
    assert result.error_type == "no_files"
    assert ("b.pdf" if files.files else "web_search") in result.summary


@pytest.mark.parametrize("given", [{}, {"query": None}, {"query": ""}, {"query": " \ufeff"},
                                   {"query": 5}, {"query": []}, {"query": {"a": 1}}])  # fmt: skip
def test_file_search_without_a_query_names_the_better_tool(given: JsonObject) -> None:
    assistant = Assistant(files=notes("words"))
    result = assistant.call("file_search", given)
    assert result.payload == {
        "ok": False,
        "error_type": "invalid_arguments",
        "message": "file_search requires 'query' parameter (non-empty search string)."
        " Note: Use web_search for internet research, not file_search.",
        "hint": "Provide all required parameters with correct types and non-empty values",
    }
    assert assistant.files.reads == 0


def test_the_model_is_told_which_files_there_are() -> None:
    files = Files([UploadedFile("API notes.md", b"x" * 1_234), UploadedFile("b.pdf", b"%PDF-1.4")])
    assert Assistant(files=files).toolset.introduce() == (
        "The user has uploaded these files:\n\n"
        "<files>\n- API notes.md (1,234 bytes)\n- b.pdf (8 bytes)\n</files>"
    )
    assert Assistant().toolset.introduce() == ""
    assert files.reads == 0


# calculator


def test_the_calculator_answers_with_the_expression() -> None:
    assert Assistant().ok("calculator", {"expression": "1200 * (1 + 7.5%)"}) == {
        "ok": True,
        "expression": "1200 * (1 + 7.5%)",
        "result": 1290,
    }
    assert Assistant().ok("calculator", {"expression": "2^64"})["result"] == "18446744073709551616"


@pytest.mark.parametrize(
    ("expression", "error_type"),
    [("import os", "invalid_expression"), ("1/0", "math_error"), ("9^9^9", "limit_exceeded"),
     ("1+" * 250 + "1", "invalid_arguments")],
)  # fmt: skip
def test_a_bad_sum_has_its_error_type(expression: str, error_type: str) -> None:
    assert Assistant().call("calculator", {"expression": expression}).error_type == error_type


# the toolset


@pytest.mark.parametrize("given", [{}, None, "", "  ", 5, [], True])
@pytest.mark.parametrize(
    ("name", "parameter"), [("http_fetch", "url"), ("file_search", "query"), ("calculator", "expression")]
)  # fmt: skip
def test_a_missing_or_wrong_argument_runs_nothing(
    name: str, parameter: str, given: JsonValue
) -> None:
    assistant = Assistant(files=notes("words"))
    for arguments in ({}, {parameter: given}):
        result = assistant.call(name, arguments)
        assert result.error_type == "invalid_arguments"
        assert f"'{parameter}' parameter" in result.summary or "again" in result.summary
    assert assistant.pages.asked == []
    assert assistant.files.reads == 0


def test_web_search_is_declared_and_cannot_be_called_here() -> None:
    assistant = Assistant()
    names = [definition["name"] for definition in assistant.toolset.definitions]
    assert names == ["web_search", *TOOLS]
    result = assistant.call("web_search", {"query": "x"})
    assert result.error_type == "invalid_arguments"
    assert result.summary == "web_search runs at Anthropic and cannot be called here."


@pytest.mark.parametrize("given", [{}, {"query": None}, {"query": "  "}, {"query": 5}, {"q": "x"}])
def test_a_web_search_without_a_query_is_answered_by_its_rule(given: JsonObject) -> None:
    result = Assistant().call("web_search", given)
    assert result.payload["message"] == (
        "web_search requires 'query' parameter (non-empty search string)."
        ' Example: {"query": "beekeeping permit requirements Berlin 2026"}'
    )


def test_an_unknown_tool_is_told_from_those_there_are() -> None:
    result = Assistant().call("fetch_http", {"url": URL})
    assert result.error_type == "unknown_tool"
    assert result.summary == (
        "Unknown tool: fetch_http. The tools are: web_search, http_fetch, file_search, calculator."
    )
    assert "Did you mean http_fetch?" in Assistant().call("http_fetc", {}).summary


def test_descriptions_steer_and_show_an_example() -> None:
    tools = Assistant().toolset.tools
    described = {name: str(tools[name].definition["description"]) for name in TOOLS}
    for phrase in ("USER-UPLOADED files ONLY", "DO NOT use it for laws, regulations, permits",
                   "government requirements, news or anything on the internet",
                   "uploaded files, my documents, this file, our notes"):  # fmt: skip
        assert phrase in described["file_search"]
    assert "NOT a search" in described["http_fetch"]
    assert "Numbers ONLY" in described["calculator"]
    for name in TOOLS:
        assert f"Example: {json.dumps(tools[name].example)}" in described[name]
        assert Assistant(files=notes("API endpoints")).call(name, tools[name].example).ok


def test_http_fetch_has_ten_seconds_in_all() -> None:
    assert Assistant().toolset.tools["http_fetch"].time_limit == 10


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
_NAMES = st.sampled_from(["url", "query", "top_k", "expression", "", "path"]) | st.text(max_size=8)
_LIKELY: dict[str, st.SearchStrategy[JsonValue]] = {
    "url": st.text(max_size=20).map(lambda rest: f"https://{rest}"),
    "query": st.text(max_size=30),
    "expression": st.text("0123456789.+-*/%^()e ,x", max_size=40),
    "top_k": st.integers(-2, 12),
}


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([*TOOLS, "web_search", "nothing"]),
    st.dictionaries(_NAMES, _JSON, max_size=3) | st.fixed_dictionaries({}, optional=_LIKELY),
)
def test_whatever_a_model_sends_the_answer_is_well_formed(name: str, given: JsonObject) -> None:
    assistant = Assistant(files=notes("some words and 1 number"))
    result = assistant.call(name, given)
    payload = json.loads(json.dumps(result.payload))
    assert payload["ok"] is result.ok
    if not result.ok:
        assert isinstance(payload["error_type"], str)
        assert payload["message"]
    assert result.error_type != "internal_error"
    assert len(assistant.told.events) == 2
    assert len(result.sha256) == 64
