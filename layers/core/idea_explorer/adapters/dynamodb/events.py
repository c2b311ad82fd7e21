"""Event histories of explorations in DynamoDB: numbered items, one after the other.

Whoever writes number n has seen n - 1, and only one writer can create an item. So the numbers have no
gap and no repeat, however many write.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from idea_explorer.adapters.dynamodb.expressions import Condition, begins_with
from idea_explorer.adapters.dynamodb.schema import (
    EVENT,
    EXISTS,
    PK,
    SK,
    Item,
    event_key,
    record_key,
)
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.adapters.records import (
    lease_lost,
    no_such_exploration,
    too_many_writers,
    truncate_event,
)
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent

ATTEMPTS = 50  # each failure is another writer's event
REMEMBERED = 100  # explorations whose last number this process remembers


class DynamoEventLog:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._last: OrderedDict[str, int] = OrderedDict()
        # without it the threads of a run would collide on every number
        self._lock = threading.Lock()

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        condition = (
            Condition(EXISTS, {})
            if lease is None
            else Condition("#lease = :lease", {"lease": lease})
        )
        with self._lock:
            for _ in range(ATTEMPTS):
                last = self._last_number(exploration_id)
                (item,) = event_items(exploration_id, [event], after=last)
                try:
                    self._table.put_new_while(item, record_key(exploration_id), condition)
                except ConditionNotMetError as refused:
                    self._last.pop(exploration_id, None)
                    if 0 not in refused.failed:
                        continue
                    if lease is None:
                        raise no_such_exploration(exploration_id) from None
                    raise lease_lost(exploration_id) from refused
                self._remember(exploration_id, last + 1)
                return
        raise too_many_writers(exploration_id)

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

    def _last_number(self, exploration_id: ExplorationId) -> int:
        if exploration_id not in self._last:
            self._remember(exploration_id, last_number(self._table, exploration_id))
        return self._last[exploration_id]

    def _remember(self, exploration_id: ExplorationId, number: int) -> None:
        self._last[exploration_id] = number
        self._last.move_to_end(exploration_id)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)


def last_number(table: Table, exploration_id: str) -> int:
    """The number of the last event; 0 if there is none."""
    found = next(table.query(begins_with(exploration_id, EVENT), newest_first=True, limit=1))
    return _number_of(found[0]) if found else 0


def event_items(exploration_id: str, events: Sequence[AnyEvent], *, after: int) -> list[Item]:
    """Events as items, numbered from `after` + 1."""
    return [
        {**event_key(exploration_id, number), "type": event.type, "data": truncate_event(event)}
        for number, event in enumerate(events, start=after + 1)
    ]


def _number_of(item: Item) -> int:
    return int(item[SK].removeprefix(EVENT))
