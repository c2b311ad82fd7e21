"""Conditions and writes, as a transaction on the table takes them."""

from collections.abc import Mapping
from typing import TypeAlias

from idea_explorer.adapters.dynamodb.schema import PK, SK, Value
from idea_explorer.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that uses `#name` for an attribute and `:name` for a value."""

    expression: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Put:
    """Store an item, replacing any that is there."""

    item: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Create:
    """Store an item; fails if its key is taken."""

    item: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Delete:
    key: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Update:
    """Change an item, on a condition if there is one."""

    key: Mapping[str, str]
    change: str
    values: Mapping[str, Value]
    when: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Write nothing, but let the transaction fail unless an item meets a condition."""

    key: Mapping[str, str]
    condition: Condition


Write: TypeAlias = Put | Create | Delete | Update | Check


def begins_with(partition: str, prefix: str) -> Condition:
    """The items of a partition whose sort key begins with a prefix."""
    values = {"partition": partition, "prefix": prefix}
    return Condition(f"#{PK} = :partition AND begins_with(#{SK}, :prefix)", values)
