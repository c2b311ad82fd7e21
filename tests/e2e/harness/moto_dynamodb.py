"""DynamoDB's eventually consistent indexes, which moto has up to date at once, and what moto needs to
keep up with a large table. Requests are served one at a time (tests/fakes/aws.py)."""

import copy
import functools
import inspect
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table

Key = tuple[DynamoType, DynamoType]


class Changes:
    """The changes of one table within the lag, each with what stood there before."""

    def __init__(self, lag: float, clock: Callable[[], float]) -> None:
        self._lag = lag
        self._clock = clock
        self._entries: deque[tuple[float, Key, Item | None]] = deque()

    def add(self, key: Key, before: Item | None) -> None:
        self._entries.append((self._clock(), key, before))
        self._forget()

    def find_earlier(self) -> dict[Key, Item | None]:
        """The items as they were when the lag began, if they have changed since."""
        self._forget()
        return {key: before for _, key, before in reversed(self._entries)}

    def count(self) -> int:
        return len(self._entries)

    def take_back(self, count: int) -> None:
        """Forget what was added beyond a count: it was rolled back."""
        while len(self._entries) > count:
            self._entries.pop()

    def _forget(self) -> None:
        while self._entries and self._entries[0][0] <= self._clock() - self._lag:
            self._entries.popleft()


class Lag:
    """Wraps moto's methods that change a table, and those that read it through an index."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._changes: dict[int, Changes] = {}

    def record(self, method: Any) -> Any:
        @functools.wraps(method)
        def run(backend: Any, table_name: str, attributes: Any, *args: Any, **kwargs: Any) -> Any:
            table = backend.get_table(table_name)
            key = key_of(table, attributes)
            before = copy.deepcopy(read(table, key))
            result = method(backend, table_name, attributes, *args, **kwargs)
            self._of(table).add(key, before)
            return result

        return run

    def take_back(self, method: Any) -> Any:
        """For a transaction, whose changes were none if it fails."""

        @functools.wraps(method)
        def run(backend: Any, transact_items: list[dict[str, Any]]) -> None:
            names = {op["TableName"] for entry in transact_items for op in entry.values()}
            tables = [backend.get_table(name) for name in names]
            counts = [self._of(table).count() for table in tables]
            try:
                method(backend, transact_items)
            except Exception:
                for table, count in zip(tables, counts, strict=True):
                    self._of(table).take_back(count)
                raise

        return run

    def show_earlier(self, method: Any) -> Any:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def run(table: Table, *args: Any, **kwargs: Any) -> Any:
            index = signature.bind(table, *args, **kwargs).arguments.get("index_name")
            if index not in [known.name for known in table.global_indexes]:
                return method(table, *args, **kwargs)
            earlier = self._of(table).find_earlier()
            now = {key: read(table, key) for key in earlier}
            write(table, earlier)
            try:
                return method(table, *args, **kwargs)
            finally:
                write(table, now)

        return run

    def _of(self, table: Table) -> Changes:
        return self._changes.setdefault(id(table), Changes(self._seconds, self._clock))


@contextmanager
def lagging_indexes(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Show a table through its global secondary indexes as it was so many seconds ago: without what
    came since, with what has left since, and with old values."""
    lag = Lag(seconds, clock)
    with ExitStack() as stack:
        for name in ("put_item", "update_item", "delete_item"):
            stack.enter_context(_replaced(DynamoDBBackend, name, lag.record))
        stack.enter_context(_replaced(DynamoDBBackend, "transact_write_items", lag.take_back))
        for name in ("query", "scan"):
            stack.enter_context(_replaced(Table, name, lag.show_earlier))
        yield


@contextmanager
def light_queries() -> Iterator[None]:
    """Look only at the items of the partition that is asked for; moto looks at every item of the table."""

    def narrow(method: Any) -> Any:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def run(table: Table, *args: Any, **kwargs: Any) -> Any:
            given = signature.bind(table, *args, **kwargs).arguments
            if given.get("index_name"):
                return method(table, *args, **kwargs)
            wanted = given["hash_key"]
            everything = table.items
            table.items = defaultdict(dict)
            if wanted in everything:
                table.items[wanted] = everything[wanted]
            try:
                return method(table, *args, **kwargs)
            finally:
                table.items = everything

        return run

    with _replaced(Table, "query", narrow):
        yield


def key_of(table: Table, attributes: dict[str, Any]) -> Key:
    assert table.range_key_attr, "tables without a range key are not known here"
    return DynamoType(attributes[table.hash_key_attr]), DynamoType(attributes[table.range_key_attr])


def read(table: Table, key: Key) -> Item | None:
    found: Item | None = table.items.get(key[0], {}).get(key[1])
    return found


def write(table: Table, items: dict[Key, Item | None]) -> None:
    for (hash_key, range_key), item in items.items():
        if item is not None:
            table.items[hash_key][range_key] = item
        elif hash_key in table.items:
            table.items[hash_key].pop(range_key, None)


def _replaced(owner: Any, name: str, wrap: Callable[[Any], Any]) -> Any:
    return patch.object(owner, name, wrap(getattr(owner, name)))
