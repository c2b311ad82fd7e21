"""What is tried again, over real connections: twice at most, and log and events say so."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.domain.events import ToolCallError
from idea_explorer.domain.json import JsonObject
from idea_explorer.observability.log_sink import LogSink
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from tests.fakes.anthropic_faults import http_error
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.clock import ManualClock
from tests.fakes.command import idea
from tests.fakes.engine import Bench, RecordedLog
from tests.fakes.fetching import Files, local_pages
from tests.fakes.models import calls, says, scripted
from tests.fakes.reports import business
from tests.fakes.web_server import Reply, WebServer, page, reset


def failing(status: str) -> Reply:
    return page("no", "text/plain", status=status)


TRANSIENT: dict[str, tuple[Reply, str]] = {
    "/429": (failing("429 Too Many Requests"), "rate_limited"),
    "/500": (failing("500 Internal Server Error"), "service_unavailable"),
    "/502": (failing("502 Bad Gateway"), "service_unavailable"),
    "/503": (failing("503 Service Unavailable"), "service_unavailable"),
    "/504": (failing("504 Gateway Timeout"), "service_unavailable"),
    "/reset": (reset, "network_error"),
}
PERMANENT: dict[str, tuple[Reply, str]] = {
    "/400": (failing("400 Bad Request"), "http_error"),
    "/401": (failing("401 Unauthorized"), "auth_failed"),
    "/403": (failing("403 Forbidden"), "auth_failed"),
    "/404": (failing("404 Not Found"), "http_error"),
    "/png": (page("no", "image/png"), "unsupported_content_type"),
}


class StillClock(ManualClock):
    """Pauses are over at once, and none of the calls beside it sees time pass."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Recovering:
    """Fails once and then answers."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self) -> Iterator[bytes]:
        self._asked += 1
        return iter(failing("503 Busy")() if self._asked == 1 else page("Well again")())


@pytest.fixture
def web() -> Iterator[WebServer]:
    replies = {path: reply for path, (reply, _) in (TRANSIENT | PERMANENT).items()}
    with WebServer({**replies, "/recovers": Recovering()}) as server:
        yield server


def test_only_what_may_pass_is_tried_again_and_this_is_told(web: WebServer, tmp_path: Path) -> None:
    paths = [*TRANSIENT, *PERMANENT, "/recovers"]
    wanted: list[tuple[str, JsonObject]] = [
        ("http_fetch", {"url": f"{web.url}{path}"}) for path in paths
    ]
    tools = assistant_tools(
        local_pages(), Files(), DIRECT_VERSION, None, documents=ChildProcessReader()
    )
    model = scripted([calls(*wanted), says("# Done")])
    bench = Bench(tmp_path, model, toolset=tools, clock=StillClock())
    log = RecordedLog()
    bench.deps = replace(bench.deps, sinks_for=lambda e: [bench.seen, LogSink(log, e)])
    done = bench.explore(toolset="assistant")

    asked = [request.path for request in web.requests]
    assert {path: asked.count(path) for path in paths} == {
        **dict.fromkeys(TRANSIENT, 2), **dict.fromkeys(PERMANENT, 1), "/recovers": 2,
    }  # fmt: skip
    errors = {e.tool_call_id: e for e in bench.seen.events if isinstance(e, ToolCallError)}
    told = {paths[int(name.rsplit("_", 1)[1])]: e.was_retried for name, e in errors.items()}
    assert told == {**dict.fromkeys(TRANSIENT, True), **dict.fromkeys(PERMANENT, False)}
    lines = log.of("tool_call")
    assert sum(line.get("wasRetried") is True for line in lines) == len(TRANSIENT) + 1
    assert sum(line["ok"] is True for line in lines) == 1
    assert len(bench.log.of("http_fetch_retry_attempt")) == len(TRANSIENT) + 1
    stored = [json.loads(e.data) for e in bench.store.read(done.id)]
    assert sum(event.get("wasRetried") is True for event in stored) == len(TRANSIENT)
    types = {r.error_type for r in done.run.stats.tool_calls if r.error_type}
    assert types == {kind for _, kind in (TRANSIENT | PERMANENT).values()}


def test_a_person_at_the_terminal_sees_that_the_model_is_waited_for(tmp_path: Path) -> None:
    with FakeAnthropic([http_error(429, retry_after=0), answer(text(business("Tea")))]) as server:
        env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}
        done = idea("explore", "Tea", env=env, folder=tmp_path)
    assert done.returncode == 0
    wanted = "  … Claude's rate limit was reached. Trying again at once (attempt 2 of 5)."
    assert wanted in done.stderr.splitlines()
