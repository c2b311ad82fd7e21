"""Put a report where its team will find it, and give the exploration its final status."""

from collections.abc import Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ConflictError, ExplorerError
from idea_explorer.domain.events import Failed, StatusChanged
from idea_explorer.domain.exploration import Exploration, Receipt
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import appended_log, commit_message, document, new_place
from idea_explorer.ports import (
    Change,
    EventLog,
    EventSink,
    Explorations,
    Published,
    Publisher,
    Reports,
    Tree,
)
from idea_explorer.usecases.history import Everywhere, History

PUBLISHED_TOOLSETS = frozenset({"research"})


def publish(
    exploration_id: ExplorationId,
    run: int,
    *,
    explorations: Explorations,
    reports: Reports,
    events: EventLog,
    publisher: Publisher | None,
    clock: Clock,
    sinks: Sequence[EventSink] = (),
) -> Exploration:
    """Publish the run's report and settle its status; safe to repeat after any failure."""
    exploration = explorations.take_over(exploration_id, lambda e: _of_run(e, run))
    if exploration.is_final:
        return exploration
    assert exploration.outcome is not None
    sink = Everywhere([History(events, exploration), *sinks])
    published: Published | None = None
    failure: ExplorerError | None = None
    if publisher and exploration.request.toolset in PUBLISHED_TOOLSETS and _has_text(exploration):
        try:
            published = _write(exploration, reports, publisher, clock)
        except ExplorerError as error:
            if error.retryable:
                raise
            failure = error
    settled = _settled(exploration, published, failure, clock)
    explorations.save(settled)
    if failure:
        sink.emit(Failed(code=failure.code, message=failure.sentence))
    sink.emit(StatusChanged(from_=exploration.status, to=settled.status))
    return settled


def _of_run(exploration: Exploration, run: int) -> Exploration:
    if exploration.run != run or not (exploration.outcome or exploration.is_final):
        raise ConflictError(f"Run {run} of exploration {exploration.id} has nothing to publish.")
    return exploration


def _has_text(exploration: Exploration) -> bool:
    return exploration.receipt is None or exploration.receipt.has_partial_text


def _write(
    exploration: Exploration, reports: Reports, publisher: Publisher, clock: Clock
) -> Published:
    report = reports.load_report(exploration.id)

    def build(tree: Tree) -> Change:
        place = new_place(exploration, set(tree.folders(RESEARCH_ROOT)))
        log = appended_log(tree.read_text(place.log), exploration, place.document, clock.now())
        files = {place.document: document(exploration, report), place.log: log}
        return Change(path=place.document, message=commit_message(exploration), files=files)

    return publisher.publish(exploration.id, exploration.run, build)


def _settled(
    exploration: Exploration,
    published: Published | None,
    failure: ExplorerError | None,
    clock: Clock,
) -> Exploration:
    now = clock.now()
    if failure:
        receipt = Receipt(
            code=failure.code,
            message=failure.sentence,
            step=exploration.stats.steps,
            cost_usd=exploration.stats.cost_usd,
            has_partial_text=True,
            resume=f"idea resume {exploration.id}",
        )
        return exploration.finished("failed", at=now, receipt=receipt)
    assert exploration.outcome is not None
    return exploration.finished(
        exploration.outcome,
        at=exploration.finished_at or now,
        path=published.path if published else None,
        url=published.url if published else None,
    )
