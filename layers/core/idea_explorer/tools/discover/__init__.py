"""The discover toolset: music by meaning, a catalogue, and what the listener owns."""

from dataclasses import replace
from typing import Any

from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import Log
from idea_explorer.ports.music import Catalogue, Library, TrackIndex
from idea_explorer.tools.discover.calls import DiscoverCalls

TARGET_SECONDS = 3.0  # nearly every call is answered in this time: a listener is waiting
TIME_LIMIT = 6.0  # an answer that comes later than that is of no use, and this late it still is


def discover_tools(
    index: TrackIndex,
    library: Library,
    catalogue: Catalogue | None,
    clock: Clock,
    log: Log,
    *,
    lookup_seconds: float | None = None,
) -> Toolset:
    """All five tools; without a catalogue, its two answer with what is missing."""
    calls = DiscoverCalls(index, library, catalogue, log, lookup_seconds)
    if catalogue:
        catalogue.prepare()
    functions = (
        calls.semantic_search,
        calls.tidal_search,
        calls.album_tracks,
        calls.batch_metadata,
        calls.suggest_playlist,
    )
    tools = [_timed(Tool.of(function), clock) for function in functions]
    return Toolset(tools, read_transcript=calls.read_transcript)


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
