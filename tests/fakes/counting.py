"""Counts what a piece of work asks of the stores: requests to AWS with their price, transactions, threads."""

import json
import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.dynamodb.schema import ACTIVE, BY_OWNER, PK, SK, TABLE, UPDATED
from tests.fakes.aws import NAMES, REGION

# Dollars per million in us-east-1, November 2026
WRITE_UNIT, READ_UNIT = 0.625, 0.125  # DynamoDB on demand
S3_PUT, S3_GET = 5.0, 0.4
_FILTERED = TABLE["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"]
assert TABLE["GlobalSecondaryIndexes"][0]["IndexName"] == BY_OWNER


@dataclass
class AwsCounts:
    """Requests by service and kind, and the units that DynamoDB bills: a write of up to 1 KB is one, of which
    a transaction takes two, and so does its check of a condition; a consistent read of up to 4 KB is one."""

    requests: Counter[str] = field(default_factory=Counter)
    write_units: int = 0
    read_units: float = 0.0

    @property
    def total(self) -> int:
        return self.requests.total()

    @property
    def usd(self) -> float:
        """The price of the table and the bucket."""
        units = self.write_units * WRITE_UNIT + self.read_units * READ_UNIT
        puts, gets = self.requests["s3 PutObject"], self.requests["s3 GetObject"]
        return (units + puts * S3_PUT + gets * S3_GET) / 1e6


@contextmanager
def count_aws() -> Iterator[AwsCounts]:
    """What the process asks of the fake AWS meanwhile."""
    counts = AwsCounts()
    before: dict[tuple[str, str], Mapping[str, Any]] = {}

    def see(params: dict[str, Any], model: Any, **_: Any) -> None:
        service = model.service_model.service_name
        counts.requests[f"{service} {model.name}"] += 1
        if service == "dynamodb":
            before.clear()
            before.update({key: _stored(*key) for key, _ in _writes(params["body"], model.name)})

    def measure(parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.service_model.service_name != "dynamodb":
            return
        found = [*parsed.get("Items", []), *filter(None, [parsed.get("Item")])]
        found += [item for items in parsed.get("Responses", {}).values() for item in items]
        if model.name in READS:
            counts.read_units += max(1, math.ceil(sum(map(_size, found)) / 4_096))
        share = 2 if model.name == "TransactWriteItems" else 1
        for key, item in before.items():
            after = _stored(*key)
            counts.write_units += share * max(1, math.ceil(max(_size(item), _size(after)) / 1_024))
            counts.write_units += _index_units(item, after)

    services = [client(name) for name in ("dynamodb", "s3", "sqs", "stepfunctions")]
    for service in services:
        service.meta.events.register("before-call", see)
        service.meta.events.register("after-call", measure)
    try:
        yield counts
    finally:
        for service in services:
            service.meta.events.unregister("before-call", see)
            service.meta.events.unregister("after-call", measure)


READS = {"GetItem", "Query", "BatchGetItem"}


def _writes(body: bytes, name: str) -> Iterator[tuple[tuple[str, str], str]]:
    """The keys that a request writes or checks."""
    if name in READS:
        return
    request = json.loads(body)
    for action in request.get("TransactItems", [{"one": request}]):
        ((kind, write),) = action.items()
        key = write.get("Key") or write.get("Item")
        yield (key[PK]["S"], key[SK]["S"]), kind


def _stored(partition: str, sort: str) -> Mapping[str, Any]:
    table = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].get_table(NAMES["TABLE_NAME"])
    found = table.items[DynamoType({"S": partition})].get(DynamoType({"S": sort}))
    return {} if found is None else dict(found.to_json()["Attributes"])


def _size(item: Mapping[str, Any]) -> int:
    """By DynamoDB's rules, roughly: names and values as UTF-8; moto holds binary values as base64."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return len(content) * 3 // 4 if isinstance(content, str) else len(content)
        case "S":
            return len(content.encode())
        case "SS":
            return sum(len(text.encode()) for text in content)
        case _:
            return len(str(content))


def _index_units(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """One for each entry that is written, and one for each that is removed because its key changed."""
    if (before or after)[SK] != {"S": "RECORD"}:
        return 0

    def changed(*names: str) -> bool:
        return any(before.get(name) != after.get(name) for name in names)

    status = (
        [item for item in (before, after) if ACTIVE in item] if changed(ACTIVE, UPDATED) else []
    )
    return changed(*_FILTERED) + len(status)


@dataclass
class LocalCounts:
    transactions: int = 0
    reads: int = 0
    threads: int = 0
    bytes_written: int = 0


@contextmanager
def count_local() -> Iterator[LocalCounts]:
    """What the process asks of SQLite meanwhile, by connections that it opens meanwhile, and the bytes that
    it passes to the system to write, wherever to."""
    counts = LocalCounts()
    connect, start, lock = sqlite3.connect, threading.Thread.start, threading.Lock()

    def trace(statement: str) -> None:
        with lock:
            counts.transactions += statement == "COMMIT"
            counts.reads += statement.startswith("SELECT")

    def connect_traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(trace)
        return connection

    def start_counted(thread: threading.Thread) -> None:
        with lock:
            counts.threads += 1
        start(thread)

    written = _bytes_written()
    with (
        patch.object(sqlite3, "connect", connect_traced),
        patch.object(threading.Thread, "start", start_counted),
    ):
        yield counts
    counts.bytes_written = _bytes_written() - written


def _bytes_written() -> int:
    """0 where the system does not say."""
    known = Path("/proc/self/io")
    if not known.exists():
        return 0
    return int(known.read_text().partition("wchar: ")[2].split()[0])
