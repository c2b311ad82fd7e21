"""How many streams of events are open: one item with the slots that are taken.

Each slot says when it ends, so that a function which is killed occupies none for good.
"""

import math
import uuid

from idea_explorer.adapters.dynamodb.schema import PK, SK
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.domain.deadline import Clock

KEY = {PK: "STREAMS", SK: "STREAMS"}
ATTEMPTS = 5  # each failure is another stream that was opened or closed


class DynamoStreamSlots:
    def __init__(self, table: Table, clock: Clock, count: int) -> None:
        self._table = table
        self._clock = clock
        self._count = count

    def take(self, *, seconds: float) -> str | None:
        for _ in range(ATTEMPTS):
            now = self._clock.now().timestamp()
            item = self._table.get(KEY) or {}
            taken: frozenset[str] = item.get("slots", frozenset())
            still_taken = frozenset(slot for slot in taken if _end_of(slot) > now)
            if len(still_taken) >= self._count:
                return None
            slot = f"{math.ceil(now + seconds)}#{uuid.uuid4()}"
            turn = item.get("turn", 0)
            try:
                self._table.update(
                    KEY,
                    "SET #slots = :slots, #turn = :next",
                    {"slots": still_taken | {slot}, "next": turn + 1, "turn": turn},
                    when="attribute_not_exists(#turn) OR #turn = :turn",
                )
            except ConditionNotMetError:
                continue
            return slot
        return None

    def release(self, slot: str) -> None:
        self._table.update(
            KEY,
            "DELETE #slots :slot ADD #turn :one",
            {"slot": frozenset({slot}), "one": 1},
            when="",
        )


def _end_of(slot: str) -> int:
    return int(slot.partition("#")[0])
