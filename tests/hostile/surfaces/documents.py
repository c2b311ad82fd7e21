"""Documents, reports, pages and files."""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.documents import add_section, render_update
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.report_links import KnownLinks, remove_unknown_links
from idea_explorer.domain.report_markup import clean_markup
from idea_explorer.domain.tools import ToolCall, make_passage
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.readable import readable
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.import_music import read_json_lines
from tests.fakes.engine import RecordedLog
from tests.fakes.fetching import Files
from tests.fakes.rendering import expect_inert
from tests.hostile.surfaces.base import (
    GOOD,
    RUN,
    Check,
    calls_with,
    expect_no_crash,
    fill,
    surface,
)

HARMLESS = {"127", "localhost", "test", "invalid", "example.com", "example.net", "example.org"}
FOUND = "https://found.example/x"


@surface("front matter", "front matter", "unicode", "terminal")
def front_matter(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        for document in (f"---\n{text}\n---\n\n# Bees\n", f"---\n{text}", text):
            parsed = parse_document(document)
            assert all(isinstance(value, str) for value in parsed.matter.values())

    yield check


@surface("a team's documents", "front matter", "markdown", "unicode", share=0.25)
def documents(folder: Path) -> Iterator[Check]:
    """A hostile document next to a good one, which is still listed, found and similar."""
    root = fill(folder)
    hostile = root / "ideas" / "hostile.md"
    log = RecordedLog()

    def check(text: str) -> None:
        hostile.write_bytes(f"---\n{text}\n---\n\n{text}".encode("utf-8", "surrogatepass"))
        research = Folder(root)
        caller = ArgumentValidator(
            research_tools(research, DIRECT_VERSION), ToolLimiter(ToolExecutor(log)), log
        )
        listed = caller.call(ToolCall("c", "list_research", {})).payload
        assert "good.md" in str(listed), "the good document is not listed"
        found = caller.call(ToolCall("c", "search_research", {"query": "beekeeping"})).payload
        assert "good.md" in str(found), "the good document is not found"
        similar = research.index.find_similar(GOOD)
        assert any(each.path.endswith("good.md") for each in similar), "it is not similar"
        expect_no_crash(log)

    yield check


@surface("reports", "markdown", "unicode", "urls")
def reports(folder: Path) -> Iterator[Check]:
    evidence = [make_passage(FOUND, "It says so.")]

    def check(text: str) -> None:
        cleaned = clean_markup(f"# Bees\n\n{text}\n\n## Sources\n\n{text}")
        expect_inert(check_citations(cleaned, evidence).text)
        private, _ = remove_unknown_links(cleaned, KnownLinks(evidence))
        checked = check_citations(private, evidence).text
        expect_inert(checked, _is_found_or_harmless)
        section = render_update(RUN, date(2026, 11, 16), text)
        assert add_section(text, section, RUN, set()).text.startswith(text), "changed others' bytes"

    yield check


def _is_found_or_harmless(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    names = {*(".".join(host.split(".")[-count:]) for count in (1, 2)), host.partition(".")[0]}
    return address == FOUND or bool(names & HARMLESS)


@surface("report page", "markdown", "unicode", "urls")
def report_page(folder: Path) -> Iterator[Check]:
    from idea_explorer.console.markdown import render_report

    def check(text: str) -> None:
        _SafeHtml().feed(render_report(text))

    yield check


class _SafeHtml(HTMLParser):
    """Fails at markup that runs, loads or leads somewhere by itself."""

    tags = frozenset(
        "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li mark ol p pre s strong sup table tbody"
        " td th thead tr ul".split()
    )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.tags, f"<{tag}> in a report"
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} in a report"
            assert name not in {"src", "srcset", "style", "srcdoc"}, f"{name} in a report"
            if name == "href":
                assert re.match(r"(?i)(https?:|mailto:|#)", value or ""), f"href={value!r}"


@surface("pages", "markdown", "unicode", "urls")
def pages(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        limit = 1_000
        assert len(readable(text, base_url="https://public.example/", limit=limit).text) <= limit

    yield check


@surface("assistant tools", "sums", "json", "unicode", "urls", share=0.5)
def assistant_calls(folder: Path) -> Iterator[Check]:
    log = RecordedLog()

    def refuse(*_: object) -> Sequence[str]:
        raise OSError("unknown name")

    pages = PublicHttp(SystemClock(), resolver=refuse)

    def check(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        tools = assistant_tools(
            pages,
            Files(notes__txt=data, page__html=data),
            DIRECT_VERSION,
            None,
            documents=ChildProcessReader(),
        )
        caller = ArgumentValidator(tools, ToolLimiter(ToolExecutor(log)), log)
        fields = {"calculator": "expression", "file_search": "query", "http_fetch": "url"}
        for name, given in calls_with(text, fields):
            json.dumps(caller.call(ToolCall("c", name, given)).payload)
        expect_no_crash(log)

    yield check


@surface("music files", "json", "unicode")
def music_files(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        for model in (IndexedTrack, OwnedTrack):
            with contextlib.suppress(ExplorerError):
                read_json_lines(io.BytesIO(text.encode("utf-8", "surrogatepass")), model)

    yield check
