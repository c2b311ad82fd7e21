"""Dispatch: starts an execution for each message of the queue, and sweeps up abandoned explorations."""

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.message import QueueMessage
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.dispatch import dispatch
from idea_explorer.usecases.settle import settle
from idea_explorer.usecases.sweep import sweep


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    """SQS sends `Records`; any other event is the schedule's call to sweep."""
    if "Records" in event:
        return handlers.each_message(event, _dispatch)
    swept = sweep(
        deployment.desk(),
        _close,
        queued_seconds=deployment.settings().queued_too_long_seconds,
        running_seconds=deployment.settings().running_too_long_seconds,
    )
    return {"sent_again": swept.sent_again, "settled": swept.settled, "told": swept.told}


def _dispatch(message: QueueMessage) -> JsonObject:
    return {"dispatched": dispatch(message, deployment.desk())}


def _close(exploration: Exploration) -> Exploration:
    settled = settle(exploration.id, exploration.run.number, "broken", deployment.books())
    deployment.request_webhook(settled)
    return settled
