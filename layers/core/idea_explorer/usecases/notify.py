"""Tell whoever asked for it that an exploration has come to its end.

What becomes of the message never changes the exploration: the delivery has a status of its own. A
receiver that is down is tried again for a day; one that refuses the message is not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import (
    ConfigurationError,
    ConflictError,
    ExplorerError,
    ExternalError,
    LeaseLostError,
    MissingError,
    UndeliveredError,
)
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.webhook import (
    WAITS,
    Target,
    WebhookMessage,
    build_headers,
    build_message,
    is_final,
    is_temporary,
    test_message,
)
from idea_explorer.ports import Explorations, Log, Notices, Reports, Webhooks

PAUSES = (
    1.0,
    1.0,
    2.0,
)  # attempts at 1, 2 and 4 s; the first leaves GitHub time to show the commit
TIMEOUT_SECONDS = 10.0
HURRIED_SECONDS = 6.0  # three attempts then end within the 29 s of an API call
CLAIM = timedelta(minutes=2)  # longer than a round takes: nobody else sends meanwhile
NO_TARGET = "There is no webhook set here any more. An operator sets it."


class CappedTimeout:
    """Webhooks for somebody who waits for the outcome."""

    def __init__(self, inner: Webhooks) -> None:
        self._inner = inner

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        return self._inner.post(url, body, headers, min(timeout, HURRIED_SECONDS))


@dataclass(frozen=True)
class Sender:
    """What sending takes. `default` is whom to tell where a request names nobody."""

    explorations: Explorations
    reports: Reports
    webhooks: Webhooks
    clock: Clock
    repository: str | None = None
    branch: str | None = None
    default: Callable[[], Target | None] = lambda: None


@dataclass(frozen=True, slots=True)
class _Round:
    """What a round of attempts came to: it has arrived, or the last error."""

    attempts: int
    error: ExplorerError | None = None

    @property
    def arrived(self) -> bool:
        return self.error is None

    @property
    def is_temporary(self) -> bool:
        return isinstance(self.error, ExternalError) and is_temporary(self.error)


def notify(
    exploration_id: ExplorationId, run: int, sender: Sender, *, retried: bool = True
) -> Exploration:
    """Send the message of a run, unless it has arrived or was refused.

    Safe to repeat: id and body are the same each time, so that a receiver can tell repeats. Where the
    receiver is down, the record says when to try again and UndeliveredError is raised; unless nobody
    would try again (`retried`) or a day of that is over, for then it has failed.
    """
    exploration = _ended(exploration_id, run, sender)
    before = _delivery_of(exploration)
    if before.status != "pending":
        return exploration
    made = _send(exploration, sender)
    after = _after(before, made, sender)
    if made.is_temporary and retried and before.rounds < len(WAITS):
        wait = timedelta(seconds=WAITS[before.rounds])
        again = {"status": "pending", "next_try": sender.clock.now() + wait}
        _record(exploration, after.model_copy(update=again), sender)
        raise UndeliveredError(after.last_error or "The receiver is down.")
    return _record(exploration, after, sender)


def resend(exploration_id: ExplorationId, sender: Sender) -> Exploration:
    """Send the message of the last run once more, whatever became of it; raises where none was asked for.

    What will be tried again by itself still will, unless this arrives.
    """
    found = sender.explorations.load(exploration_id)
    if found.delivery.status == "none":
        raise ConflictError(
            f"Exploration {exploration_id} was submitted without a webhook.",
            hint="Submit with --webhook-url to be told.",
        )
    exploration = _ended(exploration_id, found.run.number, sender)
    before = _delivery_of(exploration)
    made = _send(exploration, sender)
    after = _after(before, made, sender)
    if not made.arrived and before.status == "pending":
        later = {"status": "pending", "rounds": before.rounds, "next_try": before.next_try}
        after = after.model_copy(update=later)
    return _record(exploration, after, sender)


def deliver_due(sender: Sender) -> bool:
    """Send the message that is longest overdue; False where none is."""
    now = sender.clock.now()
    overdue = sender.explorations.due_deliveries(now)
    if not overdue:
        return False

    def claimed(exploration: Exploration) -> Exploration:
        due = exploration.delivery_due
        if due is None or due >= now:
            raise ConflictError(f"Somebody else tells of exploration {exploration.id}.")
        delivery = exploration.delivery.model_copy(update={"next_try": now + CLAIM})
        return exploration.replace(delivery=delivery)

    try:
        exploration = sender.explorations.take_over(overdue[0].id, claimed)
        notify(exploration.id, exploration.run.number, sender)
    except (ConflictError, UndeliveredError):
        pass  # it is somebody else's, or the record says when it is tried again
    return True


def send_test(url: str, secret: str | None, *, webhooks: Webhooks, clock: Clock) -> Delivery:
    """Send a signed test message, once; a receiver that fails is told of, not raised."""
    now = clock.now()
    message = test_message(new_id(int(now.timestamp() * 1_000)), now)
    made = _post(message, Target(url, secret), webhooks, clock, pauses=(0.0,))
    return Delivery(
        status="delivered" if made.arrived else "failed",
        attempts=made.attempts,
        last_error=made.error.sentence if made.error else None,
        at=clock.now(),
    )


def _ended(exploration_id: ExplorationId, run: int, sender: Sender) -> Exploration:
    exploration = sender.explorations.load(exploration_id)
    if exploration.run.number != run or not exploration.is_final:
        raise ConflictError(f"Run {run} of exploration {exploration_id} has not come to its end.")
    return exploration


def _delivery_of(exploration: Exploration) -> Delivery:
    """The delivery of this run; what was recorded of an earlier one says nothing about it."""
    known = exploration.delivery
    is_of_it = known.run in {0, exploration.run.number}
    delivery = known if is_of_it else exploration.new_delivery
    return delivery.model_copy(update={"run": exploration.run.number})


def _send(exploration: Exploration, sender: Sender) -> _Round:
    request = exploration.request
    try:
        own = request.webhook_url
        target = Target(own, request.callback_secret) if own else sender.default()
    except ConfigurationError as error:
        return _Round(0, error)
    if target is None:
        return _Round(0, ConfigurationError(NO_TARGET))
    message = build_message(
        exploration,
        _report(exploration, sender.reports),
        repository=sender.repository,
        branch=sender.branch,
    )
    return _post(message, target, sender.webhooks, sender.clock)


def _report(exploration: Exploration, reports: Reports) -> str:
    try:
        return reports.load_report(exploration.id)
    except MissingError:
        return ""


def _post(
    message: WebhookMessage,
    target: Target,
    webhooks: Webhooks,
    clock: Clock,
    pauses: Sequence[float] = PAUSES,
) -> _Round:
    """Try until it has arrived, or the receiver has said that it never will."""
    last: ExternalError | None = None
    attempts = 0
    for pause in pauses:
        clock.sleep(pause)
        attempts += 1
        headers = build_headers(message, target.secret, clock.now())
        try:
            webhooks.post(target.url, message.body, headers, TIMEOUT_SECONDS)
        except ExternalError as error:
            last = error
            if is_final(error):
                break
        else:
            return _Round(attempts)
    return _Round(attempts, last)


def _after(before: Delivery, made: _Round, sender: Sender) -> Delivery:
    return Delivery(
        status="delivered" if made.arrived else "failed",
        run=before.run,
        attempts=before.attempts + made.attempts,
        rounds=before.rounds + 1,
        last_error=made.error.sentence if made.error else None,
        at=sender.clock.now(),
    )


def _record(exploration: Exploration, delivery: Delivery, sender: Sender) -> Exploration:
    """Keep what became of the message, unless the exploration has gone on meanwhile."""

    def same_run(current: Exploration) -> Exploration:
        if current.run.number != exploration.run.number:
            raise LeaseLostError(f"Exploration {exploration.id} has gone on.")
        return current.replace(delivery=delivery)

    try:
        return sender.explorations.take_over(exploration.id, same_run)
    except LeaseLostError:
        return sender.explorations.load(exploration.id)


def request_webhook(exploration: Exploration, notices: Notices, log: Log) -> None:
    """Have it sent, unless nobody asked for it or it was tried; what fails here holds nothing up."""
    due, delivery = exploration.delivery_due, exploration.delivery
    tried = delivery.rounds > 0 and delivery.run == exploration.run.number
    if due and not tried:
        ask(exploration, notices, log)


def ask(exploration: Exploration, notices: Notices, log: Log) -> None:
    try:
        notices.ask(exploration.id, exploration.run.number)
    except ExplorerError as error:
        log.warning("notice_not_sent", explorationId=exploration.id, error=error.sentence)
