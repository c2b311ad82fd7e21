"""Explore: runs an exploration for the workflow, lets it wait for a person, or settles one that stopped."""

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.message import QueueMessage
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.jobs import explore_or_settle, run_queue_message
from idea_explorer.usecases.settle import settle


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    if "Records" in event:
        return handlers.each_message(event, _work_alone)
    work = handlers.work_in(event)
    handlers.correlate(work.id)
    if work.settle:
        exploration = settle(work.id, work.run, work.why, deployment.books())
        if work.unattended:
            deployment.request_webhook(exploration)
    elif work.token:
        exploration = deployment.wait(work.id, work.token.get_secret_value())
    else:
        if work.expired:
            deployment.expire(work.id, work.run)
        exploration = explore_or_settle(work.id, work.run, deployment.engine, deployment.books())
    return {
        "id": work.id,
        "run": work.run,
        "status": exploration.run.outcome or exploration.status,
        "approval_seconds": deployment.approval_seconds(),
    }


def _work_alone(message: QueueMessage) -> JsonObject:
    """For `sam local invoke`, and wherever a queue is all there is."""
    final = run_queue_message(
        message, deployment.engine(), deployment.destinations(), deployment.terms()
    )
    return {"id": final.id, "status": final.status, "path": final.publication.path}
