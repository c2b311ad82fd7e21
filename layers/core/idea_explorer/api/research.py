"""The routes of the team's research. Every owner may read it, as their runs do."""

from typing import Annotated

from pydantic import ConfigDict, Field

from idea_explorer.api.http import ApiCall, ApiResponse
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.search_words import MAX_CHARACTERS
from idea_explorer.domain.similar_research import IndexEntry
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.library import document_url, read_document


class ResearchQuery(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    search: Annotated[str, Field(max_length=MAX_CHARACTERS)] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class DocumentQuery(DomainModel):
    """`path` is as the list spells it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[str, Field(max_length=1_000)]


class ResearchItem(DomainModel):
    """A document in the list. People write documents too, so all but path and title may be missing."""

    path: str
    title: str
    idea: str
    mode: str
    verdict: str | None
    date: str | None


class ResearchList(DomainModel):
    """One page; `total` counts all documents that match."""

    documents: list[ResearchItem]
    total: int


class DocumentView(ResearchItem):
    """`exploration_id` is the exploration that wrote it, if it is yours; `url` its page in the repository."""

    exploration_id: str | None
    url: str | None


def list_research(call: ApiCall, deps: Deps) -> ApiResponse:
    asked = call.parse_query(ResearchQuery)
    page, total = deps.index().list_documents(asked.search, asked.limit, asked.offset)
    listed = [ResearchItem(**_describe(entry)) for entry in page]
    return ApiResponse(200, ResearchList(documents=listed, total=total))


def show_document(call: ApiCall, deps: Deps) -> ApiResponse:
    document = read_document(call.parse_query(DocumentQuery).path, call.owner, deps)
    accepted = call.header("accept").lower()
    if "application/json" in accepted:
        described = {**_describe(document.entry), "idea": document.idea}
        view = DocumentView(
            **described,
            exploration_id=document.exploration_id,
            url=document_url(document.entry, deps),
        )
        return ApiResponse(200, view)
    if "text/html" not in accepted:
        return ApiResponse(200, document.text, content_type="text/markdown; charset=utf-8")
    # slow to import; only this route and reports need it
    from idea_explorer.console.markdown import render_report

    html = render_report(document.text, base=document.entry.path)
    return ApiResponse(200, html, content_type="text/html; charset=utf-8")


def _describe(entry: IndexEntry) -> dict[str, str | None]:
    return entry.model_dump(include=set(ResearchItem.model_fields))
