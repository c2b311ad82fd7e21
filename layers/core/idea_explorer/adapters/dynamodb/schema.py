"""The table. All items of an exploration share its id as partition key; only RECORD items are indexed.

| pk              | sk              | holds                                                         |
|-----------------|-----------------|---------------------------------------------------------------|
| exploration id  | RECORD          | the record, its lease, version and status; the report's key   |
| exploration id  | LEASE           | its lease alone: a check of it costs less than of the record  |
| exploration id  | EVENT#000000001 | one event of its history                                      |
| exploration id  | ENTRY#000000000 | one transcript entry, or its key in the bucket if it is large |
| exploration id  | APPROVAL#…      | one approval request, and its decision once there is one      |
| exploration id  | APPROVALTOKEN   | the task token of the workflow that waits for decisions       |
| SPEND#day#owner | a run           | what the run has spent and reserved of its owner's day        |
| SPEND#day#owner | TURN            | how many reservations were made on that day                   |
| IDEMPOTENCY     | submit#…        | the response to a request with a key, until it expires        |
| LEASE#branch    | LEASE           | who publishes to a branch at the moment                       |
| WAITING         | owner#time#id   | an exploration that waits for a free slot                     |
| SLOTS           | SLOTS           | the explorations that hold a slot; whether starting pauses    |
| TURN            | owner           | when an owner last got a slot                                 |
| STREAMS         | STREAMS         | the open streams of events, each with its end                 |

template.yaml declares the same table; a test compares the two.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

PK, SK = "pk", "sk"
RECORD = "RECORD"
LEASE = "LEASE"
EVENT = "EVENT#"
ENTRY = "ENTRY#"
APPROVAL = "APPROVAL#"
APPROVAL_TOKEN = "APPROVALTOKEN"  # noqa: S105  the name of an item  # nosec B105
IDEMPOTENCY = "IDEMPOTENCY"
EXPIRES = "expires"  # the table's time to live, in seconds since 1970

EXISTS = f"attribute_exists(#{PK})"

BY_OWNER = "by_owner"  # every exploration of an owner, by creation time
# Sparse: an exploration that has ended has no `active` attribute unless its webhook is still to be
# delivered; `updated` is then the time at which that is due.
BY_STATUS = "by_status"
UNDELIVERED = "undelivered"
OWNER, CREATED = "owner", "created"
ACTIVE, UPDATED = "active", "updated"
FILTERED = ["status", "mode", "toolset"]  # projected, so that filtering reads no records


def _key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": _key_schema(PK, SK),
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"}
        for name in (PK, SK, OWNER, CREATED, ACTIVE, UPDATED)
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": BY_OWNER,
            "KeySchema": _key_schema(OWNER, CREATED),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": FILTERED},
        },
        {
            "IndexName": BY_STATUS,
            "KeySchema": _key_schema(ACTIVE, UPDATED),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
}


def record_key(exploration_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: RECORD}


def lease_key(exploration_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: LEASE}


def event_key(exploration_id: str, number: int) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{EVENT}{number:09d}"}


def entry_key(exploration_id: str, number: int) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{ENTRY}{number:09d}"}


def approval_key(exploration_id: str, approval_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: f"{APPROVAL}{approval_id}"}


def approval_token_key(exploration_id: str) -> dict[str, str]:
    return {PK: exploration_id, SK: APPROVAL_TOKEN}


Value: TypeAlias = str | int | float | bytes | bool | frozenset[str]
Item: TypeAlias = dict[str, Any]


def encode(values: Mapping[str, Value]) -> Item:
    return {name: _encode_value(value) for name, value in values.items()}


def decode(item: Mapping[str, Any]) -> Item:
    return {name: _decode_value(value) for name, value in item.items()}


def placeholders(*tables: Mapping[str, Value]) -> Item:
    """Values under the names that expressions use."""
    return {f":{name}": _encode_value(value) for table in tables for name, value in table.items()}


def _encode_value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case frozenset():
            return {"SS": sorted(value)}
        case _:
            return {"N": repr(value)}


def _decode_value(value: Mapping[str, Any]) -> Value:
    ((kind, content),) = value.items()
    if kind == "N":
        return float(content) if set(content) & set(".eE") else int(content)
    if kind == "SS":
        return frozenset(content)
    plain: Value = content
    return plain
