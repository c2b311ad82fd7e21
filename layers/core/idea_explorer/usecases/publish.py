"""Publish a report to its team's repository, and set the exploration's final status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import ConflictError, ExplorerError, ExternalError
from idea_explorer.domain.events import ErrorEvent
from idea_explorer.domain.exploration import Exploration, Publication
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.retry import Retry, RetryPolicy, retry
from idea_explorer.domain.run import NO_PLAN, Receipt
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.run_events import save_end

if TYPE_CHECKING:
    from idea_explorer.ports import Change, Publisher, PublishResult, Tree

MAX_RETRY_SECONDS = 300.0  # a person may be waiting; they can resume it later
RETRY = RetryPolicy(first=1.0, longest=60.0, shortest=1.0)


def publish(
    exploration_id: ExplorationId,
    run: int,
    deps: Deps,
    *,
    give_up: ExplorerError | None = None,
) -> Exploration:
    """Publish the report of a run and set the final status. Safe to repeat after any failure.

    Nothing of a failed run is published, neither a document nor a pull request: its text is kept for a
    resume. Raises errors that a retry may fix. A caller that stops retrying passes the last one as
    `give_up`: then the run ends `failed` with it in its receipt, as it does with any other error. The
    report stays readable in any case.
    """
    exploration = deps.explorations.take_over(exploration_id, lambda e: _check_run(e, run))
    if exploration.is_final:
        return exploration
    assert exploration.run.outcome is not None
    published: PublishResult | None = None
    failure = give_up
    if exploration.run.outcome != "failed" and not give_up:
        try:
            if exploration.request.model == OFFLINE:
                _check_publisher(deps)
            elif exploration.request.spec.proposes_changes:
                published = _open_pull_request(exploration, deps)
            elif _is_published(exploration) and (publisher := deps.publisher()):
                published = _publish_report(exploration, publisher, deps)
        except ExplorerError as error:
            if error.retryable:
                raise
            failure = error
        except Exception as error:  # noqa: BLE001  whatever it was, the run must end
            failure = _unexpected(error, exploration_id, deps)
    if published and published.document:
        from idea_explorer.usecases.report_files import update_index

        update_index(published, deps)
    settled = _finish(exploration, published, failure, deps)
    failed = ErrorEvent(code=failure.code, message=failure.sentence) if failure else None
    save_end(exploration, settled, deps, failed)
    return settled


def publish_with_retry(
    exploration_id: ExplorationId, run: int, deps: Deps, on_wait: Callable[[str], None]
) -> Exploration:
    """Publish, and retry temporary failures for a few minutes. When that time is over, or a service asks
    for a longer wait, the run ends with the failure. `on_wait` is given a sentence before each wait."""
    clock = deps.clock

    def wait(again: Retry) -> None:
        assert isinstance(again.error, ExternalError)
        said = again.error.message
        on_wait(f"{said} The report is kept; trying again in {again.seconds:.0f} s.")
        clock.sleep(again.seconds)

    try:
        until = clock.monotonic() + MAX_RETRY_SECONDS
        return retry(
            lambda: publish(exploration_id, run, deps), RETRY, clock, until=until, wait=wait
        )
    except ExternalError as error:
        if not error.retryable:
            raise
        return publish(exploration_id, run, deps, give_up=error)


def _unexpected(error: Exception, exploration_id: ExplorationId, deps: Deps) -> ExplorerError:
    """Where it happened goes to the log; its message might quote an idea, so only its class is named."""
    import traceback

    kind = type(error).__name__
    frames = "".join(traceback.format_tb(error.__traceback__))
    deps.log.error(
        "unexpected_error", explorationId=exploration_id, errorType=kind, traceback=frames
    )
    return ExplorerError(
        f"The report could not be published because of an unexpected error ({kind}).",
        hint="It is kept; resume the exploration to publish it.",
    )


def _check_run(exploration: Exploration, run: int) -> Exploration:
    if exploration.run.number != run or not (exploration.run.outcome or exploration.is_final):
        raise ConflictError(f"Run {run} of exploration {exploration.id} has nothing to publish.")
    return exploration


def _has_text(exploration: Exploration) -> bool:
    return exploration.run.receipt is None or exploration.run.receipt.has_partial_text


def _is_published(exploration: Exploration) -> bool:
    is_held_back = exploration.run.stats.stop_reason == NO_PLAN
    return (
        exploration.request.spec.publishes_documents and _has_text(exploration) and not is_held_back
    )


def _check_publisher(deps: Deps) -> None:
    """A smoke test shows that a report could be published, and leaves none in the repository."""
    if publisher := deps.publisher():
        publisher.check()


def _open_pull_request(exploration: Exploration, deps: Deps) -> PublishResult | None:
    """Propose the approved changes, with the report as the text; without a report, with the idea."""
    from idea_explorer.usecases.approvals.warnings import list_warnings

    pull_requests = deps.pull_requests_for(exploration)
    if pull_requests is None:
        return None
    text = deps.reports.load_report(exploration.id) if _has_text(exploration) else ""
    body = list_warnings(deps.approvals.approvals(exploration.id))
    body += text or exploration.request.idea
    return pull_requests.open_pull_request(exploration, body)


def _publish_report(exploration: Exploration, publisher: Publisher, deps: Deps) -> PublishResult:
    from idea_explorer.usecases.report_files import plan_files

    report = deps.reports.load_report(exploration.id)

    def build(tree: Tree) -> Change:
        return plan_files(exploration, report, tree, deps.clock.now())

    return publisher.publish(
        exploration.id, exploration.run.number, build, since=exploration.created_at
    )


def _finish(
    exploration: Exploration,
    published: PublishResult | None,
    failure: ExplorerError | None,
    deps: Deps,
) -> Exploration:
    now = deps.clock.now()
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
    had_failed_to_publish = (
        exploration.run.receipt is not None and exploration.run.receipt.stage == "publish"
    )
    return exploration.finished(
        exploration.run.outcome,
        at=exploration.run.finished_at or now,
        receipt=None if had_failed_to_publish else exploration.run.receipt,
        publication=_publication(exploration, published),
    )


def _publication(exploration: Exploration, published: PublishResult | None) -> Publication:
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
