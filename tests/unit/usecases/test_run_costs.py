"""What a run costs this machine, counted: what would make it slow again fails here, on any machine."""

import json
import threading
from pathlib import Path

import pytest

from idea_explorer.domain.json import JsonObject
from idea_explorer.ports import ModelAnswer, ModelRequest
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, calls, says

SIZE = 20_000  # bytes of a document


def reads(steps: int) -> ScriptedModel:
    """A model that reads two documents in each step but the last."""

    def answer(_: ModelRequest, number: int) -> ModelAnswer:
        if number % steps == steps - 1:
            return says("# Tea\n\nTea is popular.")
        paths: list[JsonObject] = [{"path": f"{number}-{name}.md"} for name in "ab"]
        return calls(*(("read_research", path) for path in paths))

    return ScriptedModel(answer)


def bench(root: Path, steps: int) -> Bench:
    made = Bench(root, reads(steps))
    for number in range(2 * steps):
        for name in "ab":
            made.write(f"{number}-{name}.md", f"# {number}{name}\n" + "tea " * (SIZE // 4))
    return made


def test_runs_use_the_threads_of_those_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = threading.Thread.start

    def count(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", count)
    runs = bench(tmp_path, steps=4)
    for idea in ("A tea room", "A tea house in a park", "Tea by post"):
        assert runs.explore(idea).run.outcome == "completed"

    # two calls at a time, each with a thread that limits its time, 36 threads in all without reuse
    assert len(started) <= 8, started


def count_written(root: Path, steps: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Characters of JSON that the engine writes in a run of so many steps."""
    written = 0
    encode = json.JSONEncoder.encode

    def count(encoder: json.JSONEncoder, value: object) -> str:
        nonlocal written
        text = encode(encoder, value)
        written += len(text)
        return text

    run = bench(root, steps)
    with monkeypatch.context() as patch:
        patch.setattr(json.JSONEncoder, "encode", count)
        assert run.explore(max_steps=20).run.stats.steps == steps
    return written


def test_what_is_written_as_json_grows_with_what_is_read_and_not_with_its_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (count_written(tmp_path / str(n), n, monkeypatch) for n in (4, 12))

    read = 2 * SIZE * (12 - 4)
    assert many - few < 6 * read
