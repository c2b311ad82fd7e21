"""CloudFormation over loopback, as far as `sam deploy` asks it, with AWS's rules for what it is given.

It makes no functions: a stack is its parameters, its secrets (in moto) and its outputs. The account's limit
of concurrent executions is here too, because moto has none and CloudFormation refuses what exceeds it.
"""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

from scripts.deploy.parameters import parse_template
from tests.fakes.serving import Serving

MIN_UNRESERVED = 100
RESERVES = ("ApiReservedConcurrency", "ExploreReservedConcurrency")
SECRETS = {
    "GitHubSecretId": None,
    "AnthropicSecretId": None,
    "ApiTokensSecretId": "[]",
}  # outputs that name secrets, and what the template puts into them
REVIEW = "REVIEW_IN_PROGRESS"
NAMESPACE = "http://cloudformation.amazonaws.com/doc/2010-05-15/"


class RefusedError(Exception):
    """A ValidationError of CloudFormation."""


@dataclass
class FakeStack:
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    template: str = ""
    status: str = "CREATE_COMPLETE"
    reason: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class ChangeSet:
    id: str
    stack: FakeStack
    status: str = "CREATE_COMPLETE"
    reason: str = ""


class FakeCloudFormation(Serving):
    """`secrets` and `s3` are clients of where secrets are made and templates are read from."""

    _server: ThreadingHTTPServer

    def __init__(self, secrets: Any, s3: Any, *, total: int = 1_000) -> None:
        self.stacks: dict[str, FakeStack] = {}
        self.total = total
        self.elsewhere = 0  # reserved by other stacks of the account
        self._secrets = secrets
        self._s3 = s3
        self._changes: dict[str, ChangeSet] = {}
        self._server = _listen(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def add_bucket_stack(self, bucket: str) -> None:
        """The stack with SAM's bucket, which an account has from its first deploy on."""
        self._s3.create_bucket(Bucket=bucket)
        self.stacks["aws-sam-cli-managed-default"] = FakeStack(
            "aws-sam-cli-managed-default",
            outputs={"SourceBucket": bucket},
            tags={"ManagedStackSource": "AwsSamCli"},
        )

    def unreserved(self, without: str = "") -> int:
        ours = sum(
            int(stack.parameters.get(name, 0))
            for stack in self.stacks.values()
            if stack.name != without
            for name in RESERVES
        )
        return self.total - self.elsewhere - ours

    def apply(self, name: str, template: str, given: Mapping[str, str]) -> FakeStack:
        """Create or update a stack; raises RefusedError."""
        stack = self._plan(name, template, dict(given), previous=None)
        self._execute(stack)
        return stack

    def answer(self, action: str, sent: Mapping[str, str]) -> dict[str, Any]:
        match action:
            case "DescribeStacks":
                return {"Stacks": [_described(self._find(sent["StackName"]))]}
            case "GetTemplateSummary":
                known = self._find(sent["StackName"]).parameters
                return {"Parameters": [{"ParameterKey": name} for name in known]}
            case "CreateChangeSet":
                return self._create_change_set(sent)
            case "DescribeChangeSet":
                change = self._changes[sent["ChangeSetName"]]
                return {"Status": change.status, "StatusReason": change.reason, "Changes": []}
            case "ExecuteChangeSet":
                self._execute(self._changes[sent["ChangeSetName"]].stack)
                return {}
            case "DescribeStackEvents":
                return {"StackEvents": [_event(self._find(sent["StackName"]))]}
            case "ListStackResources":
                return {"StackResourceSummaries": _resources(self._find(sent["StackName"]))}
            case "DeleteStack":
                self.stacks.pop(sent["StackName"], None)
                return {}
            case _:
                raise RefusedError(f"this server does not know {action}")

    def _find(self, name: str) -> FakeStack:
        if name not in self.stacks:
            raise RefusedError(f"Stack with id {name} does not exist")
        return self.stacks[name]

    def _existing(self, name: str) -> FakeStack | None:
        """A stack that has only a change set to be reviewed does not count."""
        stack = self.stacks.get(name)
        return None if stack is None or stack.status == REVIEW else stack

    def _create_change_set(self, sent: Mapping[str, str]) -> dict[str, Any]:
        given: dict[str, str] = {}
        previous: list[str] = []
        for number in range(1, 200):
            entry = f"Parameters.member.{number}."
            if f"{entry}ParameterKey" not in sent:
                break
            key = sent[f"{entry}ParameterKey"]
            if sent.get(f"{entry}UsePreviousValue") == "true":
                previous.append(key)
            else:
                given[key] = sent[f"{entry}ParameterValue"]
        if "CAPABILITY_IAM" not in sent.values():
            raise RefusedError("Requires capabilities : [CAPABILITY_IAM]")
        bucket, _, key = urlsplit(sent["TemplateURL"]).path.lstrip("/").partition("/")
        template = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode()
        stack = self._plan(sent["StackName"], template, given, previous)
        change = ChangeSet(f"arn:aws:cloudformation:change/{uuid.uuid4()}", stack)
        before = self._existing(stack.name)
        if before and (before.parameters, before.template) == (stack.parameters, template):
            change.status = "FAILED"
            change.reason = "The submitted information didn't contain changes."
        if before is None:
            self.stacks[stack.name] = FakeStack(stack.name, status=REVIEW)
        self._changes[change.id] = change
        return {"Id": change.id, "StackId": stack.name}

    def _plan(
        self, name: str, template: str, given: dict[str, str], previous: list[str] | None
    ) -> FakeStack:
        declared = parse_template(template)["Parameters"]
        before = self._existing(name)
        if unknown := sorted(set(given) - set(declared)):
            raise RefusedError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
        if previous and before is None:
            raise RefusedError("Use previous values is not allowed for a new stack")
        parameters = {
            key: given.get(key, _before(before, key, previous, rule))
            for key, rule in declared.items()
        }
        for key, rule in declared.items():
            _check(key, parameters[key], rule)
        return FakeStack(name, parameters, template=template)

    def _execute(self, stack: FakeStack) -> None:
        before = self._existing(stack.name)
        reserved = sum(int(stack.parameters[name]) for name in RESERVES)
        if reserved and self.unreserved(stack.name) - reserved < MIN_UNRESERVED:
            least = min(MIN_UNRESERVED, self.total)
            stack.status = "UPDATE_ROLLBACK_COMPLETE" if before else "ROLLBACK_COMPLETE"
            stack.reason = (
                "Specified ReservedConcurrentExecutions for function decreases account's"
                f" UnreservedConcurrentExecution below its minimum value of [{least}]."
            )
        elif before:
            stack.status, stack.outputs = "UPDATE_COMPLETE", before.outputs
        else:
            stack.outputs = {"ApiUrl": f"https://api.example.com/{stack.parameters['Stage']}"}
            for output, value in SECRETS.items():
                made = {} if value is None else {"SecretString": value}
                secret = self._secrets.create_secret(Name=f"{stack.name}/{output}", **made)
                stack.outputs[output] = secret["ARN"]
        self.stacks[stack.name] = stack


def _before(
    stack: FakeStack | None, key: str, previous: list[str] | None, rule: Mapping[str, Any]
) -> str:
    """The value of a parameter that is not given: the stack's where it was asked for, else the default."""
    if stack and (previous is None or key in previous):
        return stack.parameters.get(key, str(rule["Default"]))
    return str(rule["Default"])


def _check(key: str, value: str, rule: Mapping[str, Any]) -> None:
    allowed = rule.get("AllowedValues")
    wrong = allowed is not None and value not in {str(known) for known in allowed}
    wrong |= "AllowedPattern" in rule and not re.fullmatch(rule["AllowedPattern"], value)
    if rule["Type"] == "Number":
        wrong |= float(value) < rule.get("MinValue", float(value))
        wrong |= float(value) > rule.get("MaxValue", float(value))
    if wrong:
        raise RefusedError(f"Parameter {key} failed to satisfy constraint")


def _described(stack: FakeStack) -> dict[str, Any]:
    return {
        "StackName": stack.name,
        "StackId": f"arn:aws:cloudformation:us-east-1:123456789012:stack/{stack.name}/1",
        "CreationTime": stack.at.isoformat(),
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason,
        "Parameters": [
            {"ParameterKey": key, "ParameterValue": value}
            for key, value in stack.parameters.items()
        ],
        "Outputs": [
            {"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()
        ],
        "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
    }


def _event(stack: FakeStack) -> dict[str, Any]:
    return {
        "StackId": stack.name,
        "StackName": stack.name,
        "EventId": f"{stack.name}-{stack.at.timestamp()}",
        "Timestamp": datetime.now(UTC).isoformat(),
        "LogicalResourceId": stack.name,
        "PhysicalResourceId": stack.name,
        "ResourceType": "AWS::CloudFormation::Stack",
        "ResourceStatus": stack.status,
        "ResourceStatusReason": stack.reason,
    }


def _resources(stack: FakeStack) -> list[dict[str, str]]:
    declared = parse_template(stack.template)["Resources"]
    return [
        {
            "LogicalResourceId": name,
            "PhysicalResourceId": f"{stack.name}-{name.lower()}",
            "ResourceType": resource["Type"],
            "ResourceStatus": "CREATE_COMPLETE",
            "LastUpdatedTimestamp": stack.at.isoformat(),
        }
        for name, resource in declared.items()
    ]


def _to_xml(value: Any) -> str:
    match value:
        case dict():
            return "".join(f"<{key}>{_to_xml(inner)}</{key}>" for key, inner in value.items())
        case list():
            return "".join(f"<member>{_to_xml(inner)}</member>" for inner in value)
        case _:
            return escape(str(value))


def query_response(action: str, result: Mapping[str, Any]) -> bytes:
    """An answer in the protocol that CloudFormation speaks."""
    inner = f"<{action}Result>{_to_xml(dict(result))}</{action}Result>"
    return f'<{action}Response xmlns="{NAMESPACE}">{inner}</{action}Response>'.encode()


def _listen(cloudformation: FakeCloudFormation) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Lambda's account settings; nothing else is asked with GET."""
            limit = {
                "ConcurrentExecutions": cloudformation.total,
                "UnreservedConcurrentExecutions": cloudformation.unreserved(),
            }
            self._reply(200, json.dumps({"AccountLimit": limit}), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = dict(parse_qsl(body, keep_blank_values=True))
            action = sent["Action"]
            try:
                answer = query_response(action, cloudformation.answer(action, sent)).decode()
            except RefusedError as error:
                refused = {"Type": "Sender", "Code": "ValidationError", "Message": str(error)}
                text = f"<ErrorResponse><Error>{_to_xml(refused)}</Error></ErrorResponse>"
                self._reply(400, text, "text/xml")
                return
            self._reply(200, answer, "text/xml")

        def _reply(self, status: int, text: str, kind: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: the stacks say it all."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
