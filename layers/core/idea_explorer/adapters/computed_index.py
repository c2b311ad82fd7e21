"""The index of published research where there is no deployment: made from the documents themselves."""

from collections.abc import Callable

from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.similar import Index, entry_of
from idea_explorer.ports import ResearchRepository


class ComputedIndex:
    """Made from the documents each time: always true, and quick enough on one machine."""

    def __init__(self, repository: ResearchRepository | None) -> None:
        self._repository = repository

    def load(self) -> Index:
        documents = self._repository.read_all() if self._repository else []
        return Index(
            entries=tuple(entry_of(f"{RESEARCH_ROOT}/{path}", text) for path, text in documents)
        )

    def change(self, change: Callable[[Index], Index]) -> None:
        """Nothing to do: what is published is found in the documents."""
