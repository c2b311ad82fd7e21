"""Search the research on this machine as the API does: a document has every word, the newest come first."""

from idea_explorer.cli.prose import strip_markup
from idea_explorer.domain.errors import ExplorerError, MissingError
from idea_explorer.domain.front_matter import cut_front_matter
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.domain.similar_research import IndexEntry
from idea_explorer.ports import ResearchRepository
from idea_explorer.settings import Settings
from idea_explorer.tools.fulltext import cut_passage
from idea_explorer.wiring.publishing import research_index
from idea_explorer.wiring.toolsets import describe_folder, research_repository


def search_research(settings: Settings, words: str, limit: int) -> tuple[list[JsonObject], int]:
    """The documents with an excerpt each, and how many there are. Raises MissingError without research."""
    repository = research_repository(settings)
    if repository is None:
        raise MissingError(
            describe_folder(settings) or "There is no research.",
            hint="Name the folder that contains ideas/, or your notes, with --research.",
        )
    found, total = research_index(settings).list_documents(words, limit, 0)
    return [_describe(entry, _read(entry, repository), words) for entry in found], total


def _describe(entry: IndexEntry, text: str, words: str) -> JsonObject:
    shown: JsonObject = {**entry.model_dump(include={"path", "title", "verdict", "date"})}
    return {**shown, "excerpt": cut_passage(text, words).removeprefix("· ")}


def _read(entry: IndexEntry, repository: ResearchRepository) -> str:
    """The words, without front matter, which may be malformed, and without what cannot be read here, such as
    a document that is too long."""
    try:
        document = repository.read(ResearchPath(entry.path.removeprefix(f"{RESEARCH_ROOT}/")))
    except ExplorerError:
        return ""
    return strip_markup(cut_front_matter(document.content)[1])
