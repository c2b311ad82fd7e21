"""The tables of a store file. Files that earlier versions wrote must keep opening: only add to this."""

import sqlite3

from idea_explorer.adapters.records import lease_lost

SCHEMA = """
CREATE TABLE IF NOT EXISTS explorations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, position TEXT NOT NULL, status TEXT NOT NULL,
    lease INTEGER NOT NULL, cancel_requested INTEGER NOT NULL, record TEXT NOT NULL);
DROP INDEX IF EXISTS by_owner;  -- of earlier versions; the next one begins with the same columns
CREATE INDEX IF NOT EXISTS listed ON explorations (owner, position, status,
    json_extract(record, '$.request.mode'), json_extract(record, '$.request.toolset'));
CREATE INDEX IF NOT EXISTS by_status ON explorations (status);
CREATE TABLE IF NOT EXISTS callback_secrets (id TEXT PRIMARY KEY, encrypted BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS events (
    id TEXT NOT NULL, number INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (id, number));
CREATE TABLE IF NOT EXISTS waiting (id TEXT PRIMARY KEY, owner TEXT NOT NULL, since TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS waiting_by_owner ON waiting (owner, since);
CREATE TABLE IF NOT EXISTS slots (id TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS turns (owner TEXT PRIMARY KEY, started TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS admission_paused (yes INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, due TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reports (id TEXT PRIMARY KEY, markdown TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS spend (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
CREATE TABLE IF NOT EXISTS holds (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
CREATE TABLE IF NOT EXISTS approvals (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, exploration_id TEXT NOT NULL,
    decided INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS approvals_of ON approvals (exploration_id, number);
CREATE TABLE IF NOT EXISTS approval_tokens (exploration_id TEXT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS work (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, run INTEGER NOT NULL,
    due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, taken INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS work_due ON work (due);
CREATE TABLE IF NOT EXISTS claims (number INTEGER PRIMARY KEY, worker TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS jobs_alone (number INTEGER PRIMARY KEY, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS set_aside (body TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS idempotency (
    key TEXT PRIMARY KEY, status TEXT NOT NULL, expires INTEGER NOT NULL, locked_until INTEGER,
    payload TEXT NOT NULL, answer TEXT NOT NULL);
"""
# In a file of its own, beside the store.
LEASES_SCHEMA = """
CREATE TABLE IF NOT EXISTS branch_leases (
    branch TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL);
"""


def check_lease(db: sqlite3.Connection, exploration_id: str, lease: int) -> None:
    """Raises LeaseLostError unless the lease is still the exploration's; call it in a transaction."""
    row = db.execute("SELECT lease FROM explorations WHERE id = ?", (exploration_id,)).fetchone()
    if row is None or row[0] != lease:
        raise lease_lost(exploration_id)
