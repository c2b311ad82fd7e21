"""Undeploy: say what stays and what goes, have it confirmed, delete the stack and wait."""

from collections.abc import Callable
from pathlib import Path

from idea_explorer.domain.errors import ConfigurationError
from scripts.deploy.parameters import read_template
from scripts.deploy.stack import Account

RETAINED = frozenset({"Retain", "RetainExceptOnCreate"})
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
    if account.find_stack(name) is None:
        raise ConfigurationError(
            f"There is no stack {name} in this account and region.", hint="Name yours with STACK=…"
        )
    declared = read_template(template)["Resources"]
    kept = [
        (kind, physical)
        for logical, kind, physical in account.resources(name)
        if declared.get(logical, {}).get("DeletionPolicy") in RETAINED and physical
    ]
    say(f"Deleting {name} keeps, with all explorations and reports:")
    for kind, physical in kept:
        command = DELETE_WITH.get(kind, "").format(physical)
        say(f"  {physical}" + (f"  (delete it with: {command})" if command else ""))
    say(
        "It removes everything else: API, queues, functions, workflow, alarms, logs, and the secrets"
        " with all keys and API tokens, which cannot be restored."
    )
    if confirm(f"Type {name} to delete it: ").strip() != name:
        say("Nothing was deleted.")
        return 1
    account.delete(name)
    say(f"{name} is deleted.")
    return 0
