"""The research toolset: the web, and the team's own research below `ideas/`."""

from typing import Annotated

from pydantic import AfterValidator, Field

from idea_explorer.agent.toolset import Arguments, MayBeBlank, Rule, Tool, Toolset
from idea_explorer.domain.errors import (
    ContentMismatchError,
    DocumentMissingError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
    SizeUnknownError,
    ToolError,
)
from idea_explorer.domain.evidence import passage
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import (
    MAX_RESEARCH_PATH,
    RESEARCH_ROOT,
    ResearchPath,
    is_research_path,
    research_path,
)
from idea_explorer.domain.publication import is_log
from idea_explorer.domain.report import title_of
from idea_explorer.domain.text import counted
from idea_explorer.domain.tools import ToolOutput
from idea_explorer.ports import ResearchRepository
from idea_explorer.tools.fulltext import FullText
from idea_explorer.tools.web_search import web_search

READ_ERRORS: dict[type[ExternalError], tuple[str, str]] = {
    DocumentMissingError: ("file_not_found", "File not found: {path}"),
    NotADocumentError: ("api_error", "Path is not a file: {path}"),
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

EXCERPT_ONLY = "read_research does not take this path; the excerpt is all there is to see."


class ReadResearch(Arguments):
    # the length is checked with the other path rules, which say more than a schema can
    path: Annotated[
        str,
        Field(
            description="Path of the document, relative to ideas/, e.g. market/2024-06.md",
            json_schema_extra={"minLength": 1, "maxLength": MAX_RESEARCH_PATH},
        ),
        Rule("non-empty path relative to ideas/"),
        MayBeBlank(),
        AfterValidator(research_path),
    ]


class ListResearch(Arguments):
    pass


class SearchResearch(Arguments):
    query: Annotated[
        str,
        Field(min_length=1, max_length=1_000, description="Words to look for"),
        Rule("non-empty search string, at most 1,000 characters"),
    ]
    limit: Annotated[
        int, Field(ge=1, le=20, description="How many results"), Rule("integer from 1 to 20")
    ] = 5


def research_tools(repository: ResearchRepository | None, web_search_version: str) -> Toolset:
    """web_search always; the tools for earlier research only where there is a place to read it from."""
    server = [web_search(web_search_version)]
    if repository is None:
        return Toolset([], server)
    research = _Research(repository)
    return Toolset(
        [
            Tool(
                name="read_research",
                description=(
                    "Read an existing research document of this team: a previous exploration or an"
                    " internal analysis. The path is relative to ideas/ (do NOT start it with ideas/)."
                    " Returns JSON with ok true and the content, or ok false and the reason."
                    " NOT for web pages; never read the same file twice."
                ),
                arguments=ReadResearch,
                run=research.read,
                example={"path": "market/2024-06.md"},
            ),
            Tool(
                name="list_research",
                description=(
                    "List the team's existing research documents with their sizes, as paths that"
                    " read_research takes. Use it to see what is there. NOT a search: to find"
                    " documents about a subject use search_research."
                ),
                arguments=ListResearch,
                run=research.list,
                example={},
            ),
            Tool(
                name="search_research",
                description=(
                    "Search the team's existing research for words and get the best documents with"
                    " excerpts. Searches ONLY this team's documents, NOT the internet: use web_search"
                    " for market data, news and facts."
                ),
                arguments=SearchResearch,
                run=research.search,
                example={"query": "subscription retention", "limit": 5},
            ),
        ],
        server,
    )


class _Research:
    """The three tools over one repository. The search index is built on first use and kept."""

    def __init__(self, repository: ResearchRepository) -> None:
        self._repository = repository
        self._index: FullText | None = None

    def read(self, arguments: ReadResearch) -> ToolOutput:
        path = arguments.path
        assert isinstance(path, ResearchPath)
        try:
            document = self._repository.read(path)
        except ExternalError as error:
            error_type, message = READ_ERRORS.get(
                type(error), ("api_error", "Failed to read file: {error}")
            )
            raise ToolError(
                error_type,
                message.format(path=path.given, error=error.sentence),
                transient=error.retryable,
                retry_after=error.retry_after,
            ) from error
        return ToolOutput(
            fields={"content": document.content, "bytes": document.size},
            summary=f"Read {path} ({document.size:,} bytes)",
            size=document.size,
            passages=(passage(f"{RESEARCH_ROOT}/{path}", document.content),),
        )

    def list(self, _: ListResearch) -> ToolOutput:
        try:
            documents = [d for d in self._repository.list() if not is_log(d.path)]
        except ExternalError as error:
            raise _api_error("list", error) from error
        files: list[JsonObject] = [
            {"path": d.path, "bytes": d.size} for d in documents if is_research_path(d.path)
        ]
        fields: JsonObject = {"files": [*files], "total": len(files)}
        if left_out := len(documents) - len(files):
            fields |= {"leftOut": left_out, "note": UNREADABLE}
        return ToolOutput(
            fields=fields,
            summary=counted(len(files), "research document"),
            result_count=len(files),
        )

    def search(self, arguments: SearchResearch) -> ToolOutput:
        try:
            index = self._index or FullText(
                (path, title_of(text, path), text) for path, text in self._repository.read_all()
            )
        except ExternalError as error:
            raise _api_error("search", error) from error
        self._index = index
        hits, total = index.search(arguments.query, arguments.limit)
        results: list[JsonObject] = [
            {"path": hit.name, "title": hit.title, "excerpt": hit.excerpt, "score": hit.score}
            for hit in hits
        ]
        for result, hit in zip(results, hits, strict=True):
            if not is_research_path(hit.name):
                result["note"] = EXCERPT_ONLY
        return ToolOutput(
            fields={"query": arguments.query, "results": [*results], "totalFound": total},
            summary=f"Found {total} documents matching '{arguments.query}'",
            result_count=len(results),
            passages=tuple(
                passage(f"{RESEARCH_ROOT}/{hit.name}", hit.excerpt, title=hit.title) for hit in hits
            ),
        )


def _api_error(action: str, error: ExternalError) -> ToolError:
    return ToolError(
        "api_error",
        f"Failed to {action} research: {error.sentence}",
        transient=error.retryable,
        retry_after=error.retry_after,
    )
