"""Transcripts and reports in SQLite."""

from idea_explorer.adapters.records import LeasedTranscript, no_report
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.adapters.sqlite.schema import check_lease
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import Transcript


class SqliteTranscripts(StoreFile):
    def open(self, exploration_id: ExplorationId, lease: int) -> Transcript:
        query = "SELECT data FROM entries WHERE id = ? ORDER BY number"
        entries = (data for (data,) in self._db.rows(query, [exploration_id]))

        def write(number: int, data: bytes) -> None:
            with self._db.transaction() as db:
                check_lease(db, exploration_id, lease)
                db.execute("INSERT INTO entries VALUES (?, ?, ?)", (exploration_id, number, data))

        return LeasedTranscript(entries, write)


class SqliteReports(StoreFile):
    def save_report(self, exploration_id: ExplorationId, lease: int, markdown: str) -> None:
        with self._db.transaction() as db:
            check_lease(db, exploration_id, lease)
            db.execute("INSERT OR REPLACE INTO reports VALUES (?, ?)", (exploration_id, markdown))

    def load_report(self, exploration_id: ExplorationId) -> str:
        row = self._db.row("SELECT markdown FROM reports WHERE id = ?", [exploration_id])
        if row is None:
            raise no_report(exploration_id)
        return str(row[0])
