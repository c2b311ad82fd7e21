"""Every side effect of a run, with a place before and a place after it at which the process can die."""

import os
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from idea_explorer.agent.toolset import Toolset


class Boundaries:
    """Counts the places passed; kills this process, for real, at the chosen one."""

    def __init__(self, kill_at: int | None, record: Callable[[str], None]) -> None:
        self._kill_at = kill_at
        self._record = record
        self._passed = 0
        self._lock = threading.Lock()

    def around(self, name: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def broken(*args: Any, **options: Any) -> Any:
            self._pass(f"before {name}")
            result = action(*args, **options)
            self._pass(f"after {name}")
            return result

        return broken

    def tell(self) -> None:
        """Say how many places there were."""
        self._record(str(self._passed))

    def _pass(self, place: str) -> None:
        with self._lock:
            self._passed += 1
            if self._passed == self._kill_at:
                self._record(place)
                os.kill(os.getpid(), signal.SIGKILL)


class Breakable:
    """Any object, with boundaries around the methods that have side effects."""

    def __init__(
        self, inner: Any, name: str, methods: Iterable[str], boundaries: Boundaries
    ) -> None:
        self._inner = inner
        self._broken = {
            method: boundaries.around(f"{name}.{method}", getattr(inner, method))
            for method in methods
        }

    def __getattr__(self, attribute: str) -> Any:
        return self._broken.get(attribute) or getattr(self._inner, attribute)


class BreakableJournals:
    def __init__(self, inner: Any, boundaries: Boundaries, *, skip_store_before_act: bool) -> None:
        self._inner = inner
        self._boundaries = boundaries
        self._late = skip_store_before_act

    def open(self, exploration_id: Any, lease: int) -> Any:
        transcript = self._inner.open(exploration_id, lease)
        if self._late:
            transcript = LateJournal(transcript)
        return Breakable(transcript, "journal", ["append", "flush"], self._boundaries)


class LateJournal:
    """The planted bug: an entry is stored by the call after the one that should have stored it, when it was
    acted on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._known = len(inner.entries)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._inner, attribute)

    def append(self, entry: Any) -> None:
        self._inner.flush()
        self._inner.add(entry)
        self._known = len(self._inner.entries)

    def flush(self) -> None:
        known, self._known = self._known, len(self._inner.entries)
        if known == self._known:
            self._inner.flush()


def breakable_toolset(toolset: Toolset, boundaries: Boundaries) -> Toolset:
    tools = [
        replace(tool, run=boundaries.around(f"tool.{tool.name}", tool.run))
        for tool in toolset.tools.values()
    ]
    return Toolset(tools, list(toolset.server_tools.values()))
