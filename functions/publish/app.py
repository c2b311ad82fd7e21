"""Publish: writes a report to the repository, once, and gives its exploration the final status."""

from idea_explorer import wiring
from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.publish import publish


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    work = handlers.work_in(event)
    handlers.correlate(work.id)
    stores, outlets = deployment.stores(), deployment.outlets()
    final = publish(
        work.id,
        work.run,
        explorations=stores.explorations,
        reports=stores.reports,
        publisher=outlets.publisher,
        clock=wiring.system_clock(),
        log=handlers.log(),
        sinks=deployment.sinks_for(stores.explorations.load(work.id)),
        index=outlets.index,
        research=outlets.research,
        pull_requests_for=outlets.pull_requests_for,
    )
    return {"id": final.id, "run": final.run, "status": final.status}
