"""The one table. Everything of an exploration stands under its id; only RECORD items are indexed.

| pk              | sk              | holds                                                       |
|-----------------|-----------------|-------------------------------------------------------------|
| exploration id  | RECORD          | the record, its lease, version and status; the report's key |
| exploration id  | EVENT#000000001 | one event of its history                                    |
| exploration id  | ENTRY#000000000 | where one entry of its transcript lies in the bucket        |
| exploration id  | APPROVAL#…      | one request for a decision, and the decision once it stands |
| exploration id  | APPROVALTOKEN   | the workflow's token of the wait for decisions              |
| SPEND#day#owner | a run           | what the run has cost its owner on that day, and holds back |
| SPEND#day#owner | TURN            | how often anything was held back on that day                |
| IDEMPOTENCY     | submit#…        | the answer to a request with a key, until it expires        |

The template declares the same table; a test compares the two.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

PK, SK = "pk", "sk"
RECORD = "RECORD"
EVENT = "EVENT#"
ENTRY = "ENTRY#"
APPROVAL = "APPROVAL#"
APPROVAL_TOKEN = "APPROVALTOKEN"  # noqa: S105  the name of an item
IDEMPOTENCY = "IDEMPOTENCY"
EXPIRES = "expires"  # the table's time to live, in seconds since 1970

BY_OWNER = "by_owner"  # every exploration of an owner, by the time it was created
BY_STATUS = "by_status"  # sparse: an exploration that has come to its end has no `active`, but for
# one whose webhook has yet to be delivered: `updated` is then the time at which that is due.
UNDELIVERED = "undelivered"
OWNER, CREATED = "owner", "created"
ACTIVE, UPDATED = "active", "updated"
FILTERED = ["status", "mode", "toolset"]  # projected, so that a filter reads no records

TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [
        {"AttributeName": PK, "KeyType": "HASH"},
        {"AttributeName": SK, "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"}
        for name in (PK, SK, OWNER, CREATED, ACTIVE, UPDATED)
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": BY_OWNER,
            "KeySchema": [
                {"AttributeName": OWNER, "KeyType": "HASH"},
                {"AttributeName": CREATED, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": FILTERED},
        },
        {
            "IndexName": BY_STATUS,
            "KeySchema": [
                {"AttributeName": ACTIVE, "KeyType": "HASH"},
                {"AttributeName": UPDATED, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
}


def record_key(exploration_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: RECORD}


def event_key(exploration_id: str, number: int) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{EVENT}{number:09d}"}


def entry_key(exploration_id: str, number: int) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{ENTRY}{number:09d}"}


def approval_key(exploration_id: str, approval_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{APPROVAL}{approval_id}"}


def approval_token_key(exploration_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: APPROVAL_TOKEN}


Value: TypeAlias = str | int | float | bytes | bool
Item: TypeAlias = dict[str, Any]


def encoded(values: Mapping[str, Value]) -> Item:
    return {name: _encoded(value) for name, value in values.items()}


def decoded(item: Mapping[str, Any]) -> Item:
    return {name: _decoded(value) for name, value in item.items()}


def placeholders(*tables: Mapping[str, Value]) -> Item:
    """Values as expressions name them."""
    return {f":{name}": _encoded(value) for table in tables for name, value in table.items()}


def _encoded(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case _:
            return {"N": repr(value)}


def _decoded(value: Mapping[str, Any]) -> Value:
    ((kind, content),) = value.items()
    if kind == "N":
        return float(content) if set(content) & set(".eE") else int(content)
    plain: Value = content
    return plain
