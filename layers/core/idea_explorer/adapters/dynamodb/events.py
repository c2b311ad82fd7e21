"""Histories of explorations in DynamoDB: numbered items, one after the other."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from idea_explorer.adapters.dynamodb.explorations import EXISTS, lease_lost
from idea_explorer.adapters.dynamodb.numbers import event_items, last_number, number_of
from idea_explorer.adapters.dynamodb.schema import PK, SK, event_key, record_key
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.domain.errors import MissingError, UnavailableError
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import NumberedEvent

ATTEMPTS = 50  # each failure is another writer's event
REMEMBERED = 100  # explorations whose last number this process keeps in mind


class DynamoEventLog:
    """No gap and no repeat among the numbers, however many write."""

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
        with self._lock:
            for _ in range(ATTEMPTS):
                last = self._last_number(exploration_id)
                (item,) = event_items(exploration_id, [event], after=last)
                try:
                    self._table.put_new_while(item, record_key(exploration_id), holds)
                except ConditionNotMetError as refused:
                    self._last.pop(exploration_id, None)
                    if 0 not in refused.failed:
                        continue
                    if lease is None:
                        raise MissingError(f"There is no exploration {exploration_id}.") from None
                    raise lease_lost(exploration_id) from refused
                self._remember(exploration_id, last + 1)
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
        return [NumberedEvent(number_of(item[SK]), item["type"], item["data"]) for item in page]

    def _last_number(self, exploration_id: ExplorationId) -> int:
        if exploration_id not in self._last:
            self._remember(exploration_id, last_number(self._table, exploration_id))
        return self._last[exploration_id]

    def _remember(self, exploration_id: ExplorationId, number: int) -> None:
        self._last[exploration_id] = number
        self._last.move_to_end(exploration_id)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
