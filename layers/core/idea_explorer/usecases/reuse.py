"""Answer a request with published research, without a run and at no cost."""

from idea_explorer.domain.events import StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.domain.similar_research import Similar
from idea_explorer.ports import Log, ResearchIndex
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.library import load_text
from idea_explorer.usecases.run_events import emit_end


def similar(idea: str, deps: Deps) -> list[Similar]:
    """The published research that is nearest to an idea, best first."""
    index = deps.index()
    found = index.find_similar(idea)
    log_problems(index, deps.log)
    return found


def log_problems(index: ResearchIndex, log: Log) -> None:
    if problems := index.describe_problems():
        log.warning("documents_with_problems", **problems)


def reuse(
    request: ExploreRequest,
    owner: str,
    deps: Deps,
    *,
    exploration_id: ExplorationId | None = None,
) -> Exploration | None:
    """Store a completed exploration that points to the published document; None where there is none.

    Reusable is completed research of the same idea in the same mode; what the offline model wrote, only where
    it would write again. Where the id is taken, returns what is stored under it.
    """
    if request.if_exists != "reuse" or not request.spec.takes("if_exists"):
        return None
    found = deps.index().find_existing(request.idea, request.mode)
    text = load_text(found, deps) if found else None
    if found is None or text is None:
        return None
    if found.is_offline and deps.policy.model_ids.get(request.model) != OFFLINE:
        return None
    now = deps.clock.now()
    new = Exploration.new(
        request,
        owner,
        at=now,
        exploration_id=exploration_id,
        default_webhook=deps.policy.default_webhook,
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
    events = [StatusChanged(from_="queued", to="completed")]
    is_new = deps.explorations.create(exploration, events)
    if not is_new:
        exploration = deps.explorations.load(exploration.id)
    # also for one that is stored already: whoever stored it may have died before this
    deps.reports.save_report(exploration.id, exploration.lease, text)
    if is_new:
        emit_end(exploration, events, deps.sinks_for(exploration))
    return exploration
