"""Reads and conditional writes on one DynamoDB table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idea_explorer.adapters.aws.client import aws_errors, code_of
from idea_explorer.adapters.dynamodb.schema import (
    PK,
    SK,
    Item,
    Value,
    decoded,
    encoded,
    placeholders,
)
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.ports import Clock

SYSTEM = "DynamoDB"
BATCH = 100  # what BatchGetItem takes
BUSY = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)  # reasons for which a whole transaction is cancelled, though nothing is wrong with it


class BusyError(RateLimitedError):
    """Another transaction has hold of the same item."""


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

    `failed` has the positions of the writes whose condition was not met, `found` the item that was
    there instead, where DynamoDB says so.
    """

    def __init__(self, failed: Sequence[int], found: Item | None) -> None:
        super().__init__("The condition of a write was not met.")
        self.failed = failed
        self.found = found


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that writes `#name` for each attribute and `:name` for each value."""

    expression: str
    values: Mapping[str, Value]


class Table:
    """Whatever goes wrong is raised as one of our errors, or as ConditionNotMetError."""

    def __init__(self, name: str, connect: Callable[[], Any], clock: Clock) -> None:
        self._name = name
        self._connect = connect
        self._clock = clock

    def get(self, key: Mapping[str, str], *attributes: str) -> Item | None:
        """The newest state of an item, or of some of its attributes."""
        wanted = ", ".join(f"#{name}" for name in attributes)
        request = self._request(wanted) | ({"ProjectionExpression": wanted} if wanted else {})
        with aws_errors(SYSTEM):
            answer = self._connect().get_item(Key=encoded(key), ConsistentRead=True, **request)
        found = answer.get("Item")
        return None if found is None else decoded(found)

    def get_many(self, keys: Sequence[Mapping[str, str]]) -> list[Item]:
        """The newest state of the items that exist, in the order of their keys."""
        found: dict[tuple[str, str], Item] = {}
        for start in range(0, len(keys), BATCH):
            for item in self._batch([encoded(key) for key in keys[start : start + BATCH]]):
                found[item[PK], item[SK]] = item
        places = [(key[PK], key[SK]) for key in keys]
        return [found[place] for place in places if place in found]

    def _batch(self, wanted: list[Item]) -> Iterator[Item]:
        for failed in range(1, ATTEMPTS + 1):
            request = {self._name: {"Keys": wanted, "ConsistentRead": True}}
            with aws_errors(SYSTEM):
                answer = self._connect().batch_get_item(RequestItems=request)
            yield from map(decoded, answer["Responses"].get(self._name, []))
            wanted = answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
            if not wanted:
                return
            self._clock.sleep(RETRY.pause(failed))
        raise RateLimitedError(f"AWS {SYSTEM} answered only in part.", hint="Try again.")

    def query(
        self,
        where: Condition,
        *,
        index: str | None = None,
        only: Condition | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[list[Item]]:
        """Items by key, page by page. `only` filters within a page, so a page may be empty."""
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
            with aws_errors(SYSTEM):
                answer = self._connect().query(**request)
            yield [decoded(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def put(self, item: Mapping[str, Value]) -> None:
        """Store an item, whatever was there."""
        request = self._request() | {"Item": encoded(item)}
        self._write(lambda api: api.put_item(**request))

    def put_new(self, item: Mapping[str, Value]) -> bool:
        """Store an item; False where its key is taken."""
        request = self._new(item)
        try:
            self._write(lambda api: api.put_item(**request))
        except ConditionNotMetError:
            return False
        return True

    def put_new_while(
        self, item: Mapping[str, Value], key: Mapping[str, str], holds: Condition
    ) -> None:
        """Store an item in one transaction with the check that another one is as it should be.

        ConditionNotMetError has 0 in `failed` where that does not hold, 1 where the item's key is
        taken. A repeat after a lost answer does not write twice: the client gives each transaction
        its token.
        """
        check = self._request(holds.expression) | {
            "Key": encoded(key),
            "ConditionExpression": holds.expression,
        }
        if holds.values:
            check["ExpressionAttributeValues"] = placeholders(holds.values)
        writes = [{"ConditionCheck": check}, {"Put": self._new(item)}]
        self._write(lambda api: api.transact_write_items(TransactItems=writes))

    def put_all_new(self, items: Sequence[Mapping[str, Value]]) -> bool:
        """Store items, all of them or none; False where a key is taken."""
        writes = [{"Put": self._new(item)} for item in items]
        try:
            self._write(lambda api: api.transact_write_items(TransactItems=writes))
        except ConditionNotMetError:
            return False
        return True

    def put_with(
        self,
        item: Mapping[str, Value],
        key: Mapping[str, str],
        change: str,
        values: Mapping[str, Value],
        *,
        when: str,
    ) -> None:
        """Store an item in one transaction with the change of another one, under its condition."""
        writes = [
            {"Update": self._change(key, change, values, when)},
            {"Put": self._request() | {"Item": encoded(item)}},
        ]
        self._write(lambda api: api.transact_write_items(TransactItems=writes))

    def update(
        self, key: Mapping[str, str], change: str, values: Mapping[str, Value], *, when: str
    ) -> None:
        """Change attributes of an item under a condition."""
        request = self._change(key, change, values, when)
        self._write(lambda api: api.update_item(**request))

    def update_with(
        self,
        key: Mapping[str, str],
        change: str,
        values: Mapping[str, Value],
        *,
        when: str,
        new: Sequence[Mapping[str, Value]],
    ) -> None:
        """Change an item under a condition and store new ones, all of it or nothing.

        ConditionNotMetError has 0 in `failed` where the condition does not hold, and higher numbers
        where a new item's key is taken.
        """
        writes = [
            {"Update": self._change(key, change, values, when)},
            *({"Put": self._new(item)} for item in new),
        ]
        self._write(lambda api: api.transact_write_items(TransactItems=writes))

    def _change(
        self, key: Mapping[str, str], change: str, values: Mapping[str, Value], when: str
    ) -> dict[str, Any]:
        request = self._request(change, when) | {
            "Key": encoded(key),
            "UpdateExpression": change,
            "ConditionExpression": when,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return request | ({"ExpressionAttributeValues": placeholders(values)} if values else {})

    def _new(self, item: Mapping[str, Value]) -> dict[str, Any]:
        free = f"attribute_not_exists(#{PK})"
        return self._request(free) | {"Item": encoded(item), "ConditionExpression": free}

    def _request(self, *expressions: str) -> dict[str, Any]:
        names = {f"#{name}": name for name in re.findall(r"#(\w+)", " ".join(expressions))}
        request: dict[str, Any] = {"TableName": self._name}
        return request | ({"ExpressionAttributeNames": names} if names else {})

    def _write(self, call: Callable[[Any], object]) -> None:
        """Write; wait and repeat while another transaction has hold of the same item."""
        retry(lambda: self._write_once(call), RETRY, self._clock)

    def _write_once(self, call: Callable[[Any], object]) -> None:
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                call(self._connect())
            except ClientError as error:
                reasons = _reasons(error)
                if failed := [
                    n for n, why in enumerate(reasons) if why == "ConditionalCheckFailed"
                ]:
                    raise ConditionNotMetError(failed, _found(error)) from error
                if BUSY.intersection(reasons):
                    said = f"AWS {SYSTEM} is busy with the same item."
                    raise BusyError(said, hint="Try again.") from error
                raise


def _reasons(error: Any) -> list[str]:
    """Why each write of a transaction, or the only write, was refused."""
    match code_of(error):
        case "TransactionCanceledException":
            reasons = error.response.get("CancellationReasons", [])
            return [str(reason.get("Code")) for reason in reasons]
        case "ConditionalCheckFailedException":
            return ["ConditionalCheckFailed"]
        case "TransactionConflictException":
            return ["TransactionConflict"]
        case _:
            return []


def _found(error: Any) -> Item | None:
    item = error.response.get("Item")
    return None if item is None else decoded(item)
