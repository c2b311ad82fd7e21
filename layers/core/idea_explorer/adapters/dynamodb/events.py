"""Histories of explorations in DynamoDB: numbered items, one after the other."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from idea_explorer.adapters.dynamodb.explorations import EXISTS, lease_lost
from idea_explorer.adapters.dynamodb.schema import EVENT, PK, SK, event_key, record_key
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.adapters.fitting import fitting
from idea_explorer.domain.errors import MissingError, UnavailableError
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent

ATTEMPTS = 50  # each failure is another writer's event
REMEMBERED = 100  # explorations whose last number this process keeps in mind


class DynamoEventLog:
    """Whoever writes number n knows of n - 1, and only one can write it: no gap, no repeat."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._last: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()  # threads of one run would only refuse each other

    def append(self, exploration_id: ExplorationId, lease: int | None, event: AnyEvent) -> None:
        holds = (
            Condition(EXISTS, {})
            if lease is None
            else Condition("#lease = :lease", {"lease": lease})
        )
        data = fitting(event)
        with self._lock:
            for _ in range(ATTEMPTS):
                number = self._last_number(exploration_id) + 1
                item = {**event_key(exploration_id, number), "type": event.type, "data": data}
                try:
                    self._table.put_new_while(item, record_key(exploration_id), holds)
                except ConditionNotMetError as refused:
                    self._last.pop(exploration_id, None)
                    if 0 not in refused.failed:
                        continue
                    if lease is None:
                        raise MissingError(f"There is no exploration {exploration_id}.") from None
                    raise lease_lost(exploration_id) from refused
                self._remember(exploration_id, number)
                return
        raise UnavailableError(
            f"Exploration {exploration_id} has too many writers.", hint="Try again."
        )

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
        page = next(
            self._table.query(where)
        )  # at most a megabyte, which is as much as one answer holds
        return [NumberedEvent(_number(item[SK]), item["type"], item["data"]) for item in page]

    def _last_number(self, exploration_id: ExplorationId) -> int:
        if exploration_id not in self._last:
            where = Condition(
                f"#{PK} = :id AND begins_with(#{SK}, :event)",
                {"id": exploration_id, "event": EVENT},
            )
            found = next(self._table.query(where, newest_first=True, limit=1))
            self._remember(exploration_id, _number(found[0][SK]) if found else 0)
        return self._last[exploration_id]

    def _remember(self, exploration_id: ExplorationId, number: int) -> None:
        self._last[exploration_id] = number
        self._last.move_to_end(exploration_id)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)


def _number(sort_key: str) -> int:
    return int(sort_key.removeprefix(EVENT))
