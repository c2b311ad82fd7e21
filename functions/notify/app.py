"""Notify: sends the webhook of an exploration that ended."""

from idea_explorer import serverless
from idea_explorer.domain.json import JsonObject


@serverless.entry
def handler(event: serverless.Event) -> JsonObject:
    work = serverless.work_in(event)
    serverless.correlate(work.id)
    return {"id": work.id, "run": work.run}
