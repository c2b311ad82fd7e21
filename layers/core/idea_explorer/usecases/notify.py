"""Send the webhook of an exploration that has ended.

The delivery has a status of its own: it never changes the exploration. A receiver that is down is tried
again for a day; one that rejects the message is not.
"""

from collections.abc import Sequence
from datetime import timedelta

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import (
    ConfigurationError,
    ConflictError,
    ExplorerError,
    ExternalError,
    LeaseLostError,
    MissingError,
    UndeliveredError,
)
from idea_explorer.domain.events import WebhookGivenUp
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.request import UNREADABLE_SECRET
from idea_explorer.domain.webhook import (
    WAITS,
    WebhookMessage,
    WebhookTarget,
    build_headers,
    build_message,
    is_final,
    is_temporary,
    test_message,
)
from idea_explorer.usecases.deps import Deps

# attempts at 1, 2 and 4 s; the first leaves GitHub time to show the commit
PAUSES = (1.0, 1.0, 2.0)
TIMEOUT_SECONDS = 10.0
API_TIMEOUT_SECONDS = 6.0  # three attempts then end within the 29 s of an API call
CLAIM = timedelta(minutes=2)  # longer than a round takes, so that nobody else sends it meanwhile
NO_TARGET = "There is no webhook set here any more. An operator sets it."
NO_KEY = (
    "The webhook's secret cannot be decrypted: its key is not at hand. Unlock the system's keyring."
)


@dataclass(frozen=True, slots=True)
class _Round:
    """The result of up to three attempts: delivered, or the last error."""

    attempts: int
    error: ExplorerError | None = None

    @property
    def delivered(self) -> bool:
        return self.error is None

    @property
    def is_temporary(self) -> bool:
        return isinstance(self.error, ExternalError) and is_temporary(self.error)


def notify(
    exploration_id: ExplorationId, run: int, deps: Deps, *, timeout: float = TIMEOUT_SECONDS
) -> Exploration:
    """Send the webhook of a run, unless it was delivered or rejected.

    Safe to repeat: id and body are the same each time, so that a receiver recognizes repeats. While the
    receiver is down, raises UndeliveredError and records when to try again. After a day of that, or
    where nobody will try again (`retries_webhooks`), the delivery has failed.
    """
    exploration = _load_ended(exploration_id, run, deps)
    before = _delivery_of(exploration)
    if before.status != "pending":
        return exploration
    sent = _send(exploration, deps, timeout)
    after = _delivery_after(before, sent, deps)
    if sent.is_temporary and deps.retries_webhooks and before.rounds < len(WAITS):
        wait = timedelta(seconds=WAITS[before.rounds])
        again = {"status": "pending", "next_try": deps.clock.now() + wait}
        _record(exploration, after.model_copy(update=again), deps)
        raise UndeliveredError(after.last_error or "The receiver is down.")
    recorded = _record(exploration, after, deps)
    if after.status == "failed":
        for sink in deps.sinks_for(recorded):
            sink.emit(WebhookGivenUp(error=after.last_error or ""))
    return recorded


def resend(
    exploration_id: ExplorationId, deps: Deps, *, timeout: float = TIMEOUT_SECONDS
) -> Exploration:
    """Send the webhook of the last run once more, even if it was delivered or has failed.

    Scheduled retries stay scheduled unless this is delivered. Raises ConflictError without a webhook.
    """
    found = deps.explorations.load(exploration_id)
    if found.delivery.status == "none":
        raise ConflictError(
            f"Exploration {exploration_id} was submitted without a webhook.",
            hint="Submit with --webhook-url to get one.",
        )
    exploration = _load_ended(exploration_id, found.run.number, deps)
    before = _delivery_of(exploration)
    sent = _send(exploration, deps, timeout)
    after = _delivery_after(before, sent, deps)
    if not sent.delivered and before.status == "pending":
        later = {"status": "pending", "rounds": before.rounds, "next_try": before.next_try}
        after = after.model_copy(update=later)
    return _record(exploration, after, deps)


def deliver_due(deps: Deps) -> bool:
    """Send the webhook that is longest overdue; False where none is."""
    now = deps.clock.now()
    overdue = deps.explorations.due_deliveries(now)
    if not overdue:
        return False

    def claimed(exploration: Exploration) -> Exploration:
        due = exploration.delivery_due
        if due is None or due >= now:
            raise ConflictError(
                f"The webhook of exploration {exploration.id} is being sent by another worker."
            )
        delivery = exploration.delivery.model_copy(update={"next_try": now + CLAIM})
        return exploration.replace(delivery=delivery)

    try:
        exploration = deps.explorations.take_over(overdue[0].id, claimed)
        notify(exploration.id, exploration.run.number, deps)
    except (ConflictError, UndeliveredError):
        pass  # another worker sends it, or the record says when to try again
    return True


