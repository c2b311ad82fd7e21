"""What owners have spent, in DynamoDB: one item per run and day, summed when asked."""

import math
from datetime import UTC, date, datetime, time, timedelta

from idea_explorer.adapters.dynamodb.schema import EXPIRES, PK, SK
from idea_explorer.adapters.dynamodb.table import Condition, Table

KEPT = timedelta(days=35)  # long enough to compare with a month's invoice


class DynamoSpend:
    def __init__(self, table: Table) -> None:
        self._table = table

    def record(self, owner: str, day: date, run: str, usd: float) -> None:
        expires = datetime.combine(day, time.min, UTC) + KEPT
        self._table.put(
            {
                PK: _partition(owner, day),
                SK: run,
                "usd": usd,
                EXPIRES: int(expires.timestamp()),
            }
        )

    def spent(self, owner: str, day: date) -> float:
        where = Condition(f"#{PK} = :partition", {"partition": _partition(owner, day)})
        return math.fsum(item["usd"] for page in self._table.query(where) for item in page)


def _partition(owner: str, day: date) -> str:
    return f"SPEND#{day.isoformat()}#{owner}"
