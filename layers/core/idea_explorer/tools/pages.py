"""http_fetch: one public page by its address, for runs whose pages Anthropic does not open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain import limits
from idea_explorer.domain.errors import ToolError, UnreadableFileError
from idea_explorer.domain.file_kinds import FileKind
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import one_line
from idea_explorer.domain.tools import Passage, ToolResult, make_passage
from idea_explorer.ports import DocumentReader, WebPage, WebPages
from idea_explorer.tools.decoding import decode
from idea_explorer.tools.fetch_rules import AllowedAddress, FetchRules

PDF_TYPE = "application/pdf"
PDF_MARKS = 20_000  # characters of those that a result may have, for the numbers of pages
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_URL = 4_000


class HttpFetch(Arguments):
    url: Annotated[
        str,
        Field(
            max_length=MAX_URL,
            pattern=r"^[hH][tT][tT][pP][sS]?://\S+$",
        ),
        Rule(f"full http or https URL, at most {MAX_URL:,} characters"),
    ]


@dataclass(frozen=True, slots=True)
class _PageText:
    """The text of a page, for the model and as evidence."""

    title: str
    text: str
    passages: Sequence[Passage]
    note: str = ""  # what is missing


@dataclass
class PageCalls:
    """Without `rules` any public address may be opened."""

    pages: WebPages
    documents: DocumentReader
    rules: FetchRules | None = None

    @tool(example={"url": "https://www.example.com/permits"}, time_limit=limits.FETCH_SECONDS)
    def http_fetch(self, arguments: HttpFetch) -> ToolResult:
        """Read ONE public web page as text, without a login; a PDF too. Opens ONLY addresses that the user,
        a search result or a page named, and after private text was read (files, the team's research) only
        those of the user and of search results, exactly as found. A long page is cut, and a note says so.
        NOT a search: DO NOT guess addresses, use web_search. NOT for uploaded files, images or downloads."""
        address = self.rules.check(arguments.url) if self.rules else AllowedAddress(arguments.url)
        page = self.pages.fetch(address.url, address.may_redirect_to)
        read = self._read_pdf(page) if page.content_type == PDF_TYPE else _read_text(page)
        size = len(page.body)
        fields: JsonObject = {
            "url": page.url,
            "status": page.status,
            "contentType": page.content_type,
            "title": read.title or None,
            "text": read.text,
            "truncated": bool(read.note),
            "bytes": size,
        }
        return ToolResult.success(
            {**fields, "note": read.note} if read.note else fields,
            f"Read {one_line(page.url, 200)} ({size:,} bytes)",
            size=size,
            passages=read.passages,
        )

    def _read_pdf(self, page: WebPage) -> _PageText:
        """Each page of a PDF is cited by an address that opens it there."""
        try:
            found = self.documents.read(
                FileKind.PDF, page.body, max_chars=limits.MAX_PAGE_CHARS - PDF_MARKS
            )
        except UnreadableFileError as error:
            raise ToolError("unreadable_pdf", f"The PDF {error.reason}.") from error
        address = page.url.partition("#")[0]
        return _PageText(
            title="",
            text="\n\n".join(f"[{part.label}]\n{part.text}" for part in found.parts),
            passages=[
                make_passage(f"{address}#{part.label.replace(' ', '=')}", part.text)
                for part in found.parts
            ],
            note=f"Of the PDF, {found.remark}." if found.remark else "",
        )


def _read_text(page: WebPage) -> _PageText:
    is_html = page.content_type in HTML_TYPES
    source = decode(page.body, page.charset, html=is_html)
    title, text, is_cut = "", source, len(source) > limits.MAX_PAGE_CHARS
    if is_html:
        from idea_explorer.tools.readable import readable

        read = readable(source, base_url=page.url, limit=limits.MAX_PAGE_CHARS)
        title, text, is_cut = read.title, read.text, read.truncated
    text = text[: limits.MAX_PAGE_CHARS]
    note = ""
    if is_cut or page.is_cut:
        note = f"The page is longer: this is the first {len(text):,} characters of its text."
    return _PageText(title, text, [make_passage(page.url, text, title=title)], note)