def send_test(url: str, secret: str | None, deps: Deps) -> Delivery:
    """Send a signed test message, once. A failure is reported in the delivery, not raised."""
    now = deps.clock.now()
    message = test_message(new_id(int(now.timestamp() * 1_000)), now)
    sent = _post(message, WebhookTarget(url, secret), deps, API_TIMEOUT_SECONDS, pauses=(0.0,))
    return Delivery(
        status="delivered" if sent.delivered else "failed",
        attempts=sent.attempts,
        last_error=sent.error.sentence if sent.error else None,
        at=deps.clock.now(),
    )


def _load_ended(exploration_id: ExplorationId, run: int, deps: Deps) -> Exploration:
    exploration = deps.explorations.load(exploration_id)
    if exploration.run.number != run or not exploration.is_final:
        raise ConflictError(f"Run {run} of exploration {exploration_id} has not ended.")
    return exploration


def _delivery_of(exploration: Exploration) -> Delivery:
    """The delivery of this run: one recorded for an earlier run does not count."""
    known = exploration.delivery
    is_of_it = known.run in {0, exploration.run.number}
    delivery = known if is_of_it else exploration.new_delivery
    return delivery.model_copy(update={"run": exploration.run.number})


def _send(exploration: Exploration, deps: Deps, timeout: float) -> _Round:
    request = exploration.request
    if request.callback_secret == UNREADABLE_SECRET:
        return _Round(0, ConfigurationError(NO_KEY))
    try:
        own = request.webhook_url
        target = WebhookTarget(own, request.callback_secret) if own else deps.default_webhook()
    except ConfigurationError as error:
        return _Round(0, error)
    if target is None:
        return _Round(0, ConfigurationError(NO_TARGET))
    message = build_message(
        exploration,
        _report(exploration, deps),
        repository=deps.repository,
        branch=deps.branch,
    )
    return _post(message, target, deps, timeout)


def _report(exploration: Exploration, deps: Deps) -> str:
    """The report, unless its repository was taken off the list since: then the receiver learns only that the
    run has ended."""
    if not deps.policy.may_show(exploration):
        return ""
    try:
        return deps.reports.load_report(exploration.id)
    except MissingError:
        return ""


def _post(
    message: WebhookMessage,
    target: WebhookTarget,
    deps: Deps,
    timeout: float,
    pauses: Sequence[float] = PAUSES,
) -> _Round:
    """Try until it is delivered, or the receiver rejects it for good."""
    webhooks = deps.webhooks()
    last: ExternalError | None = None
    attempts = 0
    for pause in pauses:
        deps.clock.sleep(pause)
        attempts += 1
        headers = build_headers(message, target.secret, deps.clock.now())
        try:
            webhooks.post(target.url, message.body, headers, timeout)
        except ExternalError as error:
            last = error
            if is_final(error):
                break
        else:
            return _Round(attempts)
    return _Round(attempts, last)


def _delivery_after(before: Delivery, sent: _Round, deps: Deps) -> Delivery:
    return Delivery(
        status="delivered" if sent.delivered else "failed",
        run=before.run,
        attempts=before.attempts + sent.attempts,
        rounds=before.rounds + 1,
        last_error=sent.error.sentence if sent.error else None,
        at=deps.clock.now(),
    )


def _record(exploration: Exploration, delivery: Delivery, deps: Deps) -> Exploration:
    """Store the delivery, unless the exploration was resumed meanwhile."""

    def same_run(current: Exploration) -> Exploration:
        if current.run.number != exploration.run.number:
            raise LeaseLostError(f"Exploration {exploration.id} was resumed.")
        return current.replace(delivery=delivery)

    try:
        return deps.explorations.take_over(exploration.id, same_run)
    except LeaseLostError:
        return deps.explorations.load(exploration.id)


def request_webhook(exploration: Exploration, deps: Deps) -> None:
    """Have the webhook sent by the notify function, unless there is none or it was tried already."""
    due, delivery = exploration.delivery_due, exploration.delivery
    tried = delivery.rounds > 0 and delivery.run == exploration.run.number
    if due and not tried:
        request_notice(exploration, deps)


def request_notice(exploration: Exploration, deps: Deps) -> None:
    """Ask the notify function to send the webhook. A failure is logged, not raised: the sweep retries."""
    try:
        deps.notices().ask(exploration.id, exploration.run.number)
    except ExplorerError as error:
        deps.log.warning("notice_not_sent", explorationId=exploration.id, error=error.sentence)
