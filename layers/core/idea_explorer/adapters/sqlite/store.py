"""Every store of a run over one connection to one file, as a single machine needs it."""

from idea_explorer.adapters.sqlite.events import SqliteEventLog
from idea_explorer.adapters.sqlite.explorations import SqliteExplorations
from idea_explorer.adapters.sqlite.spend import SqliteSpend
from idea_explorer.adapters.sqlite.transcripts import SqliteReports, SqliteTranscripts


class SqliteStore(
    SqliteExplorations, SqliteEventLog, SqliteTranscripts, SqliteReports, SqliteSpend
):
    """Safe to share between threads and processes."""
