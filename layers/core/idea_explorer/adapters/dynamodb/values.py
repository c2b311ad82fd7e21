"""DynamoDB's spelling of plain values, there and back."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Value: TypeAlias = str | int | float | bytes | bool
Item: TypeAlias = dict[str, Any]


def encoded(values: Mapping[str, Value]) -> Item:
    return {name: _encoded(value) for name, value in values.items()}


def decoded(item: Mapping[str, Any]) -> Item:
    return {name: _decoded(value) for name, value in item.items()}


def placeholders(*tables: Mapping[str, Value]) -> Item:
    """Values as expressions name them."""
    return {f":{name}": _encoded(value) for table in tables for name, value in table.items()}


def _encoded(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case _:
            return {"N": repr(value)}


def _decoded(value: Mapping[str, Any]) -> Value:
    ((kind, content),) = value.items()
    if kind == "N":
        return float(content) if set(content) & set(".eE") else int(content)
    plain: Value = content
    return plain
