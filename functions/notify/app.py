"""Notify: sends the webhook of an exploration that ended."""

from idea_explorer import deployment, serverless, wiring
from idea_explorer.domain.json import JsonObject
from idea_explorer.usecases.notify import notify
from idea_explorer.wiring import publishing


@serverless.entry
def handler(event: serverless.Event) -> JsonObject:
    work = serverless.work_in(event)
    serverless.correlate(work.id)
    stores, settings = deployment.stores(), deployment.settings()
    final = notify(
        work.id,
        work.run,
        explorations=stores.explorations,
        reports=stores.reports,
        webhooks=publishing.webhooks(wiring.system_clock()),
        clock=wiring.system_clock(),
        repository=settings.published_to,
        branch=settings.published_branch,
    )
    return {"id": final.id, "run": final.run, "delivery": final.delivery.status}
