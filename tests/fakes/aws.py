"""AWS by moto, with what a deployment has: table, bucket, queues, workflow, secrets.

moto checks a condition and writes in two steps, and rolls a refused transaction back. DynamoDB does either
at once, so here one request to it is served at a time. moto also copies the whole table for each write of a
transaction, in case it has to be rolled back; here only what a transaction writes is put back.

Hundreds of tests begin with an empty deployment, so its services are put into moto's backends directly, and
in `requests`, which only uploads a file, moto stands in for AWS with one method instead of seven.
"""

import copy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias
from unittest.mock import patch
from urllib.parse import urlparse

from botocore.config import Config
from botocore.session import get_session
from moto import mock_aws
from moto.core.utils import method_names_from_class
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer
from moto.sqs.models import sqs_backends
from moto.stepfunctions.models import stepfunctions_backends

from idea_explorer.adapters.dynamodb.schema import PK, SK, TABLE
from idea_explorer.settings import Settings

Connect: TypeAlias = Callable[[str], Any]
REGION = "eu-central-1"
NAMES = {"TABLE_NAME": "explorations", "BUCKET_NAME": "explorations-of-the-tests"}
MACHINE = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}
ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/workflow"
_one_at_a_time = threading.RLock()
_method_names = cache(method_names_from_class)


@contextmanager
def fake_aws() -> Iterator[Settings]:
    """A deployment's services, empty, and the settings that name them."""
    with light_moto(), mock_aws(), atomic_dynamodb():
        yield Settings.from_environment(NAMES | put_services())


@contextmanager
def light_moto() -> Iterator[None]:
    """A seventh less time for each request: what is the same each time is not worked out again."""
    with (
        patch("moto.core.models.RESPONSES_METHODS", ["POST"]),
        patch("moto.core.responses.method_names_from_class", _method_names),
        patch("botocore.useragent.UserAgentString.to_string", lambda _: "botocore"),
    ):
        yield


@contextmanager
def atomic_dynamodb() -> Iterator[None]:
    serve = DynamoHandler.call_action
    transact = DynamoDBBackend.transact_write_items

    def alone(handler: DynamoHandler) -> Any:
        with _one_at_a_time:
            return serve(handler)

    def transact_and_restore(backend: DynamoDBBackend, writes: list[dict[str, Any]]) -> None:
        before = [_find_item(backend, write) for write in writes]
        with patch.object(Table, "__deepcopy__", lambda table, _: table, create=True):
            try:
                transact(backend, writes)
            except Exception:
                for partition, sort_key, item in before:
                    partition.pop(sort_key, None)
                    if item is not None:
                        partition[sort_key] = item
                raise

    with (
        patch.object(DynamoHandler, "call_action", alone),
        patch.object(DynamoDBBackend, "transact_write_items", transact_and_restore),
    ):
        yield


def _find_item(backend: DynamoDBBackend, write: dict[str, Any]) -> tuple[dict[Any, Any], Any, Any]:
    """The partition that a write belongs to, the sort key, and a copy of the item that is there."""
    ((_, request),) = write.items()
    key = request.get("Key") or request["Item"]
    partition: dict[Any, Any] = backend.tables[request["TableName"]].items[DynamoType(key[PK])]
    sort_key = DynamoType(key[SK])
    return partition, sort_key, copy.deepcopy(partition.get(sort_key))


@contextmanager
def moto_server() -> Iterator[Settings]:
    """The same behind a real port, for those who come over HTTP."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with atomic_dynamodb():
        server.start()
        try:
            host, port = server.get_host_and_port()
            endpoint = f"http://{host}:{port}"
            names = {"AWS_ENDPOINT_URL": endpoint} | NAMES | create_services(_patient(endpoint))
            yield Settings.from_environment(names)
        finally:
            server.stop()


def _patient(endpoint_url: str) -> Connect:
    """Clients that wait while moto loads a service, and do not ask for the same thing twice."""
    config = Config(read_timeout=600, retries={"total_max_attempts": 1})
    session = get_session()
    return lambda service: session.create_client(
        service, region_name=REGION, endpoint_url=endpoint_url, config=config
    )


def create_services(connect: Connect) -> dict[str, str]:
    """What the template declares; returns the addresses that a deployment gives its functions."""
    connect("dynamodb").create_table(TableName=NAMES["TABLE_NAME"], **TABLE)
    connect("s3").create_bucket(
        Bucket=NAMES["BUCKET_NAME"], CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    sqs = connect("sqs")
    machine = connect("stepfunctions").create_state_machine(
        name="exploration", definition=json.dumps(MACHINE), roleArn=ROLE
    )
    return {
        "QUEUE_URL": sqs.create_queue(QueueName="work")["QueueUrl"],
        "DEAD_LETTER_QUEUE_URL": sqs.create_queue(QueueName="dead-letters")["QueueUrl"],
        "STATE_MACHINE_ARN": machine["stateMachineArn"],
    }


def put_services() -> dict[str, str]:
    """The same without a request for each."""
    dynamodb_backends[ACCOUNT][REGION].create_table(
        NAMES["TABLE_NAME"],
        schema=TABLE["KeySchema"],
        attr=TABLE["AttributeDefinitions"],
        global_indexes=copy.deepcopy(TABLE["GlobalSecondaryIndexes"]),
        billing_mode=TABLE["BillingMode"],
        indexes=[],
        tags=[],
        throughput=None,
        streams=None,
        sse_specification=None,
        deletion_protection_enabled=False,
        warm_throughput=None,
    )
    s3_backends[ACCOUNT]["aws"].create_bucket(NAMES["BUCKET_NAME"], REGION)
    sqs = sqs_backends[ACCOUNT][REGION]
    address = urlparse(f"https://sqs.{REGION}.amazonaws.com")
    workflows = stepfunctions_backends[ACCOUNT][REGION]
    machine = workflows.create_state_machine("exploration", json.dumps(MACHINE), ROLE)
    return {
        "QUEUE_URL": sqs.create_queue("work").url(address),
        "DEAD_LETTER_QUEUE_URL": sqs.create_queue("dead-letters").url(address),
        "STATE_MACHINE_ARN": machine.arn,
    }
