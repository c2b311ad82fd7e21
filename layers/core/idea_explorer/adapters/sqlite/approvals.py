"""Requests for decisions, and the decisions, in SQLite."""

from collections.abc import Sequence
from pathlib import Path

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.ids import ExplorationId

SCHEMA = """
CREATE TABLE IF NOT EXISTS approvals (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, exploration_id TEXT NOT NULL,
    decided INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS approvals_of ON approvals (exploration_id, number);
CREATE TABLE IF NOT EXISTS approval_tokens (exploration_id TEXT PRIMARY KEY, token TEXT NOT NULL);
"""


class SqliteApprovals:
    def __init__(self, path: Path) -> None:
        self._db = Database(path, SCHEMA)

    def request_approval(self, approval: Approval) -> None:
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO approvals (id, exploration_id, decided, record)"
                " VALUES (?, ?, 0, ?)",
                (approval.id, approval.exploration_id, approval.model_dump_json()),
            )

    def approvals(self, exploration_id: ExplorationId) -> Sequence[Approval]:
        rows = self._db.rows(
            "SELECT record FROM approvals WHERE exploration_id = ? ORDER BY number",
            [exploration_id],
        )
        return [Approval.model_validate_json(record) for (record,) in rows]

    def decide(self, decided: Approval) -> Approval:
        with self._db.transaction() as db:
            db.execute(
                "UPDATE approvals SET decided = 1, record = ? WHERE id = ? AND decided = 0",
                (decided.model_dump_json(), decided.id),
            )
            row = self._db.row("SELECT record FROM approvals WHERE id = ?", [decided.id])
        if row is None:
            raise MissingError(f"Nobody asked for {decided.id}.")
        return Approval.model_validate_json(row[0])

    def keep_token(self, exploration_id: ExplorationId, token: str) -> None:
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO approval_tokens VALUES (?, ?)", (exploration_id, token)
            )

    def token(self, exploration_id: ExplorationId) -> str | None:
        row = self._db.row(
            "SELECT token FROM approval_tokens WHERE exploration_id = ?", [exploration_id]
        )
        return str(row[0]) if row else None
