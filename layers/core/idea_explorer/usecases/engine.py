"""Everything an exploration runs on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import PROFILES, ModelProfile
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.usage import Price
from idea_explorer.ports import (
    Approvals,
    ChangeWriter,
    EventLog,
    EventSink,
    Explorations,
    Log,
    Model,
    Reports,
    Transcripts,
)
from idea_explorer.usecases.continuation import Continuation
from idea_explorer.usecases.opening import framework_of
from idea_explorer.usecases.request_policy import RequestPolicy


@dataclass(frozen=True)
class Engine:
    """Everything an exploration runs on."""

    explorations: Explorations
    transcripts: Transcripts
    events: EventLog
    reports: Reports
    model: Model
    toolset_for: Callable[[Exploration, Sequence[AnyEntry]], Toolset]
    sinks_for: Callable[[Exploration], Sequence[EventSink]]
    clock: Clock
    log: Log
    model_ids: Mapping[str, str]
    prices: Mapping[str, Price]
    profiles: Mapping[str, ModelProfile] = field(default_factory=lambda: PROFILES)
    terms: RequestPolicy = field(default_factory=RequestPolicy)
    max_total_tokens: int | None = None
    search_tokens: int = 10_000
    approvals: Approvals | None = None
    writer_for: Callable[[Exploration], ChangeWriter] | None = None
    continuation_for: Callable[[Exploration], Continuation | None] = lambda _: None
    framework_for: Callable[[Exploration, Continuation | None, str], Framework | None] = (
        framework_of
    )
    base_of: Callable[[Exploration], str | None] | None = None
    check_repository: Callable[[Exploration], None] = lambda _: None
    page_of: Callable[[Exploration], str | None] = lambda _: None  # of its repository, on the web
    start_seconds: float = 0.0  # of the deadline, that have passed when a run first gets here
    prepare: Callable[[], None] = lambda: None  # what a run's deadline is not to pay for
