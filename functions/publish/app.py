"""Publish: writes a report to the repository exactly once, and sets the exploration's final status."""

from idea_explorer import deployment, serverless, wiring
from idea_explorer.domain.json import JsonObject
from idea_explorer.usecases.publish import publish


@serverless.entry
def handler(event: serverless.Event) -> JsonObject:
    work = serverless.work_in(event)
    serverless.correlate(work.id)
    stores, outlets = deployment.stores(), deployment.outlets()
    final = publish(
        work.id,
        work.run,
        explorations=stores.explorations,
        reports=stores.reports,
        publisher=outlets.publisher,
        clock=wiring.system_clock(),
        log=serverless.log(),
        sinks=deployment.sinks_for(stores.explorations.load(work.id)),
        index=outlets.index,
        research=outlets.research,
        pull_requests_for=outlets.pull_requests_for,
    )
    return {"id": final.id, "run": final.run, "status": final.status}
