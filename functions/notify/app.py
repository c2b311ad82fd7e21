"""Notify: sends the webhook of an exploration that has ended."""

from idea_explorer import deployment, serverless
from idea_explorer.domain.errors import UndeliveredError
from idea_explorer.domain.json import JsonObject
from idea_explorer.usecases.notify import notify


@serverless.entry
def handler(event: serverless.Event) -> JsonObject:
    """Fails where the receiver is down, so that the workflow tries again later; without a workflow the
    sweep does."""
    work = serverless.work_in(event)
    serverless.correlate(work.id)
    sender = deployment.sender()
    try:
        final = notify(work.id, work.run, sender)
    except UndeliveredError as error:
        serverless.log().warning("webhook_not_delivered", error=error.sentence)
        if not work.unattended:
            raise
        final = sender.explorations.load(work.id)
    return {"id": final.id, "run": final.run, "delivery": final.delivery.status}
