"""Find the team's own research on similar ideas, for the first message of a run."""

from contextlib import suppress
from functools import cache

from idea_explorer.agent.prompts import framework, modes
from idea_explorer.domain.errors import DocumentError, ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.domain.related_research import RelatedDocument, describe_document
from idea_explorer.usecases.continuation import MAX_EARLIER_BYTES, Continuation, PriorDocument
from idea_explorer.usecases.deps import Deps


def find_related(
    exploration: Exploration, continuation: Continuation | None, deps: Deps
) -> list[RelatedDocument]:
    """The nearest documents, best first, without the one that the run continues and without what the offline
    model wrote, which is no research. A repository that cannot be read now is no reason to fail: the tools
    may reach it later."""
    if not exploration.request.spec.publishes_documents:
        return []
    shown = continuation.path if isinstance(continuation, PriorDocument) else None
    related: list[RelatedDocument] = []
    try:
        if (research := deps.research()) is None:
            return []
        for similar in deps.index().find_similar(exploration.request.idea, with_offline=False):
            if similar.path != shown:
                path = ResearchPath(similar.path.removeprefix(f"{RESEARCH_ROOT}/"))
                with suppress(DocumentError):  # it was removed since, or is no longer readable
                    text = research.read(path, limit=MAX_EARLIER_BYTES).content
                    related.append(describe_document(similar, text, _question_words()))
    except ExplorerError as error:
        deps.log.warning(
            "related_research_skipped", explorationId=exploration.id, error=error.sentence
        )
    return related


@cache
def _question_words() -> list[str]:
    """The words, in every language that the frameworks know, of headings above open questions."""
    return [
        word
        for mode in modes()
        for section, words in framework(mode).sections.items()
        if "question" in section.lower()
        for word in words
    ]
