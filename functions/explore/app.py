"""Explore: runs an exploration for the workflow, lets it wait for a person, or settles one that stopped."""

from idea_explorer.domain.json import JsonObject
from idea_explorer.lambda_runtime import deployment, handlers, sam_local
from idea_explorer.usecases.approvals.wait import wait
from idea_explorer.usecases.jobs import explore_or_settle
from idea_explorer.usecases.notify import request_webhook
from idea_explorer.usecases.settle import settle
from idea_explorer.usecases.submit import enqueue


@handlers.entry
def handler(event: handlers.Event) -> JsonObject:
    if "Records" in event:
        return handlers.each_message(event, lambda m: sam_local.run_message(m, deployment.deps()))
    work, deps = handlers.work_in(event), deployment.deps()
    handlers.correlate(work.id)
    deployment.prepare(work, sam_local.submit_sample)
    if work.settle:
        exploration = settle(work.id, work.run, work.why, deps, error=work.error)
        if work.unattended:
            request_webhook(exploration, deps)
    elif work.token:
        exploration = wait(work.id, work.token.get_secret_value(), deps)
    else:
        exploration = explore_or_settle(
            work.id, work.run, deps, work.task, expired=work.expired, branched=work.branched
        )
    if not (exploration.is_exploring or exploration.branch_of):
        enqueue(exploration, deps)  # its slot is free: the message has the next one started
    answer: JsonObject = {
        "id": work.id,
        "run": work.run,
        "status": exploration.run.outcome or exploration.status,
        "approval_seconds": deployment.approval_seconds(),
    }
    if exploration.is_exploring and exploration.run.branches:
        answer["branches"] = [branch.model_dump() for branch in exploration.run.branches]
    return answer
