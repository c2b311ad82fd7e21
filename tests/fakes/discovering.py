"""The discover tools over the sample music, with a catalogue over the wire."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.music.sqlite import SqliteTrackIndex
from idea_explorer.adapters.music.sqlite_library import SqliteLibrary
from idea_explorer.adapters.music.tidal import Tidal
from idea_explorer.adapters.music.tidal_sign_in import ClientCredentials, SignIn
from idea_explorer.agent.tool_calls import ToolExecutor, ToolRecorder, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.ports.music import Catalogue, Library, TrackIndex
from idea_explorer.tools.discover import discover_tools
from idea_explorer.usecases.import_music import import_library, index_tracks
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog, Recorder
from tests.fakes.tidal_server import FakeTidal

SAMPLE = Path(__file__).parents[2] / "examples" / "music"
OWNED = "ZZHRR1900001"  # Wet Asphalt Hymn, in the sample library
NOT_OWNED = "ZZNNR2100001"  # Skylight, indexed but not in it
RAINY = "melancholic love songs for a rainy drive"

Music: TypeAlias = tuple[SqliteTrackIndex, SqliteLibrary]


class Bench:
    """The tools behind the wrappers that the engine puts around them, without the thread."""

    def __init__(
        self,
        index: TrackIndex,
        library: Library,
        catalogue: Catalogue | None = None,
        lookup_seconds: float | None = 10.0,
    ) -> None:
        self.clock = ManualClock()
        self.log = RecordedLog()
        self.seen = Recorder()
        self.tools = discover_tools(
            index, library, catalogue, self.clock, self.log, lookup_seconds=lookup_seconds
        )
        checked = ArgumentValidator(
            self.tools, ToolRetrier(ToolExecutor(self.log), self.clock, self.log), self.log
        )
        self.caller = ToolRecorder(checked, self.seen, self.clock)

    def result(self, name: str, **given: Any) -> ToolResult:
        return self.caller.call(ToolCall(id="c", name=name, input=given))

    def call(self, name: str, **given: Any) -> Any:
        return self.result(name, **given).payload


def sample_music(folder: Path) -> Music:
    path = folder / "music.db"
    index, library = SqliteTrackIndex(path, LexiconEmbedder()), SqliteLibrary(path)
    with (SAMPLE / "tracks.jsonl").open("rb") as tracks:
        index_tracks(tracks, index)
    with (SAMPLE / "library.jsonl").open("rb") as owned:
        import_library(owned, library)
    return index, library


@contextmanager
def sample_tidal() -> Iterator[FakeTidal]:
    """Two albums, of which one is known here."""
    with FakeTidal() as tidal:
        tidal.add_album(
            "11",
            "Wipers on Low",
            "Harrow Lane",
            [(OWNED, "Wet Asphalt Hymn"), ("ZZHRR1900099", "Bonus"), ("", "Hidden Track")],
        )
        tidal.add_album("22", "Elsewhere", "Nobody Yet", [("ZZNBD2000001", "Rain on Tin")])
        yield tidal


def catalogue_of(
    server: FakeTidal, clock: Clock | None = None, *, secret: str = "secret", country: str = "US"
) -> Tidal:
    clock = clock or ManualClock()
    sign_in = SignIn(lambda: ClientCredentials("id", secret), clock, server.auth_url)
    return Tidal(sign_in, clock, country=country, api_url=server.api_url)


def playlist(**changes: Any) -> JsonObject:
    track = {
        "isrc": OWNED,
        "title": "Wet Asphalt Hymn",
        "artist": "Harrow Lane",
        "reasoning": "It drives home in the rain.",
    }
    return {"title": "Rain", "tracks": [{**track, **changes}]}
