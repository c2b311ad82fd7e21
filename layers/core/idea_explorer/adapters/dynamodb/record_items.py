"""A record as an item of the table, and what a change of it writes."""

import zlib

from idea_explorer.adapters import records
from idea_explorer.adapters.dynamodb.admission import free_slot
from idea_explorer.adapters.dynamodb.expressions import Condition, Update, Write
from idea_explorer.adapters.dynamodb.schema import (
    ACTIVE,
    UNDELIVERED,
    UPDATED,
    Item,
    Value,
    record_key,
)
from idea_explorer.domain.exploration import Exploration


def update_record(after: Exploration, values: dict[str, Value], when: Condition) -> Update:
    active = active_attribute(after)
    changes = {**values, **record_attributes(after), **active}
    sets = ", ".join(f"#{name} = :{name}" for name in changes)
    removes = "" if active else f" REMOVE #{ACTIVE}"
    return Update(
        record_key(after.id),
        f"SET {sets}{removes} ADD #version :one",
        {**changes, **when.values, "one": 1},
        when=when.expression,
    )


def save_record(exploration: Exploration) -> list[Write]:
    """Under the lease of the exploration, which the first of the writes checks."""
    held = Condition("#lease = :held", {"held": exploration.lease})
    update = update_record(exploration, {}, held)
    return [update] if exploration.is_exploring else [update, free_slot(exploration)]


def restore(item: Item) -> Exploration:
    record = zlib.decompress(item["record"])
    return records.restore_exploration(record, item["lease"], item["cancel_requested"])


def may_explore(item: Item) -> bool:
    return records.may_explore(zlib.decompress(item["record"]))


def record_attributes(exploration: Exploration) -> dict[str, Value]:
    return {
        "status": exploration.status,
        UPDATED: records.format_sortable(exploration.delivery_due or exploration.updated_at),
        "record": zlib.compress(exploration.model_dump_json().encode()),
    }


def active_attribute(exploration: Exploration) -> dict[str, Value]:
    if exploration.delivery_due:
        return {ACTIVE: UNDELIVERED}
    return {} if exploration.is_final else {ACTIVE: exploration.status}
