"""Records of explorations in DynamoDB: one item each, changed only under conditions."""

import uuid
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime

from idea_explorer.adapters.dynamodb.numbers import event_items, last_number
from idea_explorer.adapters.dynamodb.schema import (
    ACTIVE,
    BY_OWNER,
    BY_STATUS,
    CREATED,
    OWNER,
    PK,
    UNDELIVERED,
    UPDATED,
    Item,
    Value,
    record_key,
)
from idea_explorer.adapters.dynamodb.table import Condition, ConditionNotMetError, Table
from idea_explorer.adapters.records import by_due, cursor_at, position_in, position_of, sortable
from idea_explorer.domain.errors import LeaseLostError, MissingError, UnavailableError
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.ports import ExplorationPage, Filter

EXISTS = f"attribute_exists(#{PK})"
ATTEMPTS = 50  # each failure is another's success, and those are few


class DynamoExplorations:
    """`version` grows with every change of a record, `lease` with every take-over."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        record: Item = {
            **record_key(exploration.id),
            OWNER: exploration.owner,
            CREATED: position_of(exploration),
            "mode": exploration.request.mode,
            "toolset": exploration.request.toolset,
            "cancel_requested": exploration.cancel_requested,
            "version": 1,
            "lease": exploration.lease,
            **_changing(exploration),
            **_active(exploration),
        }
        if not events:
            return self._table.put_new(record)
        return self._table.put_all_new([record, *event_items(exploration.id, events, after=0)])

    def load(self, exploration_id: ExplorationId) -> Exploration:
        return _exploration(self._item(exploration_id))

    def take_over(
        self,
        exploration_id: ExplorationId,
        change: Callable[[Exploration], Exploration],
        tell: Callable[[Exploration, Exploration], Sequence[AnyEvent]] = lambda *_: (),
    ) -> Exploration:
        for _ in range(ATTEMPTS):
            item = self._item(exploration_id)
            before = _exploration(item)
            after = change(before).replace(lease=before.lease + 1)
            taker = uuid.uuid4().hex
            values: dict[str, Value] = {
                "lease": after.lease,
                "cancel_requested": after.cancel_requested,
                "taker": taker,
            }
            when = Condition("#version = :known", {"known": item["version"]})
            try:
                self._update(after, values, when, tell(before, after))
            except ConditionNotMetError as refused:
                # Refused by our own write, when its answer was lost and the client sent it again.
                if refused.found is None or refused.found.get("taker") != taker:
                    continue
            return after
        raise _too_many_writers(exploration_id)

    def save(self, exploration: Exploration, events: Sequence[AnyEvent] = ()) -> None:
        held = Condition("#lease = :held", {"held": exploration.lease})
        for _ in range(ATTEMPTS):
            try:
                self._update(exploration, {}, held, events)
            except ConditionNotMetError as refused:
                if 0 in refused.failed:
                    raise lease_lost(exploration.id) from refused
                continue  # somebody else's event has the number
            return
        raise _too_many_writers(exploration.id)

    def request_cancel(self, exploration_id: ExplorationId) -> None:
        try:
            self._table.update(
                record_key(exploration_id),
                "SET #cancel_requested = :yes ADD #version :one",
                {"yes": True, "one": 1},
                when=EXISTS,
            )
        except ConditionNotMetError as refused:
            raise _missing(exploration_id) from refused

    def is_cancelled(self, exploration_id: ExplorationId) -> bool:
        item = self._table.get(record_key(exploration_id), "cancel_requested")
        return bool(item and item["cancel_requested"])

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        where = Condition(f"#{OWNER} = :owner", {"owner": owner})
        if cursor is not None:
            values = {**where.values, "position": position_in(cursor)}
            where = Condition(f"{where.expression} AND #{CREATED} < :position", values)
        found: list[Item] = []
        for items in self._table.query(
            where, index=BY_OWNER, only=_filter(wanted), newest_first=True
        ):
            found += items
            if len(found) > limit:
                break
        keys = [record_key(item[PK]) for item in found[:limit]]
        listed = [_exploration(item) for item in self._table.get_many(keys)]
        return ExplorationPage(
            # The index lags a little behind; the records themselves are up to date.
            [e for e in listed if wanted.status in {None, e.status}],
            cursor_at(found[limit - 1][CREATED]) if len(found) > limit else None,
        )

    def count_running(self) -> int:
        where = Condition(f"#{ACTIVE} = :status", {"status": "running"})
        return sum(len(found) for found in self._table.query(where, index=BY_STATUS))

    def unchanged_since(self, status: Status, moment: datetime) -> Sequence[Exploration]:
        where = Condition(
            f"#{ACTIVE} = :status AND #{UPDATED} < :moment",
            {"status": status, "moment": sortable(moment)},
        )
        keys = [
            record_key(item[PK])
            for found in self._table.query(where, index=BY_STATUS)
            for item in found
        ]
        found = [_exploration(item) for item in self._table.get_many(keys)]
        return [e for e in found if e.status == status and e.updated_at < moment]

    def due_deliveries(self, moment: datetime) -> Sequence[Exploration]:
        where = Condition(
            f"#{ACTIVE} = :undelivered AND #{UPDATED} < :moment",
            {"undelivered": UNDELIVERED, "moment": sortable(moment)},
        )
        keys = [
            record_key(item[PK])
            for found in self._table.query(where, index=BY_STATUS)
            for item in found
        ]
        return by_due([_exploration(item) for item in self._table.get_many(keys)], moment)

    def _item(self, exploration_id: ExplorationId) -> Item:
        item = self._table.get(record_key(exploration_id))
        if item is None:
            raise _missing(exploration_id)
        return item

    def _update(
        self,
        after: Exploration,
        values: dict[str, Value],
        when: Condition,
        events: Sequence[AnyEvent],
    ) -> None:
        changes = {**values, **_changing(after), **_active(after)}
        sets = ", ".join(f"#{name} = :{name}" for name in changes)
        removes = "" if _active(after) else f" REMOVE #{ACTIVE}"
        key, change = record_key(after.id), f"SET {sets}{removes} ADD #version :one"
        given = {**changes, **when.values, "one": 1}
        if not events:
            self._table.update(key, change, given, when=when.expression)
            return
        new = event_items(after.id, events, after=last_number(self._table, after.id))
        self._table.update_with(key, change, given, when=when.expression, new=new)


def lease_lost(exploration_id: str) -> LeaseLostError:
    return LeaseLostError(f"Another worker has taken exploration {exploration_id} over.")


def _too_many_writers(exploration_id: str) -> UnavailableError:
    return UnavailableError(
        f"Exploration {exploration_id} is being changed by many at once.", hint="Try again."
    )


def _missing(exploration_id: str) -> MissingError:
    return MissingError(f"There is no exploration {exploration_id}.")


def _exploration(item: Item) -> Exploration:
    """The item's own attributes decide: a cancel request changes no record."""
    exploration = Exploration.model_validate_json(zlib.decompress(item["record"]))
    current = {"lease": item["lease"], "cancel_requested": item["cancel_requested"]}
    return exploration.replace(**current)


def _changing(exploration: Exploration) -> dict[str, Value]:
    return {
        "status": exploration.status,
        UPDATED: sortable(exploration.delivery_due or exploration.updated_at),
        "record": zlib.compress(exploration.model_dump_json().encode()),
    }


def _active(exploration: Exploration) -> dict[str, Value]:
    if exploration.delivery_due:
        return {ACTIVE: UNDELIVERED}
    return {} if exploration.is_final else {ACTIVE: exploration.status}


def _filter(wanted: Filter) -> Condition | None:
    given = {"status": wanted.status, "mode": wanted.mode, "toolset": wanted.toolset}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        return None
    return Condition(" AND ".join(f"#{name} = :{name}" for name in values), values)
