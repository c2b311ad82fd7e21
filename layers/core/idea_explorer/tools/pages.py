"""http_fetch: one public page by its address, for runs whose pages Anthropic does not open."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain import limits
from idea_explorer.domain.text import one_line
from idea_explorer.domain.tools import ToolResult, make_passage
from idea_explorer.ports import WebPages
from idea_explorer.tools.decoding import decode
from idea_explorer.tools.fetch_rules import AllowedAddress, FetchRules
from idea_explorer.tools.readable import readable

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_URL = 4_000


class HttpFetch(Arguments):
    url: Annotated[
        str,
        Field(
            max_length=MAX_URL,
            pattern=r"^[hH][tT][tT][pP][sS]?://\S+$",
            description="The full address of one public page, beginning with http:// or https://",
        ),
        Rule(f"full http or https URL, at most {MAX_URL:,} characters"),
    ]


@dataclass
class PageCalls:
    """Without `rules` any public address may be opened."""

    pages: WebPages
    rules: FetchRules | None = None

    @tool(example={"url": "https://www.example.com/permits"}, time_limit=limits.FETCH_SECONDS)
    def http_fetch(self, arguments: HttpFetch) -> ToolResult:
        """Read ONE public web page whose address is known: one that the user named, or a search result
        that is needed in full. HTML comes back as text with its title, JSON and plain text as they are.
        NOT a search: DO NOT guess addresses, use web_search to find pages. NOT for uploaded files. Opens
        ONLY addresses that the user, a search result or a page named, and after private text was read
        (files, the team's research) only those of the user and of search results, exactly as found.
        Reaches public http and https addresses, without a login; no images, PDFs or downloads."""
        address = self.rules.check(arguments.url) if self.rules else AllowedAddress(arguments.url)
        page = self.pages.fetch(address.url, address.may_redirect_to)
        is_html = page.content_type in HTML_TYPES
        source = decode(page.body, page.charset, html=is_html)
        title, text, truncated = "", source, len(source) > limits.MAX_PAGE_CHARS
        if is_html:
            read = readable(source, base_url=page.url, limit=limits.MAX_PAGE_CHARS)
            title, text, truncated = read.title, read.text, read.truncated
        text = text[: limits.MAX_PAGE_CHARS]
        size = len(page.body)
        return ToolResult.success(
            {
                "url": page.url,
                "status": page.status,
                "contentType": page.content_type,
                "title": title or None,
                "text": text,
                "truncated": truncated,
                "bytes": size,
            },
            f"Read {one_line(page.url, 200)} ({size:,} bytes)",
            size=size,
            passages=[make_passage(page.url, text, title=title)],
        )
