"""The research toolset: the web, and the team's own research below `ideas/`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from idea_explorer.agent.toolset import (
    Arguments,
    MayBeBlank,
    Rule,
    ServerTool,
    Tool,
    Toolset,
    tool,
)
from idea_explorer.domain.errors import (
    ContentMismatchError,
    DocumentMissingError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
    NotTextError,
    SizeUnknownError,
    ToolError,
)
from idea_explorer.domain.front_matter import cut_front_matter
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import (
    MAX_RESEARCH_PATH,
    RESEARCH_ROOT,
    ResearchPath,
    check_research_path,
    is_research_path,
)
from idea_explorer.domain.publication import is_log
from idea_explorer.domain.report_text import find_title
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.tools import ToolResult, make_passage
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.web_scope import ANYWHERE, WebScope
from idea_explorer.ports import DocumentInfo, ResearchRepository
from idea_explorer.tools import web_search
from idea_explorer.tools.fulltext import SearchHit, cut_passage

if TYPE_CHECKING:
    from idea_explorer.tools.plan import WritePlan

READ_ERRORS: dict[type[ExternalError], tuple[str, str]] = {
    DocumentMissingError: ("file_not_found", "File not found: {path}"),
    NotADocumentError: ("api_error", "Path is not a file: {path}"),
    NotTextError: ("api_error", "File is not text in UTF-8: {path}"),
    SizeUnknownError: ("api_error", "Failed to read file: Missing size for {path}"),
    DocumentTooLargeError: (
        "file_too_large",
        "File exceeds 50KB limit. Try a more specific path or request a summary.",
    ),
    ContentMismatchError: (
        "api_error",
        "Failed to read file: Content does not match its sha: {path}",
    ),
}
UNREADABLE = (
    "Documents whose names hold spaces or other signs that read_research does not take are left out."
    " search_research finds their text."
)
MAX_LISTED = 200  # about 4,000 tokens, which every later request of a conversation repeats
NEWEST = "These are the newest {shown} of {total} documents. search_research finds the others."
DAY_LENGTH = len("2026-11-17")
CUT = (
    "The folder has more files than are looked at: documents are missing here and in search_research."
    " Say so in the report."
)
EXCERPT_ONLY = "read_research does not take this path; the excerpt is all there is to see."


class ReadResearch(Arguments):
    # `check_research_path` checks it, with rules that a schema cannot express
    path: Annotated[
        str,
        Field(
            description="Path relative to ideas/",
            json_schema_extra={"minLength": 1, "maxLength": MAX_RESEARCH_PATH},
        ),
        Rule("non-empty path relative to ideas/"),
        MayBeBlank(),
    ]


class ListResearch(Arguments):
    pass


class SearchResearch(Arguments):
    query: Annotated[
        str,
        Field(min_length=1, max_length=1_000, description="Words to look for"),
        Rule("non-empty search string, at most 1,000 characters"),
    ]
    limit: Annotated[int, Field(ge=1, le=20), Rule("integer from 1 to 20")] = 5


def research_tools(
    repository: ResearchRepository | None,
    web_search_version: str,
    *,
    scope: WebScope = ANYWHERE,
    dynamic_filtering: bool = False,
    search_with_private_text: bool = True,
    reads_pages: ServerTool | Tool[Any] | None = None,
    plan: "Tool[WritePlan] | None" = None,
    read_transcript: Callable[[Sequence[AnyEntry]], None] = lambda _: None,
) -> Toolset:
    """The tools for earlier research only where there is any to read; web search, unless an operator
    allows none beside private text. `reads_pages` is Anthropic's tool to open pages, or ours; `plan` is
    given where a plan comes first."""
    searches = repository is None or search_with_private_text
    search = web_search(web_search_version, scope, dynamic_filtering=dynamic_filtering)
    server = [search] if searches else []
    tools: list[Tool[Any]] = [plan] if plan else []
    match reads_pages:
        case ServerTool():
            server.append(reads_pages)
        case Tool():
            tools.append(reads_pages)
    if repository is not None:
        calls = ResearchCalls(repository)
        functions = (calls.read_research, calls.list_research, calls.search_research)
        tools += [Tool.of(function) for function in functions]
    return Toolset(tools, server, read_transcript=read_transcript)


@dataclass
class ResearchCalls:
    """The tools over one repository."""

    repository: ResearchRepository

    @tool(example={"path": "market/2024-06.md"})
    def read_research(self, arguments: ReadResearch) -> ToolResult:
        """Read an existing research document of this team, by its path relative to ideas/ (do NOT start it
        with ideas/), as list_research and search_research give it. NOT for web pages."""
        path = self._check_path(arguments.path)
        try:
            document = self.repository.read(path)
        except ExternalError as error:
            error_type, message = READ_ERRORS.get(
                type(error), ("api_error", "Failed to read file: {error}")
            )
            text = message.format(path=path.given, error=error.sentence)
            raise _tool_error(error, text, error_type) from error
        return ToolResult.success(
            {"content": document.content, "bytes": document.size},
            f"Read {path} ({document.size:,} bytes)",
            size=document.size,
            passages=[
                make_passage(
                    f"{RESEARCH_ROOT}/{path}",
                    document.content,
                    title=find_title(document.content, str(path)),
                )
            ],
        )

    @tool(example={})
    def list_research(self, arguments: ListResearch) -> ToolResult:
        """List the team's existing research documents with their sizes. NOT a search: to find documents
        about a subject use search_research."""
        try:
            documents = [d for d in self.repository.list() if not is_log(d.path)]
        except ExternalError as error:
            raise _tool_error(error, f"Failed to list research: {error.sentence}") from error
        readable = [d for d in documents if self._takes(d.path)]
        total = len(readable)
        shown = readable if total <= MAX_LISTED else _choose_newest(readable)
        files: list[JsonObject] = [{"path": d.path, "bytes": d.size} for d in shown]
        fields: JsonObject = {"files": [*files], "total": total}
        notes = [NEWEST.format(shown=len(shown), total=total)] if len(shown) < total else []
        if left_out := len(documents) - total:
            fields["leftOut"] = left_out
        if self.repository.is_cut:
            notes.append(CUT)
        elif left_out:
            notes.append(UNREADABLE)
        if notes:
            fields["note"] = " ".join(notes)
        return ToolResult.success(fields, pluralize(total, "research document"), result_count=total)

    @tool(example={"query": "subscription retention", "limit": 5})
    def search_research(self, arguments: SearchResearch) -> ToolResult:
        """Search the team's existing research for words and get the best documents with excerpts. NOT the
        internet: use web_search for that."""
        try:
            found, total = self.repository.search(arguments.query, arguments.limit)
        except ExternalError as error:
            raise _tool_error(error, f"Failed to search research: {error.sentence}") from error
        hits = [
            SearchHit(each.path, each.title, _cut(each.text, arguments.query), each.score)
            for each in found
        ]
        results = [self._show(hit) for hit in hits]
        return ToolResult.success(
            {"query": arguments.query, "results": [*results], "totalFound": total},
            f"Found {pluralize(total, 'document')} matching '{arguments.query}'",
            result_count=len(results),
            passages=[
                make_passage(f"{RESEARCH_ROOT}/{hit.name}", hit.excerpt, title=hit.title)
                for hit in hits
            ],
        )

    def _check_path(self, given: str) -> ResearchPath:
        """Where any name can be read, a path that is listed is safe by being listed."""
        try:
            return check_research_path(given)
        except ToolError:
            if self.repository.reads_any_name and self._is_listed(given):
                return ResearchPath(given)
            raise

    def _is_listed(self, path: str) -> bool:
        try:
            return any(document.path == path for document in self.repository.list())
        except ExternalError:
            return False

    def _takes(self, path: str) -> bool:
        return self.repository.reads_any_name or is_research_path(path)

    def _show(self, hit: SearchHit) -> JsonObject:
        note: JsonObject = {} if self._takes(hit.name) else {"note": EXCERPT_ONLY}
        fields: JsonObject = {"path": hit.name, "title": hit.title, "excerpt": hit.excerpt}
        return {**fields, "score": hit.score, **note}


def _choose_newest(documents: Sequence[DocumentInfo]) -> list[DocumentInfo]:
    """By the day with which the folder of a published document begins, and then in the order of their names.
    Those without a day come last."""
    by_day = sorted(documents, key=lambda document: _day(document.path))
    return sorted(by_day[-MAX_LISTED:], key=lambda document: document.path)


def _day(path: str) -> str:
    day = path[:DAY_LENGTH]
    return day if day.replace("-", "").isdecimal() else ""


def _cut(text: str, query: str) -> str:
    """From the text that people read: the front matter repeats the idea, which has most of the words."""
    return cut_passage(cut_front_matter(text)[1], query)


def _tool_error(error: ExternalError, text: str, error_type: str = "api_error") -> ToolError:
    return ToolError(error_type, text, transient=error.retryable, retry_after=error.retry_after)
