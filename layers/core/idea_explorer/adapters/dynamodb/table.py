"""Reads and conditional writes on one DynamoDB table."""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from idea_explorer.adapters.aws.client import error_code, map_aws_errors
from idea_explorer.adapters.dynamodb.expressions import (
    Check,
    Condition,
    Create,
    Delete,
    Put,
    Update,
    Write,
)
from idea_explorer.adapters.dynamodb.schema import (
    PK,
    SK,
    Item,
    Value,
    decode,
    encode,
    placeholders,
)
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.domain.text import hash_text
from idea_explorer.ports import Clock

SYSTEM = "DynamoDB"
BATCH = 100  # the most that BatchGetItem takes
# Reasons that cancel a whole transaction although nothing is wrong with it.
BUSY = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


class BusyError(RateLimitedError):
    """Another transaction is using the same item."""


ATTEMPTS = 12
RETRY = RetryPolicy(
    first=0.02,  # a transaction takes about this long
    longest=1.0,
    attempts=ATTEMPTS,
    jitter=1.0,
    retry_on=lambda error: isinstance(error, BusyError),
)


class ConditionNotMetError(Exception):
    """A conditional write wrote nothing.

    `failed` holds the positions of the writes whose condition failed, `found` the item that was there
    instead, if DynamoDB returned it.
    """

    def __init__(self, failed: Sequence[int], found: Item | None) -> None:
        super().__init__("The condition of a write was not met.")
        self.failed = failed
        self.found = found


