"""Notify: sends the webhook of an exploration that has ended."""

from idea_explorer.domain.errors import UndeliveredError
from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers, sam_local
from idea_explorer.usecases.notify import notify


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    """Fails where the receiver is down, so that the workflow tries again later; without a workflow the
    sweep does."""
    work, deps = handlers.work_in(event), deployment.deps()
    handlers.correlate(work.id)
    deployment.prepare(work, sam_local.publish_sample)
    try:
        final = notify(work.id, work.run, deps)
    except UndeliveredError as error:
        handlers.log().warning("webhook_not_delivered", error=error.sentence)
        if not work.unattended:
            raise
        final = deps.explorations.load(work.id)
    return {"id": final.id, "run": final.run.number, "delivery": final.delivery.status}
