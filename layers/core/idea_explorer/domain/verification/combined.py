"""What several sources of one sentence state, each of them read once."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from idea_explorer.domain.verification.contexts import Contexts
from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.index import Index
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.ordinals import Ordinal


class CombinedEvidence(Evidence):
    """The evidence of all sources together, from what was read of each."""

    def __init__(self, parts: Sequence[Evidence]) -> None:
        super().__init__(())
        self.text = "\n".join(part.text for part in parts)
        self.titles = [title for part in parts for title in part.titles]
        self._parts = parts

    @cached_property
    def passages(self) -> Sequence[Index]:
        return [index for part in self._parts for index in part.passages]

    @cached_property
    def contexts(self) -> Sequence[Contexts]:
        return [each for part in self._parts for each in part.contexts]

    @cached_property
    def numbers(self) -> list[Number]:
        return [number for part in self._parts for number in part.numbers]

    @cached_property
    def ordinals(self) -> list[Ordinal]:
        return [ordinal for part in self._parts for ordinal in part.ordinals]

    @cached_property
    def words(self) -> Counter[str]:
        return sum((part.words for part in self._parts), Counter())

    @cached_property
    def initials(self) -> str:
        return "".join(part.initials for part in self._parts)

    @cached_property
    def quotable(self) -> str:
        return " ".join(part.quotable for part in self._parts)
