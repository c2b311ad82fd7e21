"""The stand-in for IAM: it must refuse, or the tests that run under it prove nothing."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.e2e.harness.iam import POLICY, REFUSALS, Need, Policy, enforce, needs

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/t"
ROLE = [
    {"actions": ["dynamodb:GetItem"], "resources": [TABLE]},
    {"actions": ["s3:GetObject"], "resources": ["arn:aws:s3:::b/reports/*"]},
    {"actions": ["states:SendTaskSuccess"], "resources": ["*"]},
]


@pytest.mark.parametrize(
    ("action", "resource", "allowed"),
    [
        ("dynamodb:GetItem", TABLE, True),
        ("dynamodb:GetItem", f"{TABLE}/index/by_owner", False),
        ("dynamodb:PutItem", TABLE, False),
        ("s3:GetObject", "arn:aws:s3:::b/reports/a/b", True),
        ("s3:GetObject", "arn:aws:s3:::b/uploads/a", False),
        ("s3:GetObject", "arn:aws:s3:::bxreports/a", False),
        ("states:SendTaskSuccess", "*", True),
    ],
)
def test_only_what_a_statement_names_is_allowed(action: str, resource: str, allowed: bool) -> None:
    assert Policy(ROLE).allows(Need(action, resource)) is allowed


def test_a_call_needs_what_aws_asks_for_it() -> None:
    write = [{"Put": {"TableName": "t"}}, {"ConditionCheck": {"TableName": "t"}}]
    asked = [
        *needs("dynamodb", "TransactWriteItems", {"TransactItems": write}),
        *needs("dynamodb", "Query", {"TableName": "t", "IndexName": "by_owner"}),
        *needs("s3", "HeadObject", {"Bucket": "b", "Key": "k"}),
        *needs("lambda", "Invoke", {"FunctionName": "notify"}),
        *needs("sqs", "SendMessage", {"QueueUrl": "http://127.0.0.1:1/123456789012/q"}),
        *needs("kms", "Decrypt", {}),
    ]

    assert asked == [
        Need("dynamodb:PutItem", TABLE),
        Need("dynamodb:ConditionCheckItem", TABLE),
        Need("dynamodb:Query", f"{TABLE}/index/by_owner"),
        Need("s3:GetObject", "arn:aws:s3:::b/k"),
        Need("lambda:InvokeFunction", "arn:aws:lambda:us-east-1:123456789012:function:notify"),
        Need("sqs:SendMessage", "arn:aws:sqs:us-east-1:123456789012:q"),
        Need("kms:Decrypt", "*"),
    ]


def ask_for_a_report() -> None:
    s3: Any = boto3.Session(region_name="us-east-1").client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.get_object(Bucket="bucket", Key="reports/none")


@pytest.mark.parametrize(
    ("allowed", "ends", "refused"),
    [
        ([], "AccessDenied", ["s3:CreateBucket"]),
        (["s3:CreateBucket"], "AccessDenied", ["s3:GetObject"]),
        (["s3:CreateBucket", "s3:GetObject"], "AccessDenied", ["s3:ListBucket"]),
        (["s3:CreateBucket", "s3:GetObject", "s3:ListBucket"], "NoSuchKey", []),
    ],
    ids=len,
)
def test_a_process_is_refused_what_its_policy_lacks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    allowed: list[str],
    ends: str,
    refused: list[str],
) -> None:
    file = tmp_path / "refusals"
    monkeypatch.setenv(POLICY, json.dumps([{"actions": allowed, "resources": ["*"]}]))
    monkeypatch.setenv(REFUSALS, str(file))
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "explore")
    back = enforce()
    try:
        with mock_aws(), pytest.raises(ClientError) as raised:
            ask_for_a_report()
    finally:
        back()

    assert ends in str(raised.value)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    assert [json.loads(line)["action"] for line in lines] == refused
