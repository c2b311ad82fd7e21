"""Writing a record in SQLite, with what follows from it."""

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.adapters import records
from idea_explorer.adapters.sqlite.admission import free_slot, list_waiting
from idea_explorer.adapters.sqlite.database import StoreFile
from idea_explorer.adapters.sqlite.secrets import StoredSecrets
from idea_explorer.domain.exploration import Exploration

if TYPE_CHECKING:
    from idea_explorer.adapters.local_secrets import LocalSecrets


class RecordFile(StoreFile):
    """Base of the stores that write records. With `secrets`, a request's secret is encrypted and stored
    beside the record. Lists leave it out."""

    def __init__(self, path: Path, secrets: "LocalSecrets | None" = None) -> None:
        super().__init__(path)
        self._secrets = StoredSecrets(self._db, secrets)

    def _dump(self, exploration: Exploration) -> str:
        """What `_update` stores; to be called before the transaction, for which others wait."""
        return self._secrets.dump_without(exploration)

    def _update(self, db: sqlite3.Connection, exploration: Exploration, record: str) -> None:
        """Call it in a transaction that has checked the lease."""
        db.execute(
            "UPDATE explorations SET status = ?, record = ? WHERE id = ?",
            (exploration.status, record, exploration.id),
        )
        schedule_delivery(db, exploration)
        list_waiting(db, exploration)
        if not exploration.is_exploring:
            free_slot(db, exploration)


def schedule_delivery(db: sqlite3.Connection, exploration: Exploration) -> None:
    """Store when the exploration's webhook is due, or that none is."""
    if due := exploration.delivery_due:
        row = (exploration.id, records.format_sortable(due))
        db.execute("INSERT OR REPLACE INTO deliveries VALUES (?, ?)", row)
    else:
        db.execute("DELETE FROM deliveries WHERE id = ?", (exploration.id,))
