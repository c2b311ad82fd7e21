"""Where explorations and files are kept: in the cloud or on this machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import (
    Approvals,
    Clock,
    EventLog,
    Explorations,
    Log,
    Reports,
    Spend,
    Transcripts,
    Uploads,
)
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import connect, named

if TYPE_CHECKING:
    from idea_explorer.adapters.folder.locks import ProcessLock
    from idea_explorer.adapters.sqlite.queue import LocalQueue
    from idea_explorer.adapters.sqlite.store import SqliteStore
    from idea_explorer.adapters.uploads import FilesOf, GivenFiles, LocalUploads


def local_store(settings: Settings) -> "SqliteStore":
    from idea_explorer.adapters.sqlite.store import SqliteStore

    store = SqliteStore(settings.store)
    ignored = settings.store.with_name(".gitignore")
    if not ignored.exists():
        # records hold webhook secrets, which have no place in the folder's git
        ignored.write_text("*\n", encoding="utf-8")
    return store


@dataclass(frozen=True)
class Stores:
    """Where explorations are kept: in the cloud or on this machine, for everyone alike."""

    explorations: Explorations
    transcripts: Transcripts
    events: EventLog
    reports: Reports
    uploads: Uploads
    spend: Spend
    approvals: Approvals


def stores(settings: Settings) -> Stores:
    return cloud_stores(settings) if settings.in_cloud else local_stores(settings)


def local_stores(settings: Settings) -> Stores:
    from idea_explorer.adapters.sqlite.approvals import SqliteApprovals

    store = local_store(settings)
    return Stores(
        explorations=store,
        transcripts=store,
        events=store,
        reports=store,
        uploads=local_uploads(settings),
        spend=store,
        approvals=SqliteApprovals(settings.store),
    )


def local_uploads(settings: Settings, base_url: str = "") -> "LocalUploads":
    """Files on this machine; `base_url` is where its API is reached."""
    from idea_explorer.adapters.uploads import LocalUploads

    return LocalUploads(settings.kept, base_url)


def files_of(exploration: Exploration, uploads: Uploads) -> "FilesOf":
    from idea_explorer.adapters.uploads import FilesOf

    return FilesOf(uploads, exploration.owner, exploration.request.files)


def given_files(paths: Sequence[Path]) -> "GivenFiles":
    """Files that a person at this machine named; raises InvalidRequestError."""
    from idea_explorer.adapters.uploads import GivenFiles

    return GivenFiles(paths)


def cloud_stores(settings: Settings) -> Stores:
    from idea_explorer.adapters.aws.s3 import Bucket
    from idea_explorer.adapters.dynamodb.approvals import CloudApprovals
    from idea_explorer.adapters.dynamodb.events import DynamoEventLog
    from idea_explorer.adapters.dynamodb.explorations import DynamoExplorations
    from idea_explorer.adapters.dynamodb.spend import DynamoSpend
    from idea_explorer.adapters.dynamodb.table import Table
    from idea_explorer.adapters.dynamodb.transcripts import CloudReports, CloudTranscripts
    from idea_explorer.adapters.uploads import CloudUploads

    name = named("TABLE_NAME", settings.table_name)
    table = Table(name, connect("dynamodb", settings), system_clock())
    bucket = Bucket(named("BUCKET_NAME", settings.bucket_name), connect("s3", settings))
    return Stores(
        explorations=DynamoExplorations(table),
        transcripts=CloudTranscripts(table, bucket),
        events=DynamoEventLog(table),
        reports=CloudReports(table, bucket),
        uploads=CloudUploads(bucket),
        spend=DynamoSpend(table),
        approvals=CloudApprovals(table, bucket),
    )


def local_queue(settings: Settings) -> "LocalQueue":
    from idea_explorer.adapters.sqlite.queue import LocalQueue

    return LocalQueue(settings.store, system_clock())


def process_lock(settings: Settings) -> "ProcessLock":
    from idea_explorer.adapters.folder.locks import ProcessLock

    return ProcessLock(settings.kept / "running")


def worked_on_here(settings: Settings) -> Callable[[Exploration], bool]:
    """Whether a command of this machine is at work on a run, or a worker of `idea serve` is or will be."""
    here, queue = process_lock(settings), local_queue(settings)
    return lambda e: here.is_at_work(e.id) or queue.has(e.id, e.run.number)


def running_here(settings: Settings) -> Callable[[Exploration], bool]:
    """Whether a process of this machine does a run at this moment."""
    here, queue = process_lock(settings), local_queue(settings)
    return lambda e: (
        not e.is_final and (here.is_at_work(e.id) or queue.is_taken(e.id, e.run.number))
    )


LOCAL_OWNER = "local"


def system_clock() -> Clock:
    from idea_explorer.adapters.clock import SystemClock

    return SystemClock()


def cli_log(stream: TextIO | None) -> Log:
    """Structured lines on a stream, or none at all."""
    from idea_explorer.observability.logging import SilentLog, stream_log

    return stream_log(stream) if stream else SilentLog()
