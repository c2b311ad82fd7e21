"""The assistant toolset: the web, pages by address, uploaded files, and exact arithmetic."""

import threading
from dataclasses import field
from functools import partial
from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, Tool, Toolset, tool
from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import check_time_limit
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.domain.tools import ToolResult, make_passage, name_part
from idea_explorer.domain.web_scope import ANYWHERE, WebScope
from idea_explorer.ports import DocumentReader, UploadedFiles, WebPages
from idea_explorer.tools import web_search
from idea_explorer.tools.calculator import calculate
from idea_explorer.tools.fetch_rules import FetchRules
from idea_explorer.tools.fulltext import UploadIndex
from idea_explorer.tools.pages import PageCalls

MAX_EXPRESSION = 500


class FileSearch(Arguments):
    query: Annotated[
        str,
        Field(min_length=1, description="Words to look for"),
        Rule("non-empty search string"),
    ]
    top_k: Annotated[int, Field(ge=1, le=10), Rule("integer from 1 to 10")] = 5


class Calculator(Arguments):
    expression: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_EXPRESSION,
        ),
        Rule(f"arithmetic expression, at most {MAX_EXPRESSION} characters"),
    ]


def assistant_tools(
    pages: WebPages,
    files: UploadedFiles,
    web_search_version: str,
    rules: FetchRules | None,
    *,
    documents: DocumentReader,
    scope: WebScope = ANYWHERE,
    dynamic_filtering: bool = False,
    search_with_private_text: bool = True,
) -> Toolset:
    """Without `rules` any public address may be opened: for a person who calls a tool by hand. There is web
    search, unless an operator allows none beside private text."""
    searches = search_with_private_text or not files.list()
    calls = AssistantCalls(files, documents)
    functions = (PageCalls(pages, documents, rules).http_fetch, calls.file_search, calls.calculator)
    search = web_search(web_search_version, scope, dynamic_filtering=dynamic_filtering)
    return Toolset(
        [Tool.of(function) for function in functions],
        [search] if searches else [],
        introduce=partial(_introduce, files),
        read_transcript=rules.read if rules else lambda _: None,
    )


def _introduce(files: UploadedFiles) -> str:
    listed = [f"- {one_line(file.name, 200)} ({file.size:,} bytes)" for file in files.list()]
    if not listed:
        return ""
    return "\n".join(["The user has uploaded these files:", "", "<files>", *listed, "</files>"])


@dataclass
class AssistantCalls:
    """The tools over the files of one exploration. The search index is built on first use."""

    files: UploadedFiles
    documents: DocumentReader
    _index: UploadIndex = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._index = UploadIndex(self.documents)

    @tool(
        example={"query": "API endpoints", "top_k": 5},
        note="Note: Use web_search for internet research, not file_search.",
        time_limit=limits.FILES_SECONDS,
    )
    def file_search(self, arguments: FileSearch) -> ToolResult:
        """Search USER-UPLOADED files ONLY, and get the passages that hold the words of the query, with
        their page, sheet or slide. Use it only when the user says uploaded files, my documents, this file,
        our notes. DO NOT use it for laws, regulations, permits, government requirements, news or anything
        on the internet: use web_search."""
        index = self._searchable()
        found, total = index.search(arguments.query, arguments.top_k)
        results: list[JsonObject] = [
            {
                "file": hit.name,
                **({"part": hit.title} if hit.title else {}),
                "excerpt": hit.excerpt,
                "score": hit.score,
            }
            for hit in found
        ]
        fields: JsonObject = {"query": arguments.query, "results": [*results], "totalFound": total}
        if not results:
            fields["note"] = f"Nothing matches. Searched were: {', '.join(index.names)}."
        if index.remarks:
            fields["remarks"] = {**index.remarks}
        return ToolResult.success(
            fields,
            f"Found {pluralize(total, 'passage')} matching '{one_line(arguments.query, 100)}'",
            result_count=len(results),
            passages=[make_passage(name_part(hit.name, hit.title), hit.excerpt) for hit in found],
        )

    @tool(example={"expression": "1200 * (1 + 7.5%) ^ 3"})
    def calculator(self, arguments: Calculator) -> ToolResult:
        """Compute an arithmetic expression exactly: + - * / and parentheses; ^ and ** are powers; % after a
        number is per cent, between two numbers it is modulo, with the sign of the second; sqrt, abs, round,
        min, max, log (base 10), ln, exp, sin, cos, tan (radians), pi, e. Numbers ONLY: no variables, units,
        currency signs or thousands separators, NO program code."""
        result = calculate(arguments.expression)
        return ToolResult.success(
            {"expression": arguments.expression, "result": result},
            f"{one_line(arguments.expression, 100)} = {one_line(str(result), 100)}",
        )

    def _searchable(self) -> UploadIndex:
        """Files that were read before the time was up are not read again by the next call."""
        with self._lock:
            if self._index.count < len(self.files.list()):
                for number, file in enumerate(self.files.read_all()):
                    check_time_limit()
                    if number >= self._index.count:
                        self._index.add(file)
        if self._index.names:
            return self._index
        unread = "; ".join(f"{name}: {reason}" for name, reason in self._index.remarks.items())
        raise ToolError(
            "no_files",
            f"None of the uploaded files can be searched ({unread})."
            if unread
            else "No files were uploaded. Use web_search for anything on the internet.",
        )
