"""How soon somebody who follows a run reads what its model writes."""

import json
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from idea_explorer.api.app import build_handler
from idea_explorer.api.server import ApiServer
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.run_events import RecordingSink
from idea_explorer.wiring.deps import server_deps
from tests.fakes.served import TOKEN
from tests.fakes.serving import Listening


@contextmanager
def writing(folder: Path, exploration: Exploration, pause: float, words: int) -> Iterator[None]:
    """A process of its own, as a worker is, whose model writes the time at which it writes."""
    pid = os.fork()
    if pid == 0:
        try:
            deps = server_deps(Settings(research_dir=folder), SilentLog())
            transcript = deps.transcripts.open(exploration.id, exploration.lease)
            sink = RecordingSink(transcript, [], deps)
            for _ in range(words):
                time.sleep(pause)
                sink.emit(TextDelta(content=f"{time.time()} "))
            time.sleep(1)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.waitpid(pid, 0)


def delays(server: ApiServer, exploration: Exploration, words: int) -> Iterator[float]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
    with (
        httpx.Client(base_url=server.url, headers=headers, timeout=30, trust_env=False) as api,
        api.stream("GET", f"/explorations/{exploration.id}/events") as reply,
    ):
        for line in reply.iter_lines():
            if line.startswith("data: ") and "text_delta" in line:
                now = time.time()
                for written in json.loads(line.removeprefix("data: "))["content"].split():
                    words -= 1
                    yield now - float(written)
            if words == 0:
                return


@pytest.mark.slow
@pytest.mark.parametrize(("pause", "words"), [(0.02, 200), (0.7, 10)])
def test_text_is_read_a_tenth_of_a_second_after_it_was_written(
    tmp_path: Path, pause: float, words: int
) -> None:
    deps = server_deps(Settings(research_dir=tmp_path), SilentLog())
    at = deps.clock.now()
    new = Exploration.new(ExploreRequest(idea="Bees"), "ada", at=at).started(at=at)
    assert deps.explorations.create(new)
    tokens = dump_tokens([make_token_record(TOKEN, "ada", now=at)])
    server = ApiServer(("127.0.0.1", 0), build_handler(deps), lambda: tokens)
    with writing(tmp_path, new, pause, words), Listening(server):
        measured = sorted(delays(server, new, words))

    p50, p99 = statistics.median(measured), measured[int(len(measured) * 0.99)]
    print(f"a word every {pause} s: p50 {p50 * 1_000:.0f} ms, p99 {p99 * 1_000:.0f} ms")
    assert p50 < 0.1
