"""Indexes as DynamoDB has them: behind the table by a while, and never consistent."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from idea_explorer.adapters.dynamodb.schema import TABLE
from tests.e2e.harness.moto_dynamodb import lagging_indexes, light_queries
from tests.fakes.aws import atomic_dynamodb

LAG = 1.0


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def dynamodb(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws(), atomic_dynamodb(), lagging_indexes(LAG, clock), light_queries():
        client: Any = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(TableName="t", **TABLE)
        yield client


def item(name: str, active: str = "queued", updated: str = "1") -> dict[str, Any]:
    values = {"pk": name, "sk": "META", "active": active, "updated": updated, "owner": "ada"}
    return {field: {"S": value} for field, value in values.items()}


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "META"}}


def query(dynamodb: Any, active: str = "queued", **more: Any) -> list[tuple[str, str]]:
    answer = dynamodb.query(
        TableName="t",
        IndexName="by_status",
        KeyConditionExpression="active = :a",
        ExpressionAttributeValues={":a": {"S": active}},
        **more,
    )
    return [(found["pk"]["S"], found["updated"]["S"]) for found in answer["Items"]]


def set_active(name: str, active: str) -> dict[str, Any]:
    return {
        "TableName": "t",
        "Key": key(name),
        "UpdateExpression": "SET active = :a, updated = :u",
        "ExpressionAttributeValues": {":a": {"S": active}, ":u": {"S": "2"}},
    }


def test_what_is_new_appears_when_the_lag_is_over(dynamodb: Any, clock: Clock) -> None:
    dynamodb.put_item(TableName="t", Item=item("one"))

    assert query(dynamodb) == []
    clock.now += 0.9
    assert query(dynamodb) == []
    clock.now += 0.1
    assert query(dynamodb) == [("one", "1")]


def test_what_has_changed_is_seen_as_it_was(dynamodb: Any, clock: Clock) -> None:
    dynamodb.put_item(TableName="t", Item=item("one"))
    clock.now += LAG
    dynamodb.update_item(**set_active("one", "running"))
    clock.now += 0.5
    dynamodb.update_item(**set_active("one", "cancelled"))

    assert query(dynamodb) == [("one", "1")]
    assert query(dynamodb, "running") == []
    clock.now += 0.5
    assert (query(dynamodb), query(dynamodb, "running")) == ([], [("one", "2")])
    clock.now += 0.5
    assert query(dynamodb, "cancelled") == [("one", "2")]


def test_what_has_left_the_index_is_still_there_for_a_while(dynamodb: Any, clock: Clock) -> None:
    for name in ("gone", "unlisted"):
        dynamodb.put_item(TableName="t", Item=item(name))
    clock.now += LAG
    dynamodb.delete_item(TableName="t", Key=key("gone"))
    dynamodb.update_item(TableName="t", Key=key("unlisted"), UpdateExpression="REMOVE active")

    assert query(dynamodb) == [("gone", "1"), ("unlisted", "1")]
    assert "Item" not in dynamodb.get_item(TableName="t", Key=key("gone"))
    clock.now += LAG
    assert query(dynamodb) == []


def test_the_table_itself_is_up_to_date(dynamodb: Any) -> None:
    dynamodb.put_item(TableName="t", Item=item("one"))

    assert "Item" in dynamodb.get_item(TableName="t", Key=key("one"))
    found = dynamodb.query(
        TableName="t",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "one"}},
        ConsistentRead=True,
    )
    assert found["Count"] == 1


def test_a_consistent_read_of_an_index_is_refused(dynamodb: Any) -> None:
    with pytest.raises(ClientError, match="ValidationException"):
        query(dynamodb, ConsistentRead=True)


def test_a_transaction_that_fails_leaves_no_trace(dynamodb: Any, clock: Clock) -> None:
    dynamodb.put_item(TableName="t", Item=item("one"))
    clock.now += LAG
    refused = {**set_active("missing", "running"), "ConditionExpression": "attribute_exists(pk)"}
    writes = [
        {"Update": set_active("one", "running")},
        {"Put": {"TableName": "t", "Item": item("two")}},
        {"Update": refused},
    ]

    with pytest.raises(ClientError, match="TransactionCanceledException"):
        dynamodb.transact_write_items(TransactItems=writes)

    assert dynamodb.get_item(TableName="t", Key=key("one"))["Item"]["active"] == {"S": "queued"}
    assert "Item" not in dynamodb.get_item(TableName="t", Key=key("two"))
    clock.now += LAG
    assert (query(dynamodb), query(dynamodb, "running")) == ([("one", "1")], [])
    dynamodb.transact_write_items(TransactItems=writes[:2])
    assert query(dynamodb) == [("one", "1")]
    clock.now += LAG
    assert (query(dynamodb), query(dynamodb, "running")) == ([("two", "1")], [("one", "2")])
