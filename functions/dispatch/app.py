"""Dispatch: starts an execution for each message of the queue, and sweeps up abandoned explorations."""

from dataclasses import asdict

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import QueueMessage
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.dispatch import dispatch


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    """SQS sends `Records`; any other event is the schedule's call to sweep."""
    if "Records" in event:
        return handlers.each_message(event, _dispatch)
    from idea_explorer.usecases.sweep import sweep  # loads what a message does not need

    return asdict(sweep(deployment.deps()))


def _dispatch(message: QueueMessage) -> JsonObject:
    return {"dispatched": dispatch(message, deployment.deps())}
