"""What a role allows, asked before each call: moto lets everybody do everything, AWS does not.

A function's process is given the policy of its role. A call that it does not allow ends as it would
on AWS, and stands in the file of refusals besides, for a test to say which it was.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POLICY = "HARNESS_POLICY"
REFUSALS = "HARNESS_REFUSALS"
ACCOUNT = "us-east-1:123456789012"
IN_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
# where the action has another name than the operation
ACTIONS = {
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
    "lambda:Invoke": "lambda:InvokeFunction",
    "bedrock-runtime:InvokeModel": "bedrock:InvokeModel",
}


@dataclass(frozen=True)
class Need:
    """What a call has to be allowed. A resource of `*` stands for one that nobody can name; `key` is the
    partition of a table that is written or read."""

    action: str
    resource: str
    key: str = field(default="", compare=False)


class Policy:
    def __init__(self, statements: Iterable[Mapping[str, list[str]]]) -> None:
        self._statements = [
            (
                set(statement["actions"]),
                [_pattern(name) for name in statement["resources"]],
                statement.get("keys", []),
            )
            for statement in statements
        ]

    def allows(self, need: Need) -> bool:
        return any(
            need.action in actions
            and any(name.fullmatch(need.resource) for name in resources)
            and (not keys or need.key in keys)
            for actions, resources, keys in self._statements
        )


def _pattern(resource: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, resource.split("*"))))


def needs(service: str, operation: str, params: Mapping[str, Any]) -> list[Need]:
    """What AWS asks of the caller's role for an operation; for one that is not known here, its name."""
    action = ACTIONS.get(f"{service}:{operation}", f"{service}:{operation}")
    match service:
        case "dynamodb":
            return _of_dynamodb(operation, params)
        case "s3":
            bucket = f"arn:aws:s3:::{params['Bucket']}"
            return [Need(action, f"{bucket}/{params['Key']}" if "Key" in params else bucket)]
        case "sqs":
            name = str(params["QueueUrl"]).rpartition("/")[2]
            return [Need(action, f"arn:aws:sqs:{ACCOUNT}:{name}")]
        case "secretsmanager":
            return [Need(action, params["SecretId"])]
        case "stepfunctions":
            resource = params.get("stateMachineArn") or params.get("executionArn") or "*"
            return [Need(f"states:{operation}", resource)]
        case "lambda":
            return [Need(action, _function(params))]
        case "bedrock-runtime":
            model = f"arn:aws:bedrock:us-east-1::foundation-model/{params['modelId']}"
            return [Need(action, model)]
        case _:
            return [Need(action, "*")]


def _of_dynamodb(operation: str, params: Mapping[str, Any]) -> list[Need]:
    if operation == "TransactWriteItems":
        return [
            Need(f"dynamodb:{IN_TRANSACTION[kind]}", _table(item["TableName"]), _partition(item))
            for entry in params["TransactItems"]
            for kind, item in entry.items()
        ]
    if operation in {"BatchGetItem", "BatchWriteItem"}:
        return [Need(f"dynamodb:{operation}", _table(name)) for name in params["RequestItems"]]
    index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
    table = _table(params["TableName"]) + index
    return [Need(f"dynamodb:{operation}", table, _partition(params))]


def _partition(params: Mapping[str, Any]) -> str:
    """The key of a single item; of more than that, a policy here says nothing."""
    item = params.get("Key") or params.get("Item") or {}
    return str(item.get("pk", {}).get("S", ""))


def _function(params: Mapping[str, Any]) -> str:
    """With the version or alias that is called: permission for the function alone does not cover one."""
    name = str(params["FunctionName"])
    arn = name if name.startswith("arn:") else f"arn:aws:lambda:{ACCOUNT}:function:{name}"
    return f"{arn}:{params['Qualifier']}" if "Qualifier" in params else arn


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{ACCOUNT}:table/{name}"


def enforce() -> Callable[[], None]:
    """Refuse, in this process from now on, what its policy does not allow. Gives the way back."""
    if POLICY not in os.environ:
        return lambda: None
    import botocore

    policy = Policy(json.loads(os.environ[POLICY]))

    def asked(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        """Also of what is only signed, and leaves for nowhere."""
        context["asked"] = params

    def before(model: Any, context: Mapping[str, Any], **_: Any) -> None:
        from botocore.exceptions import ClientError

        for need in needs(model.service_model.service_name, model.name, context["asked"]):
            if not policy.allows(need):
                _refused(need)
                said = {"Code": "AccessDeniedException", "Message": f"not allowed: {need.action}"}
                answer: Any = {"Error": said, "ResponseMetadata": {"HTTPStatusCode": 400}}
                raise ClientError(answer, model.name)

    def after(parsed: dict[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        """Of what is not there, only those hear who may list the bucket."""
        if parsed["ResponseMetadata"]["HTTPStatusCode"] != 404 or "Key" not in context["asked"]:
            return
        need = Need("s3:ListBucket", f"arn:aws:s3:::{context['asked']['Bucket']}")
        if not policy.allows(need):
            _refused(need)
            parsed["Error"] = {"Code": "AccessDenied", "Message": "Access Denied"}

    def watch(session: Any) -> None:
        session.register("before-parameter-build", asked)
        session.register("before-call", before)
        session.register("after-call.s3", after)

    botocore.register_initializer(watch)
    return lambda: botocore.unregister_initializer(watch)


def _refused(need: Need) -> None:
    line = {
        "function": os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        "action": need.action,
        "resource": need.resource,
    }
    with Path(os.environ[REFUSALS]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
