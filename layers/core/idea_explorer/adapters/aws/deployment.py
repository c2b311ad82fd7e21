"""What an operator's AWS credentials can see of a deployment. Changes nothing and reads no secret value."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from idea_explorer.adapters.aws.client import ExpectedError, map_aws_errors
from idea_explorer.domain.errors import AuthFailedError, ConfigurationError
from idea_explorer.domain.text import one_line
from idea_explorer.ports import ExecutionInfo, LoggedError, StackInfo

MAX_LINES = 50  # per function, of the minutes of a smoke test
MAX_TEXT = 300
ERROR_LEVELS = frozenset({"ERROR", "WARN", "WARNING", "CRITICAL"})


class CloudDeployment:
    def __init__(self, stack: str, connect: Callable[[str], Any]) -> None:
        self._stack = stack
        self._connect = connect

    def describe(self) -> StackInfo:
        try:
            with map_aws_errors("CloudFormation", expected={"ValidationError"}):
                answer = self._connect("cloudformation").describe_stacks(StackName=self._stack)
        except ExpectedError as error:
            raise ConfigurationError(
                f"There is no stack {self._stack} in this account and region.",
                hint="Name yours with --stack.",
            ) from error
        found = answer["Stacks"][0]
        return StackInfo(
            name=self._stack,
            status=found["StackStatus"],
            outputs={o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])},
            parameters={
                p["ParameterKey"]: p["ParameterValue"] for p in found.get("Parameters", [])
            },
        )

    def queue_sources(self, queue_url: str) -> Mapping[str, str]:
        names = ["QueueArn"]
        with map_aws_errors("SQS"):
            queue = self._connect("sqs").get_queue_attributes(
                QueueUrl=queue_url, AttributeNames=names
            )
        with map_aws_errors("Lambda"):
            found = self._connect("lambda").list_event_source_mappings(
                EventSourceArn=queue["Attributes"]["QueueArn"]
            )
        return {source["UUID"]: source["State"] for source in found["EventSourceMappings"]}

    def missing_roles(self) -> Sequence[str]:
        try:
            return [role for role in self._resources("AWS::IAM::Role") if not self._has_role(role)]
        except AuthFailedError:
            return []  # an operator need not be allowed to look at roles

    def _has_role(self, name: str) -> bool:
        try:
            with map_aws_errors("IAM", expected={"NoSuchEntity"}):
                self._connect("iam").get_role(RoleName=name)
        except ExpectedError:
            return False
        return True

    def has_value(self, secret: str) -> bool:
        with map_aws_errors("Secrets Manager"):
            found = self._connect("secretsmanager").describe_secret(SecretId=secret)
        stages = (found.get("VersionIdsToStages") or {}).values()
        return any("AWSCURRENT" in stage for stage in stages)

    def execution(self, state_machine: str, name: str) -> ExecutionInfo | None:
        arn = f"{state_machine.replace(':stateMachine:', ':execution:')}:{name}"
        try:
            with map_aws_errors("Step Functions", expected={"ExecutionDoesNotExist"}):
                found = self._connect("stepfunctions").describe_execution(executionArn=arn)
        except ExpectedError:
            return None
        return ExecutionInfo(
            status=found["status"],
            error=found.get("error") or "",
            cause=found.get("cause") or "",
        )

    def recent_errors(self, since: datetime) -> Sequence[LoggedError]:
        start = int(since.timestamp() * 1_000)
        found = [
            (stamp, LoggedError(group.removeprefix("/aws/lambda/"), text))
            for group in self._resources("AWS::Logs::LogGroup")
            for stamp, text in self._errors_of(group, start)
        ]
        return [error for _, error in sorted(found, key=lambda entry: entry[0], reverse=True)]

    def _errors_of(self, group: str, start: int) -> Iterator[tuple[int, str]]:
        expected = {"ResourceNotFoundException", "AccessDeniedException", "AccessDenied"}
        try:
            with map_aws_errors("CloudWatch Logs", expected=expected):
                found = self._connect("logs").filter_log_events(
                    logGroupName=group,
                    startTime=start,
                    limit=MAX_LINES,
                    filterPattern="?ERROR ?WARN",
                )
        except ExpectedError:
            return
        for event in found["events"]:
            if text := _describe_line(event["message"]):
                yield event["timestamp"], text

    def _resources(self, kind: str) -> list[str]:
        with map_aws_errors("CloudFormation"):
            pages = self._connect("cloudformation").get_paginator("list_stack_resources")
            return [
                resource["PhysicalResourceId"]
                for page in pages.paginate(StackName=self._stack)
                for resource in page["StackResourceSummaries"]
                if resource["ResourceType"] == kind
            ]


def _describe_line(line: str) -> str | None:
    """The error of a log line: ours have it as a field, Lambda's own as its message."""
    try:
        logged = json.loads(line)
    except ValueError:
        return None
    if not isinstance(logged, dict) or str(logged.get("level")).upper() not in ERROR_LEVELS:
        return None
    text = logged.get("error") or logged.get("errorMessage") or logged.get("errorType")
    return one_line(str(text or logged.get("message", "")), MAX_TEXT)
