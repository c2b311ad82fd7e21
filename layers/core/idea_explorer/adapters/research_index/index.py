"""The index of a folder or repository: brought up to date whenever it is asked, from what has changed."""

import math
import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import TypeVar

from idea_explorer import __version__
from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.research_index import queries
from idea_explorer.adapters.research_index.file import IndexFile, is_busy, is_damage
from idea_explorer.adapters.research_index.sources import DocumentSource
from idea_explorer.adapters.research_index.tables import DamagedIndexError
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.similar_research import IndexEntry, Similar
from idea_explorer.domain.threads import run_in_thread
from idea_explorer.ports import Clock, DocumentInfo, FoundDocument

ATTEMPTS = 3  # with the file as it is, with a new one, and in memory
# Looking at a file takes a few microseconds, and at GitHub a request. With many files, or on GitHub, it is
# not done at every call, but so that it takes about a hundredth of the time, except for a question that has
# to be answered as of now.
ALWAYS_LOOKED_AT = 100
SECONDS_PER_FILE = 0.000_05
LOOKING_SHARE = 1 / 100  # where looking takes longer
MAX_PAUSE_SECONDS = 1.0  # for that reason, also where a look takes so long that its share is larger
# A question that comes no later than this after the next look is due does not wait for it. A search may be
# answered from documents that are a minute old: the files of a folder are looked at when its run begins, and
# then a model answers for seconds, after which every first search would have to wait. On GitHub each run has
# an index of its own, and its first search makes the first look.
BACKGROUND_SECONDS = 1.0
SEARCH_BACKGROUND_SECONDS = 60.0
NEVER = -math.inf

T = TypeVar("T")


class AsOf(Enum):
    """Of which documents a question is answered."""

    NOW = auto()
    LATELY = auto()  # where there are many files, or on GitHub, as of a moment ago
    LAST_MINUTE = auto()  # where there are many files, or on GitHub
    LAST_QUESTION = auto()


class Queries:
    """The questions, to an index that `_ask` brings up to date."""

    def _ask(self, question: Callable[[Database], T], as_of: AsOf = AsOf.LATELY) -> T:
        raise NotImplementedError

    def _ask_twice(self, question: Callable[[Database], T | None]) -> T | None:
        """For what may have been published a moment ago."""
        found = self._ask(question)
        return self._ask(question, AsOf.NOW) if found is None else found

    def find_similar(self, idea: str, *, with_offline: bool = True) -> list[Similar]:
        return self._ask(lambda db: queries.find_similar(db, idea, with_offline=with_offline))

    def find_existing(self, idea: str, mode: str) -> IndexEntry | None:
        # without it the research is paid for once more
        return self._ask(lambda db: queries.find_existing(db, idea, mode), AsOf.NOW)

    def find_exploration(self, exploration_id: str) -> IndexEntry | None:
        return self._ask_twice(lambda db: queries.find_exploration(db, exploration_id))

    def find_document(self, path: str) -> IndexEntry | None:
        return self._ask_twice(lambda db: queries.find_document(db, path))

    def list_documents(
        self, search: str, limit: int, offset: int
    ) -> tuple[Sequence[IndexEntry], int]:
        return self._ask(lambda db: queries.list_documents(db, search, limit, offset), AsOf.NOW)

    def describe_problems(self) -> JsonObject:
        """Of the documents as they were when something else was asked."""
        return self._ask(queries.describe_problems, AsOf.LAST_QUESTION)


