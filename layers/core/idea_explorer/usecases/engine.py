"""What a run needs besides the stores: the model, the tools and their limits."""

from collections.abc import Callable, Sequence

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import ChangeWriter, EventSink, Model
from idea_explorer.usecases.continuation import Continuation
from idea_explorer.usecases.opening import framework_of


@dataclass(frozen=True, kw_only=True)
class Engine:
    model: Model
    toolset_for: Callable[[Exploration, Sequence[AnyEntry]], Toolset]
    writer_for: Callable[[Exploration], ChangeWriter] | None = None
    # the commit that a run reads
    base_commit_for: Callable[[Exploration], str | None] = lambda _: None
    check_repository: Callable[[Exploration], None] = lambda _: None
    # the repository's web address
    repository_url_for: Callable[[Exploration], str | None] = lambda _: None
    framework_for: Callable[[Exploration, Continuation | None, str], Framework | None] = (
        framework_of
    )
    sinks_for: Callable[[Exploration], Sequence[EventSink]] = lambda _: ()  # e.g. spans
    max_total_tokens: int | None = None
    search_tokens: int = 10_000
