"""The playlist reaches the listener on every surface, though the model ends with two sentences."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.console.markdown import render_report
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.playlist import parse_playlist
from idea_explorer.tools.discover import discover_tools
from idea_explorer.usecases.notify import notify
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.clock import ManualClock
from tests.fakes.command import idea
from tests.fakes.discovering import NOT_OWNED, OWNED, SAMPLE, Music, catalogue_of
from tests.fakes.engine import Bench, RecordedLog
from tests.fakes.models import ScriptedModel, calls, says
from tests.fakes.receiver import LoopbackPosts, Receiver
from tests.fakes.tidal_server import FakeTidal

CLOSING = "# Rain\n\nTwo songs for the road. Start with the first."
PLAYLIST: JsonObject = {
    "title": "Rain",
    "tracks": [
        {
            "isrc": OWNED,
            "title": "Wet Asphalt Hymn",
            "artist": "Harrow Lane",
            "reasoning": "It drives home.",
        },
        {
            "isrc": NOT_OWNED,
            "title": "Skylight",
            "artist": "Neon Orchard",
            "reasoning": "It opens the roof.",
        },
    ],
}
ROWS = ["| 1 | Wet Asphalt Hymn | Harrow Lane |", "| 2 | Skylight | Neon Orchard |"]


@pytest.fixture
def claude() -> Iterator[FakeAnthropic]:
    script = [answer(tool_use("suggestPlaylist", PLAYLIST)), answer(text(CLOSING))] * 2
    with FakeAnthropic(script, expected_key="key") as server:
        yield server
        assert server.violations == server.rejections == []


def test_the_tracks_stand_in_stdout_json_report_and_exports(
    claude: FakeAnthropic, tidal: FakeTidal, tmp_path: Path
) -> None:
    env = {
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": claude.url,
        "TIDAL_CLIENT_ID": "id",
        "TIDAL_CLIENT_SECRET": "secret",
        "TIDAL_API_URL": tidal.api_url,
        "TIDAL_AUTH_URL": tidal.auth_url,
    }
    for command in (["index", "tracks.jsonl"], ["library", "import", "library.jsonl"]):
        *words, file = command
        assert idea(*words, str(SAMPLE / file), env=env, folder=tmp_path).returncode == 0

    printed = idea("explore", "rain", "--toolset", "discover", env=env, folder=tmp_path)
    assert all(row in printed.stdout for row in ROWS)

    given = idea("explore", "rain", "--toolset", "discover", "--json", env=env, folder=tmp_path)
    outcome = json.loads(given.stdout)
    assert outcome["content"].startswith(CLOSING)
    first, second = outcome["playlist"]["tracks"]
    assert (first["in_library"], second["in_library"]) == (True, False)
    assert first["url"] == "https://tidal.com/browse/track/11001"
    assert (first["tidal_id"], first["duration_seconds"]) == ("11001", 185)
    assert second["url"] is None

    for form, part in (("m3u", "#EXTINF:185,"), ("csv", "Wet Asphalt Hymn"), ("json", OWNED)):
        exported = idea("report", outcome["id"], "--format", form, env=env, folder=tmp_path)
        assert part in exported.stdout


def test_the_webhook_and_the_console_show_the_tracks(
    music: Music, tidal: FakeTidal, tmp_path: Path
) -> None:
    clock = ManualClock()
    tools = discover_tools(*music, catalogue_of(tidal), clock, RecordedLog())
    model = ScriptedModel([calls(("suggestPlaylist", PLAYLIST)), says(CLOSING)])
    bench = Bench(tmp_path / "run", model, toolset=tools, clock=clock)
    hook = "https://hooks.example.com/x"
    done = bench.publish(bench.explore("rain", toolset="discover", webhook_url=hook))
    with Receiver() as receiver:
        deps = replace(bench.deps, webhooks=lambda: LoopbackPosts(receiver))
        notify(done.id, done.run.number, deps)
        (message,) = receiver.received
    body = json.loads(message.body)
    report = bench.store.load_report(done.id)
    playlist = parse_playlist(report)
    assert playlist is not None
    assert body["playlist"] == playlist.as_json()
    assert [track["title"] for track in body["playlist"]["tracks"]] == [
        "Wet Asphalt Hymn",
        "Skylight",
    ]
    html = render_report(report)
    assert all(title in html for title in ("<td>Wet Asphalt Hymn</td>", "<td>Skylight</td>"))
    assert "<img" not in html
