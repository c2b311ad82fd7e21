"""The secrets of requests in SQLite, encrypted, in a table of their own."""

import sqlite3
from typing import TYPE_CHECKING

from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import UNREADABLE_SECRET

if TYPE_CHECKING:
    from idea_explorer.adapters.local_secrets import LocalSecrets

# the file's user_version once nothing in it holds a secret as plain text; 1: free pages still may
ENCRYPTED = 2
_FIND_PLAIN = """
SELECT id, json_extract(record, '$.request.callback_secret') AS plain FROM explorations
WHERE plain IS NOT NULL"""
_REMOVE_PLAIN = """
UPDATE explorations SET record = json_set(record, '$.request.callback_secret', NULL)
WHERE id = ? AND json_extract(record, '$.request.callback_secret') = ?"""


class StoredSecrets:
    """Without `secrets`, a request's secret stays in its record: under `sam local`, in a container that is
    thrown away."""

    def __init__(self, db: Database, secrets: "LocalSecrets | None") -> None:
        self._db = db
        self._secrets = secrets
        if secrets and self._db.rows("PRAGMA user_version") < [(ENCRYPTED,)]:
            self._encrypt_plain(secrets)

    def encrypt(self, exploration: Exploration) -> bytes | None:
        """Raises ConfigurationError where there is no key."""
        secret = exploration.request.callback_secret
        if self._secrets is None or secret is None:
            return None
        return self._secrets.encrypt(secret, exploration.id)

    def store(
        self, db: sqlite3.Connection, exploration_id: ExplorationId, encrypted: bytes | None
    ) -> None:
        if encrypted is not None:
            row = (exploration_id, encrypted)
            db.execute("INSERT OR REPLACE INTO callback_secrets VALUES (?, ?)", row)

    def dump_without(self, exploration: Exploration) -> str:
        """The record without what is stored here."""
        secret = exploration.request.callback_secret
        if secret is None or (self._secrets is None and secret != UNREADABLE_SECRET):
            return exploration.model_dump_json()
        return _with_secret(exploration, None).model_dump_json()

    def restore(self, exploration: Exploration) -> Exploration:
        """The exploration with its secret, or with UNREADABLE_SECRET."""
        query = "SELECT encrypted FROM callback_secrets WHERE id = ?"
        row = self._db.row(query, [exploration.id])
        if row is None:
            return exploration
        secret = self._secrets.decrypt(row[0], exploration.id) if self._secrets else None
        return _with_secret(exploration, UNREADABLE_SECRET if secret is None else secret)

    def _encrypt_plain(self, secrets: "LocalSecrets") -> None:
        """Encrypt what an earlier version stored as plain text, and leave nothing of that in the file. What
        cannot be done now is done at the next start."""
        try:
            # before the transaction: a slow keyring must not keep others from writing
            found = self._db.rows(_FIND_PLAIN)
            self._replace([(name, plain, secrets.encrypt(plain, name)) for name, plain in found])
            self._db.rows("VACUUM")  # free pages and the ends of pages hold what was there before
            ((busy, *_),) = self._db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            if not busy and not self._db.rows(_FIND_PLAIN):
                self._db.rows(f"PRAGMA user_version = {ENCRYPTED}")
        except (ConfigurationError, sqlite3.OperationalError):
            return  # no key, others who use the file, or too little space

    def _replace(self, rows: list[tuple[ExplorationId, str, bytes]]) -> None:
        with self._db.transaction() as db:
            for name, plain, encrypted in rows:
                # or another process was faster
                if db.execute(_REMOVE_PLAIN, (name, plain)).rowcount:
                    self.store(db, name, encrypted)


def _with_secret(exploration: Exploration, secret: str | None) -> Exploration:
    request = exploration.request.model_copy(update={"callback_secret": secret})
    return exploration.replace(request=request)
