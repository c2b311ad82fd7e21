"""Transcripts of a worker that dies."""

import threading
from collections.abc import Callable
from typing import Any

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import Transcript, Transcripts


class KilledError(BaseException):
    """The process is gone."""


class DyingTranscripts:
    """Their worker dies before such a record is stored, with all that goes with it, or `after` that.
    Only the thread that opened the transcript raises KilledError: another, which flushes it from time to
    time, has nobody who would catch it."""

    def __init__(
        self, inner: Transcripts, dies_at: Callable[[Exploration], bool], *, after: bool = False
    ) -> None:
        self._inner = inner
        self._dies_at = dies_at
        self._after = after

    def open(self, exploration_id: ExplorationId, lease: int) -> Any:
        transcript = self._inner.open(exploration_id, lease)
        return _Dying(transcript, self._dies_at, after=self._after)


class _Dying:
    def __init__(
        self, inner: Transcript, dies_at: Callable[[Exploration], bool], *, after: bool
    ) -> None:
        self._inner = inner
        self._dies_at = dies_at
        self._after = after
        self._record: Exploration | None = None
        self._is_dead = False
        self._lock = threading.Lock()
        self._worker = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def set_record(self, exploration: Exploration) -> None:
        self._record = exploration
        self._inner.set_record(exploration)

    def append(self, entry: AnyEntry) -> None:
        self._store(lambda: self._inner.append(entry))

    def flush(self) -> None:
        self._store(self._inner.flush)

    def _store(self, store: Callable[[], None]) -> None:
        with self._lock:
            was_dead = self._is_dead
            self._is_dead |= self._record is not None and self._dies_at(self._record)
            if not self._is_dead or (self._after and not was_dead):
                store()
        if self._is_dead and threading.get_ident() == self._worker:
            raise KilledError
