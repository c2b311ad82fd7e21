"""The discover toolset: music by meaning, a catalogue, and what the listener owns."""

from dataclasses import replace
from typing import Any

from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import Log
from idea_explorer.ports.music import Catalogue, Library, TrackIndex
from idea_explorer.tools.discover.calls import DiscoverCalls
from idea_explorer.tools.discover.flags import LOOKUP_SECONDS

TIME_LIMIT = 3.0  # for both attempts and the pause between them: a listener is waiting


def discover_tools(
    index: TrackIndex,
    library: Library,
    catalogue: Catalogue | None,
    clock: Clock,
    log: Log,
    *,
    lookup_seconds: float = LOOKUP_SECONDS,
) -> Toolset:
    """All five tools; without a catalogue, its two answer with what is missing."""
    calls = DiscoverCalls(index, library, catalogue, log, lookup_seconds)
    functions = (
        calls.semantic_search,
        calls.tidal_search,
        calls.album_tracks,
        calls.batch_metadata,
        calls.suggest_playlist,
    )
    return Toolset([_timed(Tool.of(function), clock) for function in functions])


def _timed(tool: Tool[Any], clock: Clock) -> Tool[Any]:
    """The contract wants the summary and the duration in every result."""

    def run(arguments: Arguments) -> ToolResult:
        began = clock.monotonic()
        result = tool.run(arguments)
        took = round((clock.monotonic() - began) * 1_000)
        return replace(
            result, payload={**result.payload, "summary": result.summary, "durationMs": took}
        )

    return replace(tool, run=run, time_limit=TIME_LIMIT)
