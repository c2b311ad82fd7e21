"""Take a message from the queue: store the request in it, or check the exploration that it names."""

from dataclasses import replace
from functools import partial
from typing import Literal

from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    InvalidRequestError,
    MissingError,
    QuotaSpentError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.queue_messages import (
    QUEUE_OWNER,
    ExplorationReference,
    QueueMessage,
    Submission,
    find_exploration_id,
    parse_message,
)
from idea_explorer.usecases.admission import fail, launch
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import request_webhook
from idea_explorer.usecases.submit import submit

# retrying does not help, or not before tomorrow, when the queue has given up
POISON = (InvalidRequestError, MissingError, ConflictError, QuotaSpentError)

DispatchResult = Literal["waiting", "known", "dead_lettered"]


def dispatch(message: QueueMessage, deps: Deps) -> DispatchResult:
    """Handle one delivery. Raises errors that another delivery of the message may fix.

    A message only announces work: what waits is in the store, and `admit` starts it. A message that can
    never succeed goes to the dead-letter queue, and the exploration it names fails.
    """
    try:
        result = _dispatch(message, deps)
    except POISON as error:
        result = _dead_letter(message, error, deps)
    deps.log.info("message_dispatched", messageId=message.id, result=result)
    return result


def _dispatch(message: QueueMessage, deps: Deps) -> DispatchResult:
    exploration, run = _named(message, deps)
    if run > exploration.run.number:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if run == exploration.run.number and exploration.status == "cancelled":
        request_webhook(exploration, deps)  # no workflow has seen it that could send it
    if exploration.is_starting:
        launch(exploration, deps)  # whoever marked it running may have died before launching it
    if exploration.waiting_since is None:
        return "known"
    deps.admission.add_waiting([exploration])  # a record of an earlier version is not listed
    return "waiting"


def _named(message: QueueMessage, deps: Deps) -> tuple[Exploration, int]:
    named = parse_message(message)
    if isinstance(named, ExplorationReference):
        exploration = deps.explorations.load(named.id)
        return exploration, named.run or exploration.run.number
    exploration = _find(named.id, deps) or _submit(named, deps)
    return exploration, exploration.run.number


def _find(exploration_id: ExplorationId, deps: Deps) -> Exploration | None:
    """What an earlier delivery has stored."""
    try:
        return deps.explorations.load(exploration_id)
    except MissingError:
        return None


def _submit(named: Submission, deps: Deps) -> Exploration:
    """Raises QuotaSpentError. What the day cannot pay for is stored as failed, so that there is something
    to resume on another day. It never waits: another dispatcher could start it."""
    without_quota = replace(deps, policy=replace(deps.policy, daily_cost_usd=None))
    store = partial(submit, named.request, QUEUE_OWNER, without_quota, exploration_id=named.id)
    try:
        deps.policy.check_quota(QUEUE_OWNER, deps.clock.now())
    except QuotaSpentError as error:
        refused = store(failure=error)
        request_webhook(refused, deps)
        raise
    return store()


def _dead_letter(message: QueueMessage, error: ExplorerError, deps: Deps) -> DispatchResult:
    deps.log.error("message_dead_lettered", messageId=message.id, error=error.sentence)
    if exploration_id := _stored_id(message):
        fail(exploration_id, error, deps)
    deps.queue().dead_letter(message.body, error.sentence)
    return "dead_lettered"


def _stored_id(message: QueueMessage) -> ExplorationId | None:
    try:
        return parse_message(message).id
    except ExplorerError:
        return find_exploration_id(message)
