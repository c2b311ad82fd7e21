"""What an operator sees of the stacks: CloudFormation's description, the queue's event source, the logs.

Moto knows neither that our own poller takes the queue's messages nor what the functions logged, so both are
answered here; the description is a stack of moto's with the names, roles and log groups of ours.
"""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.template import Resolver, resources_of, template

SOURCES = "/2015-03-31/event-source-mappings"
FILTER_LOGS = "Logs_20140328.FilterLogEvents"


@dataclass
class OperatorAnswers:
    """`sources` has the state of each event source, by the ARN of its queue."""

    functions: Functions
    sources: dict[str, str] = field(default_factory=dict)
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
        return None

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


def describe_stack(cloudformation: Any, name: str, names: Mapping[str, Any], api_url: str) -> None:
    """Make moto's CloudFormation describe a stack that exists without it."""
    known = {name: given for name, given in names.items() if not name.startswith("AWS::")}
    resolver = Resolver({**known, "AWS::StackName": name, "AWS::URLSuffix": "amazonaws.com"})
    outputs = {
        output: {"Value": str(resolver.resolve(declared["Value"]))}
        for output, declared in template()["Outputs"].items()
        if output not in {"ApiUrl", "DashboardUrl"}
        and ("Condition" not in declared or resolver.holds(declared["Condition"]))
    }
    parameters = {
        parameter: {
            "Type": "String",
            "Default": str(names.get(parameter, declared.get("Default", ""))),
        }
        for parameter, declared in template()["Parameters"].items()
    }
    trust: dict[str, Any] = {"Version": "2012-10-17", "Statement": []}
    roles = {
        role: {
            "Type": "AWS::IAM::Role",
            "Properties": {"RoleName": f"{name}-{role}", "AssumeRolePolicyDocument": trust},
        }
        for role in resources_of("AWS::IAM::Role")
    }
    groups = {
        group: {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {
                "LogGroupName": resolver.resolve(declared["Properties"]["LogGroupName"])
            },
        }
        for group, declared in resources_of("AWS::Logs::LogGroup").items()
    }
    body = {
        "Parameters": parameters,
        "Resources": {**roles, **groups},
        "Outputs": {**outputs, "ApiUrl": {"Value": api_url}},
    }
    cloudformation.create_stack(
        StackName=name, TemplateBody=json.dumps(body), Capabilities=["CAPABILITY_NAMED_IAM"]
    )
