"""What an operator sees of the stacks: CloudFormation's description, the queue's event source, the logs.

Moto knows neither what a stack is made of, nor that our own poller takes the queue's messages, nor what the
functions logged. So all three are answered here.
"""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.template import Resolver, resources_of, template
from tests.fakes.cloudformation_server import query_response

SOURCES = "/2015-03-31/event-source-mappings"
FILTER_LOGS = "Logs_20140328.FilterLogEvents"


@dataclass
class OperatorAnswers:
    """`sources` has the state of each event source, by the ARN of its queue; `stacks` go by name. The
    roles that a stack names are there, but for those that were deleted since."""

    functions: Functions
    sources: dict[str, str] = field(default_factory=dict)
    stacks: "dict[str, StackDescription]" = field(default_factory=dict)
    deleted_roles: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set_source(self, queue_arn: str, state: str) -> None:
        with self._lock:
            self.sources[queue_arn] = state

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes | None:
        """The answer to a call that moto would answer wrongly."""
        parts = urlsplit(path)
        if parts.path.rstrip("/") == SOURCES:
            return self._sources(parse_qs(parts.query)["EventSourceArn"][0])
        if headers.get("X-Amz-Target") == FILTER_LOGS:
            return self._logs(json.loads(body)["logGroupName"])
        if b"Version=2010-05-15" in body:
            return self._describe(dict(parse_qsl(body.decode())))
        if b"Action=GetRole&" in body:
            return self._role(dict(parse_qsl(body.decode()))["RoleName"])
        return None

    def _role(self, name: str) -> bytes | None:
        """None for a role that does not exist: moto knows none at all and says so."""
        named = {role for stack in self.stacks.values() for _, role in stack.resources.values()}
        if name not in named or name in self.deleted_roles:
            return None
        return query_response("GetRole", {"Role": {"RoleName": name}})

    def _describe(self, sent: Mapping[str, str]) -> bytes | None:
        stack = self.stacks.get(sent["StackName"])
        if stack is None:
            return None
        described: dict[str, Any] = {
            "Stacks": [
                {
                    "StackName": sent["StackName"],
                    "CreationTime": "2026-11-17T00:00:00Z",
                    "StackStatus": "CREATE_COMPLETE",
                    "Parameters": [
                        {"ParameterKey": name, "ParameterValue": value}
                        for name, value in stack.parameters.items()
                    ],
                    "Outputs": [
                        {"OutputKey": name, "OutputValue": value}
                        for name, value in stack.outputs.items()
                    ],
                }
            ]
        }
        if sent["Action"] == "ListStackResources":
            described = {
                "StackResourceSummaries": [
                    {
                        "LogicalResourceId": name,
                        "ResourceType": kind,
                        "PhysicalResourceId": physical,
                    }
                    for name, (kind, physical) in stack.resources.items()
                ]
            }
        return query_response(sent["Action"], described)

    def _sources(self, queue_arn: str) -> bytes:
        with self._lock:
            state = self.sources.get(queue_arn)
        found = [{"UUID": "poller", "EventSourceArn": queue_arn, "State": state}] if state else []
        return json.dumps({"EventSourceMappings": found}).encode()

    def _logs(self, group: str) -> bytes:
        lines = self.functions.log(group.removeprefix("/aws/lambda/")).splitlines()
        first = int(time.time() * 1_000) - len(lines)
        events = [
            {"timestamp": first + number, "message": line} for number, line in enumerate(lines)
        ]
        return json.dumps({"events": events}).encode()


@dataclass(frozen=True)
class StackDescription:
    """A stack as CloudFormation describes it."""

    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    resources: Mapping[str, tuple[str, str]]  # type and name, by logical id


def describe_stack(name: str, names: Mapping[str, Any], api_url: str) -> StackDescription:
    known = {name: given for name, given in names.items() if not name.startswith("AWS::")}
    resolver = Resolver({**known, "AWS::StackName": name, "AWS::URLSuffix": "amazonaws.com"})
    outputs = {
        output: str(resolver.resolve(declared["Value"]))
        for output, declared in template()["Outputs"].items()
        if output not in {"ApiUrl", "DashboardUrl"}
        and ("Condition" not in declared or resolver.holds(declared["Condition"]))
    }
    parameters = {
        parameter: str(names.get(parameter, declared.get("Default", "")))
        for parameter, declared in template()["Parameters"].items()
    }
    roles = {role: ("AWS::IAM::Role", f"{name}-{role}") for role in resources_of("AWS::IAM::Role")}
    groups = {
        group: (declared["Type"], resolver.resolve(declared["Properties"]["LogGroupName"]))
        for group, declared in resources_of("AWS::Logs::LogGroup").items()
    }
    return StackDescription({**outputs, "ApiUrl": api_url}, parameters, {**roles, **groups})
