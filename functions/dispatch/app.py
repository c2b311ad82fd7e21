"""Dispatch: takes messages from the queue and starts what waits; sweeps up abandoned explorations."""

from dataclasses import asdict

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.queue_messages import QueueMessage
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.admission import admit_or_log
from idea_explorer.usecases.dispatch import dispatch


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    """SQS sends `Records`; any other event is the schedule's call to sweep."""
    deps = deployment.deps()
    if "Records" in event:
        result = handlers.each_message(event, _dispatch)
        admit_or_log(deps)
        return result
    # they load what a message does not need
    from idea_explorer.observability.metrics import count_sweep
    from idea_explorer.usecases.sweep import sweep

    swept = sweep(deps)
    count_sweep(
        waiting=swept.waiting,
        running=swept.running,
        oldest_waiting_seconds=swept.oldest_waiting_seconds,
        request_id=handlers.request_id(),
    )
    return asdict(swept)


def _dispatch(message: QueueMessage) -> JsonObject:
    return {"dispatched": dispatch(message, deployment.deps())}
