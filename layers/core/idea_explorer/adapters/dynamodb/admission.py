"""Who may run now, in DynamoDB: what waits for a slot, and who holds one.

Both are items of the table and not an index: an index lags behind, so counting with it admits too many.
The store of the records writes these items in the same transaction as the record that they follow from.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from idea_explorer.adapters import records
from idea_explorer.adapters.dynamodb.expressions import (
    Check,
    Condition,
    Delete,
    Put,
    Update,
    Write,
    begins_with,
)
from idea_explorer.adapters.dynamodb.schema import EXPIRES, PK, SK, Item, Value, record_key
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.text import hash_text
from idea_explorer.ports.admission import Slots, WaitingExploration

WAITING = "WAITING"
SLOTS = {PK: "SLOTS", SK: "SLOTS"}
TURN_RETENTION = timedelta(days=2)  # whoever started nothing for so long comes first anyway
PAGE = 25  # one read unit's worth; most often all that waits
AFTER_ALL = "~"  # sorts after every time and id
NOT_PAUSED = "attribute_not_exists(#paused)"
HAS_ROOM = "(attribute_not_exists(#holders) OR size(#holders) < :slots)"


class DynamoAdmission:
    def __init__(self, table: Table, may_explore: Callable[[Item], bool]) -> None:
        self._table = table
        self._may_explore = may_explore

    def longest_waiting(self, owner: str | None = None) -> Sequence[WaitingExploration]:
        """The items of an owner sort by time, so each owner's first one is wanted; the rest of an owner
        with many is skipped."""
        if owner is not None:
            where = begins_with(WAITING, f"{_owner_part(owner)}#")
            return self._with_turns(
                [_waiting(item) for item in next(self._table.query(where, limit=1))]
            )
        found: dict[str, WaitingExploration] = {}
        after = ""
        while True:
            page = next(self._table.query(_waiting_after(after), limit=PAGE))
            for item in page:
                found.setdefault(item["owner"], _waiting(item))
            if len(page) < PAGE:
                return self._with_turns(list(found.values()))
            after = f"{_owner_part(page[-1]['owner'])}#{AFTER_ALL}"

    def _with_turns(self, found: Sequence[WaitingExploration]) -> Sequence[WaitingExploration]:
        items = self._table.get_many([_turn_key(waiting.owner) for waiting in found])
        started = {item["owner"]: datetime.fromisoformat(item["started"]) for item in items}
        return [replace(waiting, owner_started=started.get(waiting.owner)) for waiting in found]

    def count_waiting(self) -> int:
        return self._table.count(Condition(f"#{PK} = :partition", {"partition": WAITING}))

    def slots(self) -> Slots:
        item = self._table.get(SLOTS) or {}
        holders = (holder.split(" ", 1) for holder in item.get("holders", ()))
        return Slots(
            holders={ExplorationId(name): owner for name, owner in holders},
            paused="paused" in item,
        )

    def set_paused(self, paused: bool) -> None:
        change = "SET #paused = :yes" if paused else "REMOVE #paused"
        self._table.update(SLOTS, change, {"yes": True} if paused else {}, when="")

    def add_waiting(self, explorations: Sequence[Exploration]) -> int:
        items = [item for exploration in explorations for item in waiting_items(exploration)]
        listed = {item[SK] for item in self._table.get_many([_key_of(item) for item in items])}
        return sum(self._table.put_new(item) for item in items if item[SK] not in listed)

    def forget(self, waiting: WaitingExploration) -> None:
        self._table.delete(_waiting_key(waiting.owner, waiting.since, waiting.id))

    def free_stale_slots(self) -> int:
        holders = self.slots().holders
        items = self._table.get_many([record_key(holder) for holder in holders])
        held_by = {item[PK]: item for item in items}
        return sum(
            self._free_stale_slot(holder, owner, held_by.get(holder))
            for holder, owner in holders.items()
        )

    def _free_stale_slot(self, holder: str, owner: str, item: Item | None) -> bool:
        if item and self._may_explore(item):
            return False
        unchanged = Condition(f"attribute_not_exists(#{PK})", {})
        if item:
            unchanged = Condition("#version = :known", {"known": item["version"]})
        slot = replace(_free_slot(holder, owner), when=f"attribute_exists(#{PK})")
        try:
            self._table.write([slot, Check(record_key(holder), unchanged)])
        except ConditionNotMetError:
            return False  # it has changed meanwhile: whoever changed it saw to its slot
        return True


def waiting_items(exploration: Exploration) -> list[Item]:
    """What lists an exploration as waiting: one item, or none if it does not wait."""
    since = exploration.waiting_since
    if since is None:
        return []
    return [
        {
            **_waiting_key(exploration.owner, since, exploration.id),
            "id": exploration.id,
            "owner": exploration.owner,
            "since": records.format_sortable(since),
        }
    ]


def waiting_writes(before: Exploration, after: Exploration) -> list[Write]:
    """What to write with a change of a record, so that it is listed as waiting exactly while it waits."""
    if before.waiting_since == after.waiting_since:
        return []
    gone = [Delete(_key_of(item)) for item in waiting_items(before)]
    return [*gone, *map(Put, waiting_items(after))]


def record_turn(exploration: Exploration) -> Put:
    """Its owner got a slot now, so the turn is with others."""
    at = exploration.updated_at
    item: Item = {
        **_turn_key(exploration.owner),
        "owner": exploration.owner,
        "started": records.format_sortable(at),
        EXPIRES: int((at + TURN_RETENTION).timestamp()),
    }
    return Put(item)


def take_slot(exploration: Exploration, slots: int) -> Update:
    """Fails unless one of so many slots is free and starting is not paused."""
    holder = frozenset({_holder(exploration.id, exploration.owner)})
    values: dict[str, Value] = {"holder": holder, "slots": slots}
    return Update(SLOTS, "ADD #holders :holder", values, f"{NOT_PAUSED} AND {HAS_ROOM}")


def free_slot(exploration: Exploration) -> Update:
    """Does nothing if it holds none."""
    return _free_slot(exploration.id, exploration.owner)


def _free_slot(exploration_id: str, owner: str) -> Update:
    holder = frozenset({_holder(exploration_id, owner)})
    return Update(SLOTS, "DELETE #holders :holder", {"holder": holder})


def _holder(exploration_id: str, owner: str) -> str:
    return f"{exploration_id} {owner}"


def _waiting_after(position: str) -> Condition:
    if not position:
        return Condition(f"#{PK} = :partition", {"partition": WAITING})
    return Condition(
        f"#{PK} = :partition AND #{SK} > :position", {"partition": WAITING, "position": position}
    )


def _owner_part(owner: str) -> str:
    return hash_text(owner)[:32]  # a name may hold the character that separates the parts


def _waiting_key(owner: str, since: datetime, exploration_id: str) -> dict[str, str]:
    time = records.format_sortable(since)
    return {PK: WAITING, SK: f"{_owner_part(owner)}#{time}#{exploration_id}"}


def _turn_key(owner: str) -> dict[str, str]:
    return {PK: "TURN", SK: _owner_part(owner)}


def _key_of(item: Item) -> dict[str, str]:
    return {PK: item[PK], SK: item[SK]}


def _waiting(item: Item) -> WaitingExploration:
    since = datetime.fromisoformat(item["since"])
    return WaitingExploration(id=ExplorationId(item["id"]), owner=item["owner"], since=since)
