"""Notify: sends the webhook of an exploration that ended."""

from idea_explorer.domain.errors import UndeliveredError
from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.notify import notify


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    """A receiver that is down fails the call, so that the workflow waits and tries again; where no
    workflow has asked, the sweep does."""
    work, deps = handlers.work_in(event), deployment.deps()
    handlers.correlate(work.id)
    try:
        final = notify(work.id, work.run, deps)
    except UndeliveredError as error:
        handlers.log().warning("webhook_not_delivered", error=error.sentence)
        if not work.unattended:
            raise
        final = deps.explorations.load(work.id)
    return {"id": final.id, "run": final.run.number, "delivery": final.delivery.status}
