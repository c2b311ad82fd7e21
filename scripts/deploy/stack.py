"""The stack as it is deployed, and the account it is in."""

from collections.abc import Callable, Mapping
from typing import Any

from idea_explorer.adapters.aws.client import ExpectedError, client, map_aws_errors
from idea_explorer.adapters.aws.deployment import CloudDeployment
from idea_explorer.adapters.aws.secrets import OperatorSecrets
from idea_explorer.domain.errors import AuthFailedError, ConfigurationError
from idea_explorer.ports import StackInfo
from scripts.deploy.concurrency import API, EXPLORE, AccountLimits


class Account:
    """Calls AWS with the credentials of whoever deploys."""

    def __init__(self, connect: Callable[[str], Any] = client) -> None:
        self._connect = connect

    def find_stack(self, name: str) -> StackInfo | None:
        try:
            with map_aws_errors("CloudFormation", expected={"ValidationError"}):
                self._connect("cloudformation").describe_stacks(StackName=name)
        except ExpectedError:
            return None
        found = CloudDeployment(name, self._connect).describe()
        return None if found.status in {"REVIEW_IN_PROGRESS", "DELETE_COMPLETE"} else found

    def limits(self, deployed: Mapping[str, str]) -> AccountLimits | None:
        """None where the operator may not look at them."""
        try:
            with map_aws_errors("Lambda"):
                limit = self._connect("lambda").get_account_settings()["AccountLimit"]
        except AuthFailedError:
            return None
        ours = int(deployed.get(API, 0)) + int(deployed.get(EXPLORE, 0))
        return AccountLimits(
            total=int(limit["ConcurrentExecutions"]),
            unreserved=int(limit["UnreservedConcurrentExecutions"]) + ours,
        )

    def has_value(self, stack: StackInfo, output: str) -> bool:
        secret = stack.outputs.get(output)
        return bool(secret) and CloudDeployment(stack.name, self._connect).has_value(str(secret))

    @property
    def secrets(self) -> OperatorSecrets:
        return OperatorSecrets(lambda: self._connect("secretsmanager"))

    def resources(self, name: str) -> list[tuple[str, str, str]]:
        """Logical id, type and name of each resource of a stack."""
        with map_aws_errors("CloudFormation"):
            pages = self._connect("cloudformation").get_paginator("list_stack_resources")
            return [
                (
                    found["LogicalResourceId"],
                    found["ResourceType"],
                    found.get("PhysicalResourceId", ""),
                )
                for page in pages.paginate(StackName=name)
                for found in page["StackResourceSummaries"]
            ]

    def delete(self, name: str) -> None:
        """Delete a stack and wait until it is gone."""
        from botocore.exceptions import WaiterError

        cloudformation = self._connect("cloudformation")
        with map_aws_errors("CloudFormation"):
            cloudformation.delete_stack(StackName=name)
            try:
                cloudformation.get_waiter("stack_delete_complete").wait(StackName=name)
            except WaiterError as error:
                raise ConfigurationError(
                    f"The stack {name} could not be deleted.",
                    hint="Read its events in the CloudFormation console, and run it again.",
                ) from error


def check_updatable(stack: StackInfo | None) -> None:
    """Raises ConfigurationError where CloudFormation would refuse an update."""
    if stack is None:
        return
    if stack.status == "ROLLBACK_COMPLETE":
        raise ConfigurationError(
            f"The stack {stack.name} could not be created earlier and cannot be updated.",
            hint=f"Delete it with 'make undeploy STACK={stack.name}', then deploy again.",
        )
    if stack.status.endswith("_IN_PROGRESS"):
        raise ConfigurationError(
            f"The stack {stack.name} is {stack.status}.", hint="Wait until it is complete."
        )
