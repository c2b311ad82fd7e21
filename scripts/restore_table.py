"""Brings a stack's table back to what a restored copy of it holds.

    .venv/bin/python -m scripts.restore_table STACK RESTORED_TABLE [--write]

Point-in-time recovery makes a new table, and a stack keeps its own. So the items are copied: those that
differ or are missing are written, and those that the copy does not have are deleted. Without --write it
only counts. Pause the stack first: nothing may run meanwhile. Who waits and who holds a slot is left as it
is; the sweeps after it repair that from the records. A run that has ended since is marked failed, and can be
resumed.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import boto3

ADMISSION = {"WAITING", "SLOTS"}
Key = tuple[str, str]


def main() -> int:
    arguments = _parse()
    stacks, tables = boto3.client("cloudformation"), boto3.resource("dynamodb")
    outputs = stacks.describe_stacks(StackName=arguments.stack)["Stacks"][0]["Outputs"]
    names = {output["OutputKey"]: output["OutputValue"] for output in outputs}
    live, restored = tables.Table(names["TableName"]), tables.Table(arguments.restored)
    slots = live.get_item(Key={"pk": "SLOTS", "sk": "SLOTS"}, ConsistentRead=True).get("Item", {})
    if arguments.write and "paused" not in slots:
        print(f"{arguments.stack} is not paused. Run: idea admin pause", file=sys.stderr)
        return 1
    if arguments.write and slots.get("holders"):
        count = len(slots["holders"])
        print(f"{count} explorations still run. Wait until they have ended.", file=sys.stderr)
        return 1
    changed, surplus = _differences(live, restored)
    if arguments.write:
        with live.batch_writer() as batch:
            for item in changed:
                batch.put_item(Item=item)
            for pk, sk in surplus:
                batch.delete_item(Key={"pk": pk, "sk": sk})
    verb = "Wrote" if arguments.write else "Would write"
    print(f"{verb} {len(changed)} items and delete {len(surplus)}.")
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="restore_table")
    parser.add_argument("stack")
    parser.add_argument("restored", help="the table that point-in-time recovery made")
    parser.add_argument("--write", action="store_true", help="change the stack's table")
    return parser.parse_args()


def _differences(live: Any, restored: Any) -> tuple[list[dict[str, Any]], list[Key]]:
    now = {_key(item): item for item in _items(live)}
    then = {_key(item): item for item in _items(restored)}
    changed = [item for key, item in then.items() if now.get(key) != item]
    return changed, [key for key in now if key not in then]


def _items(table: Any) -> Iterator[dict[str, Any]]:
    pages = table.meta.client.get_paginator("scan")
    for page in pages.paginate(TableName=table.name, ConsistentRead=True):
        yield from (item for item in page["Items"] if item["pk"] not in ADMISSION)


def _key(item: dict[str, Any]) -> Key:
    return item["pk"], item["sk"]


if __name__ == "__main__":
    sys.exit(main())
