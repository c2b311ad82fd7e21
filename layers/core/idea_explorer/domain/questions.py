"""Which question of a plan a tool call looks into, by the words that both have."""

from collections import Counter

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import Plan
from idea_explorer.domain.similar_research import MIN_SHARED
from idea_explorer.domain.terms import extract_terms


class Questions:
    """The questions of a plan, by their words. A word that several have says less about each of them."""

    def __init__(self, plan: Plan) -> None:
        self._terms = [frozenset(extract_terms(asked.question)) for asked in plan.sub_questions]
        self._counts = Counter(term for terms in self._terms for term in terms)

    def find(self, given: JsonObject) -> int | None:
        """The number of the question that a call with these arguments looks into, from 1; None if the words
        of no question, or of several, are as near."""
        asked = set(extract_terms(" ".join(v for v in given.values() if isinstance(v, str))))
        scores = [self._score(asked & terms) for terms in self._terms]
        best = max(scores, default=0.0)
        return scores.index(best) + 1 if best and scores.count(best) == 1 else None

    def _score(self, shared: set[str] | frozenset[str]) -> float:
        """0 where every shared word is in another question too: they name the subject of the plan."""
        if len(shared) < MIN_SHARED or all(self._counts[term] > 1 for term in shared):
            return 0.0
        return sum(1 / self._counts[term] for term in sorted(shared))
