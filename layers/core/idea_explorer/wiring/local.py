"""The stores of this machine: SQLite, files, and locks between processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from idea_explorer.adapters.folder.locks import ProcessLock
    from idea_explorer.adapters.given_files import GivenFiles
    from idea_explorer.adapters.local_secrets import LocalSecrets
    from idea_explorer.adapters.sqlite.explorations import SqliteStore
    from idea_explorer.adapters.sqlite.queue import LocalQueue
    from idea_explorer.adapters.uploads import FilesOf, LocalUploads
    from idea_explorer.adapters.user_config import UserConfigStore
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.ports import Clock, DocumentReader, Idempotency, Log, Uploads
    from idea_explorer.settings import Settings


LOCAL_OWNER = "local"


def local_store(settings: Settings) -> SqliteStore:
    from idea_explorer.adapters.safe_files import make_ignored_folder, make_private_tree
    from idea_explorer.adapters.sqlite.explorations import SqliteStore

    make_private_tree(settings.data_dir)
    store = SqliteStore(settings.store, _secrets(settings))
    make_ignored_folder(
        settings.data_dir
    )  # what people asked for and uploaded must not be committed
    return store


def _secrets(settings: Settings) -> LocalSecrets | None:
    """None under `sam local`: its layers have no encryption, and its container is thrown away."""
    from idea_explorer.adapters.local_secrets import LocalSecrets, key_folder

    return None if settings.sam_local else LocalSecrets(key_folder(os.environ))


def user_config_store() -> UserConfigStore:
    """The settings of this machine's user, beside their key."""
    from idea_explorer.adapters.local_secrets import LocalSecrets, key_folder
    from idea_explorer.adapters.user_config import UserConfigStore

    folder = key_folder(os.environ)
    return UserConfigStore(folder, LocalSecrets(folder))


def private_page(name: str, html: str) -> Path:
    """A file for a browser to show, which only this user can read. The next page of this name replaces it."""
    from idea_explorer.adapters.safe_files import PRIVATE_FILE, make_private_folder, write_file

    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if given.startswith("/") else Path.home() / ".cache"
    folder = cache / "idea-explorer"
    make_private_folder(folder)
    write_file(folder, f"{name}.html", html.encode("utf-8", "replace"), mode=PRIVATE_FILE)
    return folder / f"{name}.html"


def local_uploads(settings: Settings, base_url: str = "") -> LocalUploads:
    """Files on this machine; `base_url` is the address of its API."""
    from idea_explorer.adapters.uploads import LocalUploads

    return LocalUploads(settings.data_dir, base_url)


def files_of(exploration: Exploration, uploads: Uploads) -> FilesOf:
    from idea_explorer.adapters.uploads import FilesOf

    return FilesOf(uploads, exploration.owner, exploration.request.files)


def document_reader() -> DocumentReader:
    """Reads PDF and Office files; the parsers are loaded in its own process."""
    from idea_explorer.adapters.documents.process import ChildProcessReader

    return ChildProcessReader()


def given_files(paths: Sequence[Path]) -> GivenFiles:
    """Files that a person at this machine named; raises InvalidRequestError."""
    from idea_explorer.adapters.given_files import GivenFiles

    return GivenFiles(paths, document_reader())


def open_given_file(path: Path) -> BinaryIO:
    """A file that a person at this machine named; raises InvalidRequestError."""
    from idea_explorer.adapters import given_files as adapter

    return adapter.open_given_file(path)


def read_given_file(path: Path, limit: int) -> bytes:
    """What is in a file that a person at this machine named; raises InvalidRequestError."""
    from idea_explorer.adapters import given_files as adapter

    return adapter.read_given_file(path, limit)


def idempotency(settings: Settings) -> Idempotency:
    from idea_explorer.adapters.idempotency import IdempotencyStore, SqliteRecords

    return IdempotencyStore(SqliteRecords(settings.store))


def local_queue(settings: Settings) -> LocalQueue:
    from idea_explorer.adapters.sqlite.queue import LocalQueue

    return LocalQueue(settings.store, system_clock())


def process_lock(settings: Settings) -> ProcessLock:
    from idea_explorer.adapters.folder.locks import ProcessLock

    return ProcessLock(settings.data_dir / "running")


def worked_on_here(settings: Settings) -> Callable[[Exploration], bool]:
    """Whether a command on this machine runs it, or a worker of `idea serve` does or will."""
    here, queue = process_lock(settings), local_queue(settings)
    return lambda e: here.is_at_work(e.id) or queue.has(e.id, e.run.number)


def running_here(settings: Settings) -> Callable[[Exploration], bool]:
    """Whether a process on this machine is running it now."""
    here, queue = process_lock(settings), local_queue(settings)
    return lambda e: (
        not e.is_final and (here.is_at_work(e.id) or queue.is_taken(e.id, e.run.number))
    )


def system_clock() -> Clock:
    from idea_explorer.adapters.clock import SystemClock

    return SystemClock()


def cli_log(stream: TextIO | None) -> Log:
    """Structured lines on a stream, or none at all."""
    from idea_explorer.observability.logging import SilentLog, stream_log

    return stream_log(stream) if stream else SilentLog()