class DocumentIndex(Queries):
    """Shared by threads, and its file by processes. Without a path it is kept in memory. `prepare` is called
    before the file is used."""

    def __init__(
        self,
        source: DocumentSource,
        path: Path | None = None,
        clock: Clock | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._path = path
        self._clock = clock or SystemClock()
        self._prepare = prepare
        self._lock = threading.Lock()
        self._file: IndexFile | None = None
        self._look_again_at = NEVER
        # from when on an answer may be out of date; NEVER where each one has to wait for a look
        self._stale_at = NEVER
        self._looked_at = NEVER  # when the last look that succeeded began

    def list(self) -> Sequence[DocumentInfo]:
        return self._ask(queries.list_files)

    def search(self, query: str, limit: int) -> tuple[Sequence[FoundDocument], int]:
        return self._ask(lambda db: queries.search(db, query, limit), AsOf.LAST_MINUTE)

    def add(self, document: str, text: str, now: datetime) -> bool:
        """Nothing to do: the document is found where it was published."""
        return False

    def _ask(self, question: Callable[[Database], T], as_of: AsOf = AsOf.LATELY) -> T:
        if as_of is not AsOf.NOW and self._is_recent(as_of):
            assert self._file is not None
            try:
                return question(self._file.db)
            except (sqlite3.DatabaseError, DamagedIndexError):
                pass  # it is built again below
            finally:
                if as_of is not AsOf.LAST_QUESTION:
                    self._refresh_in_background()
        asked_at = self._clock.monotonic()
        with self._lock:
            return self._refresh_and_ask(question, as_of, asked_at)

    def _is_recent(self, as_of: AsOf) -> bool:
        late = SEARCH_BACKGROUND_SECONDS if as_of is AsOf.LAST_MINUTE else BACKGROUND_SECONDS
        return self._clock.monotonic() < self._stale_at + late

    def _refresh_in_background(self) -> None:
        """Unless somebody is at it, or it need not be done yet."""
        if self._clock.monotonic() < self._look_again_at or not self._lock.acquire(blocking=False):
            return
        try:
            run_in_thread(self._refresh_and_release, name="research index")
        except RuntimeError:  # no more threads can be started
            self._lock.release()

    def _refresh_and_release(self) -> None:
        try:
            assert self._file is not None
            self._refresh(self._file)
        except Exception:  # noqa: BLE001  the next one who asks finds the same, and is told
            self._stale_at = NEVER
        finally:
            self._lock.release()

    def _refresh_and_ask(
        self, question: Callable[[Database], T], as_of: AsOf, asked_at: float
    ) -> T:
        if self._file is None:
            self._prepare()
            # what another version has read of a document, this one may read otherwise
            identity = f"{__version__} {self._source.identity}"
            self._file = IndexFile(self._path, identity)
        # A look takes a request to GitHub. Of many who ask at once, those who wait for the lock share the
        # next one: it begins after they have asked, so it finds all that was there when they did.
        has_looked = self._looked_at > asked_at
        if as_of is AsOf.NOW and not has_looked:
            self._look_again_at = NEVER
        file = self._file
        for _ in range(ATTEMPTS - 1):
            try:
                if as_of is not AsOf.LAST_QUESTION and not has_looked:
                    self._refresh(file)
                return question(file.db)
            except (sqlite3.DatabaseError, DamagedIndexError) as error:
                self._look_again_at = self._stale_at = self._looked_at = NEVER
                has_looked = False
                if is_damage(error):
                    file.reset()
                else:
                    file.use_memory()
        self._refresh(file)
        return question(file.db)

    def _refresh(self, file: IndexFile) -> None:
        began = self._clock.monotonic()
        if began < self._look_again_at:
            return
        self._looked_at = NEVER  # what fails on the way may have stored a part of the changes
        try:
            if changes := self._source.find_changes(file.state, file.versions):
                file.apply(changes.files)
                file.set_state(changes.state)
            self._looked_at = began
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            # another process writes what has changed; it may take its time, but answers wait for a look
            self._plan_next_look(file.count_files(), began)
            self._stale_at = NEVER
            return
        self._plan_next_look(file.count_files(), began)

    def _plan_next_look(self, files: int, began: float) -> None:
        if files <= ALWAYS_LOOKED_AT and not self._source.is_remote:
            self._stale_at = NEVER
            return
        now = self._clock.monotonic()
        pause = min((now - began) / LOOKING_SHARE, MAX_PAUSE_SECONDS)
        self._look_again_at = self._stale_at = now + max(files * SECONDS_PER_FILE, pause)
