"""Branch leases in DynamoDB, for publishers that run side by side."""

from idea_explorer.adapters.dynamodb.schema import PK, SK
from idea_explorer.adapters.dynamodb.table import ConditionNotMetError, Table
from idea_explorer.domain.deadline import Clock


class DynamoBranchLease:
    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def acquire(self, branch: str, holder: str, *, seconds: float) -> float:
        now = self._now()
        try:
            self._table.update(
                _key(branch),
                "SET #holder = :holder, #until = :until",
                {"holder": holder, "until": now + seconds, "now": now},
                when=f"attribute_not_exists(#{PK}) OR #until <= :now OR #holder = :holder",
            )
        except ConditionNotMetError as error:
            until = float(error.found["until"]) if error.found else now
            return max(0.001, until - now)
        return 0.0

    def renew(self, branch: str, holder: str, *, seconds: float) -> None:
        self._hold_until(branch, holder, self._now() + seconds)

    def release(self, branch: str, holder: str) -> None:
        self._hold_until(branch, holder, 0.0)

    def _hold_until(self, branch: str, holder: str, until: float) -> None:
        try:
            self._table.update(
                _key(branch),
                "SET #until = :until",
                {"until": until, "holder": holder},
                when="#holder = :holder",
            )
        except ConditionNotMetError:
            return  # another publisher has it by now

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _key(branch: str) -> dict[str, str]:
    return {PK: f"LEASE#{branch}", SK: "LEASE"}
