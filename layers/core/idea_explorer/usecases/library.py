"""Read a document of the team's research. Every owner may, as their runs do."""

from dataclasses import dataclass
from urllib.parse import quote

from idea_explorer.domain.errors import ExplorerError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, is_id
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.domain.similar_research import IndexEntry
from idea_explorer.usecases.continuation import MAX_EARLIER_BYTES
from idea_explorer.usecases.deps import Deps


@dataclass(frozen=True, slots=True)
class LibraryDocument:
    """`text` has no front matter. `idea` is the whole idea, by which an update finds the document.
    `exploration_id` is given only to the owner of the exploration that wrote it."""

    entry: IndexEntry
    text: str
    idea: str
    exploration_id: ExplorationId | None


def read_document(path: str, owner: str, deps: Deps) -> LibraryDocument:
    """A document by its path in the index. Raises MissingError."""
    entry = deps.index().find_document(path)
    if entry is None:
        raise MissingError("There is no such document in the team's research.")
    text = load_text(entry, deps)
    if text is None:
        raise MissingError(
            "This document cannot be read here.", hint="Read it in the team's repository."
        )
    wrote = find_writer(entry, deps)
    return LibraryDocument(
        entry=entry,
        text=text,
        idea=wrote.request.idea if wrote else entry.idea,
        exploration_id=wrote.id if wrote and wrote.owner == owner else None,
    )


def load_text(entry: IndexEntry, deps: Deps) -> str | None:
    """The document as it is now, if it can be read here; else the report it was made from. Like any
    report, without front matter."""
    try:
        if research := deps.research():
            path = ResearchPath(entry.path.removeprefix(f"{RESEARCH_ROOT}/"))
            return parse_document(research.read(path, limit=MAX_EARLIER_BYTES).content).body.strip()
        wrote = find_writer(entry, deps)
        return deps.reports.load_report(wrote.id) if wrote else None
    except MissingError:
        return None
    except ExplorerError as error:
        if error.retryable:
            raise
        return None


def find_writer(entry: IndexEntry, deps: Deps) -> Exploration | None:
    """The exploration that published a document. Anybody can write an id into a document, so the exploration
    has to name the document too."""
    if not is_id(entry.exploration_id):
        return None
    try:
        found = deps.explorations.load(ExplorationId(entry.exploration_id))
    except MissingError:
        return None
    return found if found.publication.document == entry.path else None


def document_url(entry: IndexEntry, deps: Deps) -> str | None:
    """The document's page on GitHub; None where the research is a folder."""
    if deps.repository_page is None or deps.branch is None:
        return None
    return f"{deps.repository_page}/blob/{quote(deps.branch)}/{quote(entry.path)}"
