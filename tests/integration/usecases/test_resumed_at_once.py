"""Two who resume the same run at the same instant start one, on every store and from every side."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Explorations, Filter
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.resume import claim, resume
from idea_explorer.wiring.deps import local_deps
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.clock import ManualClock
from tests.fakes.command import idea, start
from tests.fakes.deps import LENIENT
from tests.fakes.explorations import NOW, RECEIPT, an_exploration
from tests.fakes.reports import business
from tests.fakes.served import Served
from tests.fakes.service import FakeQueue

MANY = 8


def partial(explorations: Explorations, **changes: object) -> Exploration:
    ended = an_exploration(status="partial", finished_at=NOW, receipt=RECEIPT, **changes)  # type: ignore[arg-type]
    assert explorations.create(ended)
    return ended


def resumed(exploration_id: str, stores: Deps, queue: FakeQueue) -> Exploration:
    deps = replace(stores, queue=lambda: queue, clock=ManualClock(), policy=LENIENT)
    return resume(exploration_id, "ada", ResumeRequest(), deps)


def at_once(act: Callable[[], object], times: int = MANY) -> list[object]:
    """What each of many threads gets that start together: a result, or the error that was raised."""
    barrier = threading.Barrier(times)

    def one(_: int) -> object:
        barrier.wait()
        try:
            return act()
        except Exception as error:  # noqa: BLE001  the losers' errors are what is looked at
            return error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(one, range(times)))


def test_of_many_threads_one_starts_a_run_and_the_others_are_told(stores: Deps) -> None:
    ended, queue = partial(stores.explorations), FakeQueue()

    outcomes = at_once(lambda: resumed(ended.id, stores, queue))

    losers = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert len(losers) == MANY - 1
    assert all(isinstance(loser, ConflictError) for loser in losers), losers
    assert queue.sent == [(ended.id, 2, 0)]
    assert stores.explorations.load(ended.id).run.number == 2
    told = [json.loads(event.data) for event in stores.events.read(ended.id)]
    assert told == [{"type": "status_changed", "from": "partial", "to": "queued"}]


class LooksTooEarly:
    """A store on which another call resumes, and that run ends, after this one has had its look."""

    def __init__(self, inner: Explorations, meanwhile: Callable[[], object]) -> None:
        self._inner = inner
        self._meanwhile = [meanwhile]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self, exploration_id: ExplorationId) -> Exploration:
        found = self._inner.load(exploration_id)
        if self._meanwhile:
            self._meanwhile.pop()()
        return found


def test_a_run_that_was_resumed_and_ended_meanwhile_is_not_resumed_again(stores: Deps) -> None:
    ended, queue = partial(stores.explorations), FakeQueue()

    def another_call() -> None:
        queued = resumed(ended.id, stores, queue)
        stores.explorations.take_over(
            queued.id, lambda e: e.started(at=NOW).finished("partial", at=NOW, receipt=RECEIPT)
        )

    late: Any = LooksTooEarly(stores.explorations, another_call)
    with pytest.raises(ConflictError, match="resumed at the same moment: run 2 is partial"):
        resumed(ended.id, replace(stores, explorations=late), queue)

    assert queue.sent == [(ended.id, 2, 0)]
    assert stores.explorations.load(ended.id).run.number == 2


def test_of_many_threads_one_takes_up_what_was_left_undone(stores: Deps) -> None:
    left = an_exploration(status="running", by_command=True)
    stores.explorations.create(left)

    outcomes = at_once(lambda: claim(left, stores))

    assert sum(isinstance(outcome, Exploration) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == MANY - 1


def test_what_ended_meanwhile_is_not_taken_up(stores: Deps) -> None:
    """Ending a run leaves its lease as it is."""
    seen = an_exploration(status="running", by_command=True)
    stores.explorations.create(seen)
    stores.explorations.save(seen.finished("completed", at=NOW, receipt=RECEIPT))

    with pytest.raises(ConflictError, match="has ended meanwhile: it is completed"):
        claim(seen, stores)


@pytest.fixture
def model() -> Iterator[FakeAnthropic]:
    report = answer(text(business("Tea")))
    with FakeAnthropic([report] * (2 * MANY)) as server:
        yield server


def environment(model: FakeAnthropic) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": model.url}


def left_in(folder: Path, **changes: object) -> Exploration:
    stores = local_deps(Settings(research_dir=folder), SilentLog())
    request = ExploreRequest(idea="Tea")
    left = an_exploration(owner="local", request=request, **changes)  # type: ignore[arg-type]
    assert stores.explorations.create(left)
    return left


@pytest.mark.parametrize("status", ["partial", "running"])
def test_of_many_commands_one_runs(tmp_path: Path, model: FakeAnthropic, status: str) -> None:
    """Real processes over one file."""
    left = left_in(tmp_path, status=status, by_command=True, started_at=NOW)

    with (
        Path(os.devnull).open() as nothing,
        TemporaryFile("w+", encoding="utf-8") as stdout,
        TemporaryFile("w+", encoding="utf-8") as stderr,
    ):
        streams = [nothing.fileno(), stdout.fileno(), stderr.fileno()]
        programs = [
            start(["resume", left.id], streams, env=environment(model), folder=tmp_path)
            for _ in range(4)
        ]
        codes = sorted(program.wait() for program in programs)
        stderr.seek(0)
        said = stderr.read()

    assert codes == [0, 1, 1, 1], said
    assert len(model.requests) == 1, said
    final = local_deps(Settings(research_dir=tmp_path), SilentLog()).explorations.load(left.id)
    assert (final.status, final.run.number) == ("completed", 2 if status == "partial" else 1)
    assert len(list((tmp_path / "ideas").iterdir())) == 1


def test_of_many_calls_of_the_api_one_is_taken(tmp_path: Path, model: FakeAnthropic) -> None:
    left = left_in(tmp_path, status="partial", finished_at=NOW, receipt=RECEIPT)

    with Served(tmp_path, environment(model)) as served, served.client() as client:
        url = f"/explorations/{left.id}/resume"
        replies: list[Any] = at_once(lambda: client.post(url, json={}))

    assert sorted(reply.status_code for reply in replies) == [202] + [409] * (MANY - 1)
    refused = next(reply.json()["error"] for reply in replies if reply.status_code == 409)
    assert refused["type"] == "conflict"
    assert left.id in refused["message"]
    stores = local_deps(Settings(research_dir=tmp_path), SilentLog())
    assert [
        e.run.number
        for e in stores.explorations.page("local", Filter(), limit=9, cursor=None).explorations
    ] == [2]


def test_a_command_that_comes_after_another_has_ended_it_says_so(
    tmp_path: Path, model: FakeAnthropic
) -> None:
    left = left_in(tmp_path, status="partial", finished_at=NOW, receipt=RECEIPT)
    first = idea("resume", left.id, env=environment(model), folder=tmp_path)
    second = idea("resume", left.id, env=environment(model), folder=tmp_path)

    assert (first.returncode, second.returncode) == (0, 1)
    assert "is completed; only one that is" in second.stderr
