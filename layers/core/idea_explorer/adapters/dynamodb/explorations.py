"""Exploration records in DynamoDB: one item each, written only on conditions."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from idea_explorer.adapters import records
from idea_explorer.adapters.dynamodb.admission import (
    DynamoAdmission,
    free_slot,
    record_turn,
    take_slot,
    waiting_items,
    waiting_writes,
)
from idea_explorer.adapters.dynamodb.events import EventNumbers, dump_events, event_items
from idea_explorer.adapters.dynamodb.expressions import Condition, Put, Write
from idea_explorer.adapters.dynamodb.record_items import (
    active_attribute,
    may_explore,
    record_attributes,
    restore,
    save_record,
    update_record,
)
from idea_explorer.adapters.dynamodb.schema import (
    ACTIVE,
    BY_OWNER,
    BY_STATUS,
    CREATED,
    EXISTS,
    OWNER,
    PK,
    UNDELIVERED,
    UPDATED,
    Item,
    Value,
    lease_key,
    record_key,
)
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.ports.stores import (
    EventsOfChange,
    ExplorationPage,
    Filter,
    RecordChange,
    no_events,
)

ATTEMPTS = 50  # each failure is another writer's success, and writers are few
FILTERED_AT_ONCE = 500  # most filters find a page among so many; entries of the index are small


class DynamoExplorations:
    """`version` increases with every write of a record, `lease` with every take-over."""

    def __init__(self, table: Table, numbers: EventNumbers | None = None) -> None:
        self._table = table
        self._numbers = numbers or EventNumbers(table)

    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        record: Item = {
            **record_key(exploration.id),
            **_list_attributes(exploration),
            "mode": exploration.request.mode,
            "toolset": exploration.request.toolset,
            "cancel_requested": exploration.cancel_requested,
            "version": 1,
            "lease": exploration.lease,
            **record_attributes(exploration),
            **active_attribute(exploration),
        }
        first_events = event_items(exploration.id, dump_events(events), after=0)
        return self._table.put_new(record, *first_events, *waiting_items(exploration))

    def load(self, exploration_id: ExplorationId) -> Exploration:
        return restore(self._get(exploration_id))

    @property
    def admission(self) -> DynamoAdmission:
        return DynamoAdmission(self._table, may_explore)

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: RecordChange,
        tell: EventsOfChange = no_events,
        *,
        slots: int | None = None,
    ) -> Exploration:
        for _ in range(ATTEMPTS):
            item = self._get(exploration_id)
            before = restore(item)
            after = records.change_and_lease(before, change)
            values: dict[str, Value] = {
                "lease": after.lease,
                "cancel_requested": after.cancel_requested,
            }
            when = Condition("#version = :known", {"known": item["version"]})
            slot = _slot_writes(before, after, slots)
            writes: list[Write] = [
                update_record(after, values, when),
                Put({**lease_key(after.id), "lease": after.lease}),
                *waiting_writes(before, after),
                *slot,
            ]
            try:
                self._numbers.write(after.id, writes, dump_events(tell(before, after)))
            except ConditionNotMetError as refused:
                # taking a slot is the last of them; freeing one has no condition
                if refused.failed == [len(writes) - 1]:
                    raise records.no_free_slot(exploration_id) from refused
                continue
            return after
        raise records.too_many_writers(exploration_id)

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        try:
            self._numbers.write(exploration.id, save_record(exploration), dump_events(events))
        except ConditionNotMetError as refused:
            raise records.lease_lost(exploration.id) from refused

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        try:
            self._table.update(
                record_key(exploration_id),
                "SET #cancel_requested = :yes ADD #version :one",
                {"yes": True, "one": 1},
                when=EXISTS,
            )
        except ConditionNotMetError as refused:
            raise records.no_such_exploration(exploration_id) from refused

    def is_cancelled(self, exploration_id: ExplorationId) -> bool:
        item = self._table.get(record_key(exploration_id), "cancel_requested")
        return bool(item and item["cancel_requested"])

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        where = Condition(f"#{OWNER} = :owner", {"owner": owner})
        if cursor is not None:
            values = {**where.values, "position": records.decode_cursor(cursor)}
            where = Condition(f"{where.expression} AND #{CREATED} < :position", values)
        only = _filter(wanted)
        read = FILTERED_AT_ONCE if only else limit + 1
        found: list[Item] = []
        for items in self._table.query(
            where, index=BY_OWNER, only=only, newest_first=True, limit=read
        ):
            found += items
            if len(found) > limit:
                break
        keys = [record_key(item[PK]) for item in found[:limit]]
        listed, left_out = records.restore_page(self._table.get_many(keys), restore)
        return ExplorationPage(
            # The index lags behind a little; the records themselves are current.
            [e for e in listed if wanted.status in {None, e.status}],
            records.encode_cursor(found[limit - 1][CREATED]) if len(found) > limit else None,
            left_out,
        )

    def unchanged_since(
        self, status: Status, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        found = self._find_active(status, moment, limit)
        return records.select_unchanged(found, status, moment)

    def due_deliveries(
        self, moment: datetime, *, limit: int | None = None
    ) -> Sequence[Exploration]:
        return records.select_overdue(self._find_active(UNDELIVERED, moment, limit), moment)

    def _find_active(self, active: str, before: datetime, limit: int | None) -> list[Exploration]:
        where = Condition(
            f"#{ACTIVE} = :active AND #{UPDATED} < :moment",
            {"active": active, "moment": records.format_sortable(before)},
        )
        pages = self._table.query(where, index=BY_STATUS, limit=limit)
        items = islice((item for page in pages for item in page), limit)
        stored = self._table.get_many([record_key(i[PK]) for i in items])
        return [*records.restore_readable(stored, restore)]

    def _get(self, exploration_id: ExplorationId) -> Item:
        item = self._table.get(record_key(exploration_id))
        if item is None:
            raise records.no_such_exploration(exploration_id)
        return item


def _slot_writes(before: Exploration, after: Exploration, slots: int | None) -> list[Write]:
    if after.is_exploring and slots is not None:
        return [record_turn(after), take_slot(after, slots)]
    return [free_slot(after)] if before.is_exploring and not after.is_exploring else []


def _list_attributes(exploration: Exploration) -> dict[str, Value]:
    """What puts it on its owner's list: an index leaves out items without its keys."""
    position = records.list_position(exploration)
    return {OWNER: exploration.owner, CREATED: position} if position else {}


def _filter(wanted: Filter) -> Condition | None:
    given = {"status": wanted.status, "mode": wanted.mode, "toolset": wanted.toolset}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        return None
    return Condition(" AND ".join(f"#{name} = :{name}" for name in values), values)
