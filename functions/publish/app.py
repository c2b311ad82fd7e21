"""Publish: writes a report to the repository exactly once, and sets the exploration's final status."""

from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers, sam_local
from idea_explorer.usecases.publish import publish


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    work = handlers.work_in(event)
    handlers.correlate(work.id)
    deployment.prepare(work, sam_local.explore_sample)
    final = publish(work.id, work.run, deployment.deps())
    return {"id": final.id, "run": final.run.number, "status": final.status}
