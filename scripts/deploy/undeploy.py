"""Undeploy: say what stays and what goes, have it confirmed, delete the stack and wait."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports import StackInfo
from scripts.deploy.parameters import read_template
from scripts.deploy.stack import UNUSABLE, Account, Resource

RETAINED = frozenset({"Retain", "RetainExceptOnCreate"})
OUTPUTS = frozenset({"TableName", "ApiUrl", "QueueUrl"})  # every deployed stack of ours has them
DELETE_WITH = {
    "AWS::DynamoDB::Table": "aws dynamodb delete-table --table-name {}",
    "AWS::S3::Bucket": "the commands under 'Delete' in docs/runbook.md",
}


def undeploy(
    name: str,
    template: Path,
    account: Account,
    confirm: Callable[[str], str],
    say: Callable[[str], None],
) -> int:
    """`confirm` asks for the stack's name. Raises ConfigurationError where there is nothing to delete."""
    if not name:
        raise ConfigurationError("Which stack?", hint="Name it with STACK=…")
    stack = account.find_stack(name)
    if stack is None:
        raise ConfigurationError(
            f"There is no stack {name} in this account and region.", hint="Name yours with STACK=…"
        )
    declared = read_template(template)["Resources"]
    resources = account.resources(name)
    if not _is_ours(stack, resources, declared):
        raise ConfigurationError(
            f"{name} is not a stack of Idea Explorer: it lacks the outputs"
            f" {', '.join(sorted(OUTPUTS - set(stack.outputs)))}.",
            hint="Name yours with STACK=…",
        )
    kept = [
        resource
        for resource in resources
        if declared.get(resource.logical_id, {}).get("DeletionPolicy") in RETAINED
        and resource.name
        and not resource.is_deleted
    ]
    if kept:
        say(f"Deleting {name} keeps, with all explorations and reports:")
    for resource in kept:
        command = DELETE_WITH.get(resource.kind, "").format(resource.name)
        say(f"  {resource.name}" + (f"  (delete it with: {command})" if command else ""))
    say(
        ("It removes everything else:" if kept else f"Deleting {name} removes all that it has:")
        + " API, queues, functions, workflow, alarms, logs, and the secrets with all keys and API tokens,"
        " which cannot be restored."
    )
    if confirm(f"Type {name} to delete it: ").strip() != name:
        say("Nothing was deleted.")
        return 1
    account.delete(name)
    say(f"{name} is deleted.")
    return 0


def _is_ours(stack: StackInfo, resources: Sequence[Resource], declared: Collection[str]) -> bool:
    """By its outputs, or, where its creation failed and it has none, by its resources. SAM names what it
    adds after what the template declares."""
    if set(stack.outputs) >= OUTPUTS:
        return True
    return stack.status in UNUSABLE and all(
        resource.logical_id.startswith(tuple(declared)) for resource in resources
    )
