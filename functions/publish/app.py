"""Publish: writes a report to the repository exactly once, and sets the exploration's final status."""

from idea_explorer import wiring
from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.usecases.publish import publish


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    work = handlers.work_in(event)
    handlers.correlate(work.id)
    stores, destinations = deployment.stores(), deployment.destinations()
    final = publish(
        work.id,
        work.run,
        explorations=stores.explorations,
        reports=stores.reports,
        publisher=destinations.publisher,
        clock=wiring.system_clock(),
        log=handlers.log(),
        sinks=deployment.sinks_for(stores.explorations.load(work.id)),
        index=destinations.index,
        research=destinations.research,
        pull_requests_for=destinations.pull_requests_for,
    )
    return {"id": final.id, "run": final.run.number, "status": final.status}