class Table:
    """Raises ExternalError, or ConditionNotMetError."""

    def __init__(self, name: str, connect: Callable[[], Any], clock: Clock) -> None:
        self._name = name
        self._connect = connect
        self._clock = clock
        self._tokens: dict[str, str] = {}  # by hash, of transactions with an unknown outcome

    def get(self, key: Mapping[str, str], *attributes: str) -> Item | None:
        """A consistent read of an item, or of some of its attributes."""
        wanted = ", ".join(f"#{name}" for name in attributes)
        request = self._request(wanted) | ({"ProjectionExpression": wanted} if wanted else {})
        with map_aws_errors(SYSTEM):
            response = self._connect().get_item(Key=encode(key), ConsistentRead=True, **request)
        found = response.get("Item")
        return None if found is None else decode(found)

    def get_many(self, keys: Sequence[Mapping[str, str]]) -> list[Item]:
        """A consistent read of the items that exist, in the order of their keys."""
        found: dict[tuple[str, str], Item] = {}
        for start in range(0, len(keys), BATCH):
            for item in self._get_batch([encode(key) for key in keys[start : start + BATCH]]):
                found[item[PK], item[SK]] = item
        wanted = [(key[PK], key[SK]) for key in keys]
        return [found[key] for key in wanted if key in found]

    def _get_batch(self, wanted: list[Item]) -> Iterator[Item]:
        for failed in range(1, ATTEMPTS + 1):
            request = {self._name: {"Keys": wanted, "ConsistentRead": True}}
            with map_aws_errors(SYSTEM):
                response = self._connect().batch_get_item(RequestItems=request)
            yield from map(decode, response["Responses"].get(self._name, []))
            wanted = response.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
            if not wanted:
                return
            self._clock.sleep(RETRY.pause(failed))
        raise RateLimitedError(
            f"AWS {SYSTEM} returned only a part of the items.", hint="Try again."
        )

    def query(
        self,
        where: Condition,
        *,
        index: str | None = None,
        only: Condition | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[list[Item]]:
        """Items by key, page by page, at most `limit` in each. `only` filters what was read, so a page
        may be empty; then only the first is limited, and the others are as large as DynamoDB makes them."""
        parts = [where, only] if only else [where]
        request = self._request(*(part.expression for part in parts)) | {
            "KeyConditionExpression": where.expression,
            "ExpressionAttributeValues": placeholders(*(part.values for part in parts)),
            "ScanIndexForward": not newest_first,
        }
        request |= {"IndexName": index} if index else {"ConsistentRead": True}
        request |= {"FilterExpression": only.expression} if only else {}
        request |= {"Limit": limit} if limit else {}
        while True:
            with map_aws_errors(SYSTEM):
                response = self._connect().query(**request)
            yield [decode(item) for item in response["Items"]]
            if "LastEvaluatedKey" not in response:
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
            if only:
                request.pop("Limit", None)

    def query_all(self, where: Condition) -> list[Item]:
        return [item for page in self.query(where) for item in page]

    def put(self, item: Mapping[str, Value]) -> None:
        """Store an item, replacing any that is there."""
        request = self._request() | {"Item": encode(item)}
        self._write(lambda api: api.put_item(**request))

    def put_new(self, *items: Mapping[str, Value]) -> bool:
        """Store all items or none; False if a key is taken."""
        try:
            if len(items) == 1:
                request = self._put_new_request(items[0])
                self._write(lambda api: api.put_item(**request))
            else:
                self.write([Create(item) for item in items])
        except ConditionNotMetError:
            return False
        return True

    def delete(self, key: Mapping[str, str]) -> None:
        request = self._request() | {"Key": encode(key)}
        self._write(lambda api: api.delete_item(**request))

    def count(self, where: Condition) -> int:
        """How many items there are; it may miss the changes of the last second."""
        request = self._request(where.expression) | {
            "KeyConditionExpression": where.expression,
            "ExpressionAttributeValues": placeholders(where.values),
            "Select": "COUNT",
        }
        total: int = 0
        while True:
            with map_aws_errors(SYSTEM):
                response = self._connect().query(**request)
            total += int(response["Count"])
            if "LastEvaluatedKey" not in response:
                return total
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def write(self, writes: Sequence[Write]) -> None:
        """Make all writes or none.

        ConditionNotMetError has in `failed` the positions of those that were refused. A transaction whose
        response was lost does not write twice: the client gives it a token. A single update is none, which
        halves its price.
        """
        match writes:
            case [Update(key, change, values, when)]:
                self.update(key, change, values, when=when)
            case _:
                self._transact([self._write_request(write) for write in writes])

    def _check_request(self, key: Mapping[str, str], condition: Condition) -> dict[str, Any]:
        request = self._request(condition.expression) | {
            "Key": encode(key),
            "ConditionExpression": condition.expression,
        }
        values = placeholders(condition.values)
        return request | ({"ExpressionAttributeValues": values} if values else {})

    def update(
        self, key: Mapping[str, str], change: str, values: Mapping[str, Value], *, when: str
    ) -> None:
        """Update one item on a condition; ConditionNotMetError has the item that was found."""
        request = self._update_request(Update(key, change, values, when))
        self._write(lambda api: api.update_item(**request))

    def _write_request(self, write: Write) -> dict[str, Any]:
        match write:
            case Put(item):
                return {"Put": self._request() | {"Item": encode(item)}}
            case Delete(key):
                return {"Delete": self._request() | {"Key": encode(key)}}
            case Create(item):
                return {"Put": self._put_new_request(item)}
            case Update():
                return {"Update": self._update_request(write)}
            case Check(key, condition):
                return {"ConditionCheck": self._check_request(key, condition)}

    def _update_request(self, write: Update) -> dict[str, Any]:
        request = self._request(write.change, write.when) | {
            "Key": encode(write.key),
            "UpdateExpression": write.change,
        }
        if write.when:
            request |= {
                "ConditionExpression": write.when,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        values = placeholders(write.values)
        return request | ({"ExpressionAttributeValues": values} if values else {})

    def _put_new_request(self, item: Mapping[str, Value]) -> dict[str, Any]:
        free = f"attribute_not_exists(#{PK})"
        return self._request(free) | {"Item": encode(item), "ConditionExpression": free}

    def _request(self, *expressions: str) -> dict[str, Any]:
        names = {f"#{name}": name for name in re.findall(r"#(\w+)", " ".join(expressions))}
        request: dict[str, Any] = {"TableName": self._name}
        return request | ({"ExpressionAttributeNames": names} if names else {})

    def _transact(self, writes: list[dict[str, Any]]) -> None:
        """After a failure that does not say whether the writes were made, the same writes get the same token
        again, so that DynamoDB makes them once. A refusal is an answer: after that they get a new one."""
        known = self._tokens.pop(hash_text(repr(writes)), None) if self._tokens else None
        tokens = chain([known] if known else [], iter(lambda: uuid.uuid4().hex, ""))

        def transact(api: Any) -> None:
            token = next(tokens)
            try:
                api.transact_write_items(TransactItems=writes, ClientRequestToken=token)
            except Exception as error:
                if not _failure_reasons(error):
                    self._tokens[hash_text(repr(writes))] = token
                raise

        self._write(transact)

    def _write(self, call: Callable[[Any], object]) -> None:
        """Write, and retry with backoff while another transaction is using the same item."""
        retry(lambda: self._write_once(call), RETRY, self._clock)

    def _write_once(self, call: Callable[[Any], object]) -> None:
        from botocore.exceptions import ClientError

        with map_aws_errors(SYSTEM):
            try:
                call(self._connect())
            except ClientError as error:
                reasons = _failure_reasons(error)
                failed = [n for n, why in enumerate(reasons) if why == "ConditionalCheckFailed"]
                if failed:
                    raise ConditionNotMetError(failed, _item_found(error)) from error
                if BUSY.intersection(reasons):
                    message = f"AWS {SYSTEM} is busy with the same item."
                    raise BusyError(message, hint="Try again.") from error
                raise


def _failure_reasons(error: Any) -> list[str]:
    """Why each write of a transaction, or a single write, was refused; empty if the error is no refusal."""
    match error_code(error) if getattr(error, "response", None) else "":
        case "TransactionCanceledException":
            reasons = error.response.get("CancellationReasons", [])
            return [str(reason.get("Code")) for reason in reasons]
        case "ConditionalCheckFailedException":
            return ["ConditionalCheckFailed"]
        case "TransactionConflictException":
            return ["TransactionConflict"]
        case _:
            return []


def _item_found(error: Any) -> Item | None:
    item = error.response.get("Item")
    return None if item is None else decode(item)
