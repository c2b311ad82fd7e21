"""Tell whoever asked for it that an exploration has come to its end.

What becomes of the message never changes the exploration: the delivery has a status of its own.
"""

from collections.abc import Mapping, Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    ExternalError,
    LeaseLostError,
    MissingError,
)
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.webhook import Message, headers_of, message_of, test_message
from idea_explorer.ports import Explorations, Reports, Webhooks

PAUSES = (
    1.0,
    1.0,
    2.0,
)  # attempts at 1, 2 and 4 s; the first leaves GitHub time to show the commit
TIMEOUT_SECONDS = 10.0
BLOCKED = "blocked_address"
HURRIED_SECONDS = 6.0  # three attempts then end within the 29 s of an API call


class Hurried:
    """Webhooks for somebody who waits for the outcome."""

    def __init__(self, inner: Webhooks) -> None:
        self._inner = inner

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        return self._inner.post(url, body, headers, min(timeout, HURRIED_SECONDS))


def notify(
    exploration_id: ExplorationId,
    run: int,
    *,
    explorations: Explorations,
    reports: Reports,
    webhooks: Webhooks,
    clock: Clock,
    repository: str | None,
    branch: str | None,
    again: bool = False,
) -> Exploration:
    """Send the message of a run, unless it has arrived; `again` sends it whatever became of it.

    Safe to repeat: id and body are the same each time, so that a receiver can tell repeats.
    """
    exploration = explorations.load(exploration_id)
    request = exploration.request
    if exploration.run != run or not exploration.is_final:
        raise ConflictError(f"Run {run} of exploration {exploration_id} has not come to its end.")
    arrived = exploration.delivery.status == "delivered" and exploration.delivery.run == run
    if request.webhook_url is None or (arrived and not again):
        return exploration
    message = message_of(
        exploration, _report(exploration, reports), repository=repository, branch=branch
    )
    delivery = _deliver(
        message, request.webhook_url, request.callback_secret, webhooks, clock
    ).model_copy(update={"run": run})
    return _recorded(exploration_id, run, delivery, explorations)


def resend(
    exploration_id: ExplorationId,
    *,
    explorations: Explorations,
    reports: Reports,
    webhooks: Webhooks,
    clock: Clock,
    repository: str | None,
    branch: str | None,
) -> Exploration:
    """Send the message of the last run once more; raises where none was asked for."""
    exploration = explorations.load(exploration_id)
    if exploration.request.webhook_url is None:
        raise ConflictError(
            f"Exploration {exploration_id} was submitted without a webhook.",
            hint="Submit with --webhook-url to be told.",
        )
    return notify(
        exploration_id,
        exploration.run,
        explorations=explorations,
        reports=reports,
        webhooks=webhooks,
        clock=clock,
        repository=repository,
        branch=branch,
        again=True,
    )


def send_test(url: str, secret: str | None, *, webhooks: Webhooks, clock: Clock) -> Delivery:
    """Send a signed test message, once; a receiver that fails is told of, not raised."""
    now = clock.now()
    message = test_message(new_id(int(now.timestamp() * 1_000)), now)
    return _deliver(message, url, secret, webhooks, clock, pauses=(0.0,))


def _report(exploration: Exploration, reports: Reports) -> str:
    try:
        return reports.load_report(exploration.id)
    except MissingError:
        return ""


def _deliver(
    message: Message,
    url: str,
    secret: str | None,
    webhooks: Webhooks,
    clock: Clock,
    pauses: Sequence[float] = PAUSES,
) -> Delivery:
    """Try until it has arrived; an address that may not be used is not tried again."""
    last: ExplorerError | None = None
    attempts = 0
    for pause in pauses:
        clock.sleep(pause)
        attempts += 1
        headers = headers_of(message, secret, clock.now())
        try:
            webhooks.post(url, message.body, headers, TIMEOUT_SECONDS)
        except ExternalError as error:
            last = error
            if error.error_type == BLOCKED:
                break
        else:
            return Delivery(status="delivered", attempts=attempts, at=clock.now())
    said = last.sentence if last else None
    return Delivery(status="failed", attempts=attempts, last_error=said, at=clock.now())


def _recorded(
    exploration_id: ExplorationId, run: int, delivery: Delivery, explorations: Explorations
) -> Exploration:
    """Keep what became of the message, unless the exploration has gone on meanwhile."""

    def same_run(exploration: Exploration) -> Exploration:
        if exploration.run != run:
            raise LeaseLostError(f"Exploration {exploration_id} has gone on.")
        return exploration.model_copy(update={"delivery": delivery})

    try:
        return explorations.take_over(exploration_id, same_run)
    except LeaseLostError:
        return explorations.load(exploration_id)
