"""Numbers of events: whoever writes number n knows of n - 1, and only one can write it."""

from collections.abc import Sequence

from idea_explorer.adapters.dynamodb.schema import EVENT, PK, SK, Item, event_key
from idea_explorer.adapters.dynamodb.table import Condition, Table
from idea_explorer.adapters.records import fitting
from idea_explorer.domain.events import AnyEvent


def last_number(table: Table, exploration_id: str) -> int:
    """The number of the last event of a history; 0 where there is none."""
    where = Condition(
        f"#{PK} = :id AND begins_with(#{SK}, :event)", {"id": exploration_id, "event": EVENT}
    )
    found = next(table.query(where, newest_first=True, limit=1))
    return number_of(found[0][SK]) if found else 0


def number_of(sort_key: str) -> int:
    return int(sort_key.removeprefix(EVENT))


def event_items(exploration_id: str, events: Sequence[AnyEvent], *, after: int) -> list[Item]:
    """Events as items, numbered from the one that follows `after`."""
    return [
        {**event_key(exploration_id, number), "type": event.type, "data": fitting(event)}
        for number, event in enumerate(events, start=after + 1)
    ]
