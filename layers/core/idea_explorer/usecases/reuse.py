"""Answer with research that is there already, without a run and without a cent."""

from collections.abc import Callable, Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.documents import parse_document
from idea_explorer.domain.errors import ExplorerError, MissingError
from idea_explorer.domain.events import StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.domain.similar_research import IndexEntry, Similar, find_existing
from idea_explorer.domain.similar_research import find_similar as rank
from idea_explorer.ports import (
    EventSink,
    Explorations,
    Reports,
    ResearchIndex,
    ResearchRepository,
)
from idea_explorer.usecases.continuation import MAX_EARLIER_BYTES
from idea_explorer.usecases.run_events import announce_end


def similar(idea: str, index: ResearchIndex) -> list[Similar]:
    """The published research that is nearest to an idea, best first."""
    return rank(idea, index.load())


def reuse(
    request: ExploreRequest,
    owner: str,
    *,
    explorations: Explorations,
    reports: Reports,
    index: ResearchIndex,
    clock: Clock,
    research: ResearchRepository | None = None,
    exploration_id: ExplorationId | None = None,
    sinks_for: Callable[[Exploration], Sequence[EventSink]] = lambda _: (),
    default_webhook: bool = False,
) -> Exploration | None:
    """The stored, completed answer to a request for reuse; None where it has to be run.

    The same idea in the same mode, researched to its end, is what can be reused. An id that is taken
    answers with what is stored under it.
    """
    if request.if_exists != "reuse" or not request.spec.takes("if_exists"):
        return None
    found = find_existing(request.idea, request.mode, index.load())
    text = _text(found, reports, research) if found else None
    if found is None or text is None:
        return None
    now = clock.now()
    new = Exploration.new(
        request, owner, at=now, exploration_id=exploration_id, default_webhook=default_webhook
    )
    exploration = new.replace(
        finished_at=now,
        status="completed",
        outcome="completed",
        stats=Stats(cost_usd=0.0, stop_reason="reused"),
        path=found.path,
        document=found.path,
        reused=found.path,
        title=found.title,
        verdict=found.verdict,
    )
    told = [StatusChanged(from_="queued", to="completed")]
    is_new = explorations.create(exploration, told)
    if not is_new:
        exploration = explorations.load(exploration.id)
    # also for one that is stored: who stored it may have died before the rest
    reports.save_report(exploration.id, exploration.lease, text)
    if is_new:
        announce_end(exploration, told, sinks_for(exploration))
    return exploration


def _text(found: IndexEntry, reports: Reports, research: ResearchRepository | None) -> str | None:
    """The document as it is now where it can be read here; else the report it was made from. As of
    any other exploration, a report is without front matter."""
    try:
        if research:
            path = ResearchPath(found.path.removeprefix(f"{RESEARCH_ROOT}/"))
            return parse_document(research.read(path, limit=MAX_EARLIER_BYTES).content).body.strip()
        return reports.load_report(ExplorationId(found.exploration_id))
    except MissingError:
        return None
    except ExplorerError as error:
        if error.retryable:
            raise
        return None
