"""The AWS of the tests."""

from typing import Any

import pytest
from moto import mock_aws

from idea_explorer.adapters.aws.client import client
from tests.fakes.aws import NAMES, REGION, create_services, put_services

TIMES = {"CreatedTimestamp", "LastModifiedTimestamp", "CreationDateTime", "creationDate"}


def without_times(value: Any) -> Any:
    match value:
        case dict():
            kept = value.keys() - {*TIMES, "TableId", "ResponseMetadata"}
            return {key: without_times(value[key]) for key in kept}
        case list():
            return [without_times(part) for part in value]
    return value


def describe(addresses: dict[str, str]) -> Any:
    machine = {"stateMachineArn": addresses["STATE_MACHINE_ARN"]}
    queues = [addresses["QUEUE_URL"], addresses["DEAD_LETTER_QUEUE_URL"]]
    return without_times(
        [
            client("dynamodb").describe_table(TableName=NAMES["TABLE_NAME"]),
            client("s3").get_bucket_location(Bucket=NAMES["BUCKET_NAME"]),
            client("stepfunctions").describe_state_machine(**machine),
            *(
                client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
                for url in queues
            ),
        ]
    )


def test_services_are_those_that_requests_create(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        created = create_services(client)
        expected = describe(created)
    with mock_aws():
        put = put_services()
        assert put == created
        assert describe(put) == expected
