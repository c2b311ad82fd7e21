"""Put a report where its team will find it, and give the exploration its final status."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ConflictError, ExplorerError, ExternalError
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.domain.exploration import Exploration, Publication
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.retry import Retry, RetryPolicy, retry
from idea_explorer.domain.run import Receipt
from idea_explorer.domain.similar_research import Index, index_document
from idea_explorer.ports import (
    Change,
    EventSink,
    Explorations,
    Log,
    Published,
    Publisher,
    PullRequests,
    Reports,
    ResearchIndex,
    ResearchRepository,
    Tree,
)
from idea_explorer.usecases.placement import plan
from idea_explorer.usecases.run_events import close_run

INDEX_AGE = timedelta(days=1)  # what people add, change and remove by hand is known a day later
PATIENCE_SECONDS = 300.0  # a person may be waiting; what takes longer is theirs to resume
RETRY = RetryPolicy(first=1.0, longest=60.0, shortest=1.0)


def publish(
    exploration_id: ExplorationId,
    run: int,
    *,
    explorations: Explorations,
    reports: Reports,
    publisher: Publisher | None,
    clock: Clock,
    sinks: Sequence[EventSink] = (),
    log: Log | None = None,
    index: ResearchIndex | None = None,
    research: ResearchRepository | None = None,
    pull_requests_for: Callable[[Exploration], PullRequests | None] = lambda _: None,
    give_up: ExplorerError | None = None,
) -> Exploration:
    """Publish the run's report and settle its status; safe to repeat after any failure.

    Nothing of a run that failed is published, neither a document nor a pull request: its text is kept
    for a resume. Raises what another try may cure. Whoever has tried enough hands in what the last try
    ended with as `give_up`: then nothing more is tried, and the run ends `failed` with that in its
    receipt. The report stays readable whatever happens here.
    """
    exploration = explorations.take_over(exploration_id, lambda e: _of_run(e, run))
    if exploration.is_final:
        return exploration
    assert exploration.run.outcome is not None
    published: Published | None = None
    failure = give_up
    if exploration.run.outcome != "failed" and not give_up:
        try:
            if exploration.request.spec.proposes_changes:
                published = _proposed(exploration, reports, pull_requests_for(exploration))
            elif publisher and _is_published(exploration):
                published = _write(exploration, reports, publisher, clock)
        except ExplorerError as error:
            if error.retryable:
                raise
            failure = error
    if published and published.document and index:
        _remember(published, index, research, clock, log)
    settled = _settled(exploration, published, failure, clock)
    failed = ErrorEvent(code=failure.code, message=failure.sentence) if failure else None
    close_run(exploration, settled, explorations=explorations, sinks=sinks, failure=failed)
    return settled


def publish_with_retry(
    attempt: Callable[[ExplorerError | None], Exploration],
    clock: Clock,
    tell: Callable[[str], None],
) -> Exploration:
    """Retry failures that may pass, for some minutes. When that time is over, or a service asks for a
    longer wait, `attempt` is given the failure to record."""

    def wait(again: Retry) -> None:
        assert isinstance(again.error, ExternalError)
        said = again.error.message
        tell(f"{said} The report is kept; trying again in {again.seconds:.0f} s.")
        clock.sleep(again.seconds)

    try:
        until = clock.monotonic() + PATIENCE_SECONDS
        return retry(lambda: attempt(None), RETRY, clock, until=until, wait=wait)
    except ExternalError as error:
        if not error.retryable:
            raise
        return attempt(error)


def _of_run(exploration: Exploration, run: int) -> Exploration:
    if exploration.run.number != run or not (exploration.run.outcome or exploration.is_final):
        raise ConflictError(f"Run {run} of exploration {exploration.id} has nothing to publish.")
    return exploration


def _has_text(exploration: Exploration) -> bool:
    return exploration.run.receipt is None or exploration.run.receipt.has_partial_text


def _is_published(exploration: Exploration) -> bool:
    return exploration.request.spec.publishes_documents and _has_text(exploration)


def _proposed(
    exploration: Exploration, reports: Reports, pull_requests: PullRequests | None
) -> Published | None:
    """What was approved, with the report as its text; changes without a report are proposed too."""
    if pull_requests is None:
        return None
    text = reports.load_report(exploration.id) if _has_text(exploration) else ""
    return pull_requests.open_pull_request(exploration, text or exploration.request.idea)


def _write(
    exploration: Exploration, reports: Reports, publisher: Publisher, clock: Clock
) -> Published:
    report = reports.load_report(exploration.id)

    def build(tree: Tree) -> Change:
        return plan(exploration, report, tree, clock.now())

    return publisher.publish(
        exploration.id, exploration.run.number, build, since=exploration.created_at
    )


def _remember(
    published: Published,
    index: ResearchIndex,
    research: ResearchRepository | None,
    clock: Clock,
    log: Log | None,
) -> None:
    """Keep the index up to date. Research that is published stays so even if this fails."""
    now = clock.now()

    def change(known: Index) -> Index:
        fresh = known.rebuilt_at is not None and now - known.rebuilt_at < INDEX_AGE
        if research and not fresh:
            documents = research.read_all()
            entries = tuple(
                index_document(f"{RESEARCH_ROOT}/{path}", text) for path, text in documents
            )
            known = Index(entries=entries, rebuilt_at=now)
        if not published.text:
            return known
        return known.with_entry(index_document(published.document, published.text))

    try:
        index.change(change)
    except ExplorerError as error:
        if log:
            log.warning(
                "research_index_not_updated", document=published.document, error=error.sentence
            )


def _settled(
    exploration: Exploration,
    published: Published | None,
    failure: ExplorerError | None,
    clock: Clock,
) -> Exploration:
    now = clock.now()
    if failure:
        receipt = Receipt.of(
            exploration.id,
            failure.code,
            failure.sentence,
            stats=exploration.run.stats,
            has_text=True,
            stage="publish",
        )
        return exploration.finished("failed", at=now, receipt=receipt)
    assert exploration.run.outcome is not None
    was_stuck = exploration.run.receipt is not None and exploration.run.receipt.stage == "publish"
    return exploration.finished(
        exploration.run.outcome,
        at=exploration.run.finished_at or now,
        receipt=None if was_stuck else exploration.run.receipt,
        publication=_publication(exploration, published),
    )


def _publication(exploration: Exploration, published: Published | None) -> Publication:
    """What this run published; of a run that published nothing, what an earlier one did."""
    before = exploration.publication
    if published is None:
        return before
    return Publication(
        path=published.path,
        document=published.document,
        url=published.url,
        commit=published.commit,
        branch=published.branch,
        notice=published.notice or before.notice,
        reused=before.reused,
    )
