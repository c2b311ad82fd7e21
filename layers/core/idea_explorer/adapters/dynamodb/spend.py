"""What owners have spent and reserved, in DynamoDB: one item per run and day, summed on demand."""

import math
from datetime import UTC, date, datetime, time, timedelta

from idea_explorer.adapters.dynamodb.expressions import Condition, Put, Update
from idea_explorer.adapters.dynamodb.schema import EXPIRES, PK, SK, Item
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.usage import limit_hold

RETENTION = timedelta(days=35)  # long enough to compare with a month's invoice
TURN = "TURN"
ATTEMPTS = 50  # far more than the runs that one owner can start at the same moment


class DynamoSpend:
    def __init__(self, table: Table) -> None:
        self._table = table

    def reserve(self, owner: str, day: date, run: str, usd: float, *, limit: float) -> float:
        """Every reservation increments the day's turn; one that was overtaken reads the day again."""
        for _ in range(ATTEMPTS):
            items = {item[SK]: item for item in self._items(owner, day)}
            turn = items.pop(TURN, {}).get("turn", 0)
            own = items.pop(run, {})
            held = limit_hold(usd, limit, map(_taken, items.values()))
            item = {PK: _partition(owner, day), SK: run, "usd": own.get("usd", 0), "held": held}
            try:
                next_turn = Update(
                    {PK: _partition(owner, day), SK: TURN},
                    f"SET #turn = :next, #{EXPIRES} = :expires",
                    {"next": turn + 1, "seen": turn, "expires": _expires(day)},
                    when="attribute_not_exists(#turn) OR #turn = :seen",
                )
                self._table.write([next_turn, Put(item | {EXPIRES: _expires(day)})])
            except ConditionNotMetError:
                continue
            return held
        raise RateLimitedError(
            "Too many runs of one owner are starting at once.", hint="Try again."
        )

    def record(self, owner: str, day: date, run: str, usd: float) -> None:
        try:
            self._table.update(
                {PK: _partition(owner, day), SK: run},
                f"SET #usd = :usd, #held = :none, #{EXPIRES} = :expires",
                {"usd": usd, "none": 0, "expires": _expires(day)},
                when="attribute_not_exists(#usd) OR #usd <= :usd",
            )
        except ConditionNotMetError:
            return  # a higher amount is recorded already

    def spent(self, owner: str, day: date) -> float:
        return math.fsum(map(_taken, self._items(owner, day)))

    def _items(self, owner: str, day: date) -> list[Item]:
        where = Condition(f"#{PK} = :partition", {"partition": _partition(owner, day)})
        return self._table.query_all(where)


def _taken(item: Item) -> float:
    return max(float(item.get("usd", 0)), float(item.get("held", 0)))


def _partition(owner: str, day: date) -> str:
    return f"SPEND#{day.isoformat()}#{owner}"


def _expires(day: date) -> int:
    return int((datetime.combine(day, time.min, UTC) + RETENTION).timestamp())
