"""Explore: runs an exploration for the workflow, lets it wait for a person, or settles one that stopped."""

from idea_explorer import deployment, serverless
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.message import Message
from idea_explorer.usecases.alone import work_alone
from idea_explorer.usecases.attempt import attempt
from idea_explorer.usecases.settle import settle


@serverless.entry
def handler(event: serverless.Event) -> JsonObject:
    if "Records" in event:
        return serverless.each_message(event, _work_alone)
    work = serverless.work_in(event)
    serverless.correlate(work.id)
    if work.settle:
        exploration = settle(work.id, work.run, work.why, deployment.books())
        if work.unattended:
            deployment.ask_for_notice(exploration)
    elif work.token:
        exploration = deployment.wait(work.id, work.token.get_secret_value())
    else:
        if work.expired:
            deployment.expire(work.id, work.run)
        exploration = attempt(work.id, work.run, deployment.engine, deployment.books())
    return {
        "id": work.id,
        "run": work.run,
        "status": exploration.outcome or exploration.status,
        "approval_seconds": deployment.approval_seconds(),
    }


def _work_alone(message: Message) -> JsonObject:
    """For `sam local invoke`, and wherever a queue is all there is."""
    final = work_alone(message, deployment.engine(), deployment.outlets(), deployment.terms())
    return {"id": final.id, "status": final.status, "path": final.path}
