"""What the sources of a report say about each of its cited sentences, for those who read it."""

from collections.abc import Iterator

from idea_explorer.agent.state import State
from idea_explorer.domain.claims import Claim, Excerpt, ExplainedClaim
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.report import find_verified
from idea_explorer.domain.turns import find_documents
from idea_explorer.domain.verification.batch import cut_excerpt
from idea_explorer.domain.verification.report import MAX_CLAIMS, Passages
from idea_explorer.domain.verification.words import plain_text
from idea_explorer.usecases.deps import Deps

MAX_EXCERPT = 240  # characters: two sentences or so
MAX_EXCERPTS = 4  # of one claim


def explain_claims(exploration: Exploration, deps: Deps) -> list[ExplainedClaim]:
    """The claims of a verified report, each with what its sources say; none if it was not verified."""
    verification = exploration.run.stats.verification
    if verification is None or not verification.total:
        return []
    state = State(deps.transcripts.open(exploration.id, exploration.lease).entries)
    verified = find_verified(state.entries)
    if verified is None:
        return []
    content = [block for answer in state.answers for block in answer.content]
    passages = Passages(state.evidence, content, documents=find_documents(state.entries))
    return [
        ExplainedClaim(claim=claim, excerpts=tuple(_find_excerpts(claim, passages)))
        for claim in verified[1].claims[:MAX_CLAIMS]
    ]


def _find_excerpts(claim: Claim, passages: Passages) -> Iterator[Excerpt]:
    sentence = plain_text(claim.text)
    for target in claim.sources[:MAX_EXCERPTS]:
        for text in passages.find([target]):
            yield Excerpt(target=target, text=cut_excerpt(text, sentence, MAX_EXCERPT))
