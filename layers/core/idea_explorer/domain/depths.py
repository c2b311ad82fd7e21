"""How deep an exploration of the research toolset goes: one table for everything that follows from it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from idea_explorer.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """What a request that names only a depth gets. What the request says itself wins."""

    steps: int
    deadline_seconds: int
    effort: Literal["low", "medium", "high"] | None  # None: the model's own
    searches: int  # web searches of one answer
    pages: int  # that one answer opens with web_fetch, or one run with http_fetch
    words: tuple[int, int]  # of the report
    plans: bool = False  # the first answer is a plan
    branches: int = (
        0  # questions of the plan that are researched side by side, each by a run of its own
    )
    branch_steps: int = 0
    branch_seconds: int = 0


DEPTHS: Mapping[str, Depth] = {
    "quick": Depth(
        steps=5, deadline_seconds=120, effort=None, searches=5, pages=3, words=(1_000, 1_500)
    ),
    "standard": Depth(
        steps=10,
        deadline_seconds=300,
        effort=None,
        searches=5,
        pages=8,
        words=(1_500, 2_200),
        plans=True,
    ),
    "deep": Depth(
        steps=10,  # without branches: with them, the plan and the report are all
        deadline_seconds=840,
        effort="high",
        searches=5,
        pages=6,
        words=(2_500, 3_500),
        plans=True,
        branches=4,
        branch_steps=6,
        branch_seconds=360,
    ),
}
DEFAULT_DEPTH = "quick"

if TYPE_CHECKING:
    DepthName = str
else:
    DepthName = Literal[tuple(DEPTHS)]
