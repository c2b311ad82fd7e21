"""Event histories of explorations in DynamoDB: numbered items, one after the other.

Whoever writes number n has seen n - 1, and only one writer can create an item. So the numbers have no
gap and no repeat, however many write.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from idea_explorer.adapters.dynamodb.expressions import (
    Check,
    Condition,
    Create,
    Write,
    begins_with,
)
from idea_explorer.adapters.dynamodb.schema import (
    EVENT,
    EXISTS,
    PK,
    SK,
    Item,
    event_key,
    lease_key,
    record_key,
)
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.adapters.records import (
    dump_stored_event,
    lease_lost,
    no_such_exploration,
    too_many_writers,
)
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent

ATTEMPTS = 50  # each failure is another writer's event
REMEMBERED = 100  # explorations whose last number this process remembers
MAX_GROUP = 80  # of the 100 writes of a transaction
MAX_GROUP_BYTES = 3_000_000  # of the 4 MB of a transaction


class DumpedEvent(NamedTuple):
    type: str
    data: str


@dataclass
class _History:
    last: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class EventNumbers:
    """The last number of each history that this process writes to. An event of another process makes it
    wrong: then the number is taken, and the next write looks it up again."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._histories: OrderedDict[str, _History] = OrderedDict()
        self._lock = threading.Lock()

    def write(
        self, exploration_id: str, writes: Sequence[Write], events: Sequence[DumpedEvent]
    ) -> None:
        """Make all writes and store the events after them, in one transaction. ConditionNotMetError means
        that one of the writes was refused; its `failed` has their positions."""
        if not events:
            self._table.write(writes)
            return
        history = self._history(exploration_id)
        with history.lock:  # without it the threads of a run would collide on every number
            for _ in range(ATTEMPTS):
                if history.last is None:
                    history.last = _last_number(self._table, exploration_id)
                items = event_items(exploration_id, events, after=history.last)
                try:
                    self._table.write([*writes, *map(Create, items)])
                except ConditionNotMetError as refused:
                    history.last = None
                    if min(refused.failed) < len(writes):
                        raise
                    continue
                history.last += len(events)
                return
        raise too_many_writers(exploration_id)

    def _history(self, exploration_id: str) -> _History:
        with self._lock:
            history = self._histories.setdefault(exploration_id, _History())
            self._histories.move_to_end(exploration_id)
            if len(self._histories) > REMEMBERED:
                self._histories.popitem(last=False)
            return history


class DynamoEventLog:
    def __init__(self, table: Table, numbers: EventNumbers | None = None) -> None:
        self._table = table
        self._numbers = numbers or EventNumbers(table)

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        condition = (
            Check(record_key(exploration_id), Condition(EXISTS, {}))
            if lease is None
            else check_lease(exploration_id, lease)
        )
        try:
            self._numbers.write(exploration_id, [condition], dump_events([event]))
        except ConditionNotMetError as refused:
            if lease is None:
                raise no_such_exploration(exploration_id) from None
            raise lease_lost(exploration_id) from refused

    def read(
        self, exploration_id: ExplorationId, *, after: int = 0, limit: int = 1_000
    ) -> Sequence[NumberedEvent]:
        where = Condition(
            f"#{PK} = :id AND #{SK} BETWEEN :first AND :last",
            {
                "id": exploration_id,
                "first": event_key(exploration_id, after + 1)[SK],
                "last": event_key(exploration_id, after + limit)[SK],
            },
        )
        page = next(self._table.query(where))  # at most a megabyte, as much as one response holds
        return [NumberedEvent(_number_of(item), item["type"], item["data"]) for item in page]

    def read_last(self, exploration_id: ExplorationId, *, limit: int) -> Sequence[NumberedEvent]:
        where = begins_with(exploration_id, EVENT)
        page = next(self._table.query(where, newest_first=True, limit=limit))
        return [
            NumberedEvent(_number_of(item), item["type"], item["data"]) for item in reversed(page)
        ]


def _last_number(table: Table, exploration_id: str) -> int:
    """The number of the last event; 0 if there is none."""
    found = next(table.query(begins_with(exploration_id, EVENT), newest_first=True, limit=1))
    return _number_of(found[0]) if found else 0


def check_lease(exploration_id: str, lease: int) -> Check:
    """Fails unless the lease is still the exploration's."""
    return Check(lease_key(exploration_id), Condition("#lease = :lease", {"lease": lease}))


def dump_events(events: Sequence[AnyEvent]) -> list[DumpedEvent]:
    return [DumpedEvent(event.type, dump_stored_event(event)) for event in events]


def split_events(events: Sequence[DumpedEvent]) -> list[Sequence[DumpedEvent]]:
    """Groups that each fit into a transaction with other writes; most often one."""
    groups: list[Sequence[DumpedEvent]] = []
    first, size = 0, 0
    for number, event in enumerate(events):
        size += len(event.data.encode())
        if number - first >= MAX_GROUP or size > MAX_GROUP_BYTES:
            groups.append(events[first:number])
            first, size = number, len(event.data.encode())
    return [*groups, events[first:]]


def event_items(exploration_id: str, events: Sequence[DumpedEvent], *, after: int) -> list[Item]:
    """Events as items, numbered from `after` + 1."""
    return [
        {**event_key(exploration_id, number), "type": event.type, "data": event.data}
        for number, event in enumerate(events, start=after + 1)
    ]


def _number_of(item: Item) -> int:
    return int(item[SK].removeprefix(EVENT))
