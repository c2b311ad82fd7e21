"""The owner's day: whatever becomes of a run, what it cost is counted, and once."""

from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.domain.errors import QuotaSpentError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.settle import Cause, settle
from tests.fakes.deps import PRICED
from tests.fakes.dying import DyingTranscripts, KilledError
from tests.fakes.engine import Bench
from tests.fakes.models import Reply, ScriptedModel, calls, says, scripted
from tests.fakes.toolsets import toolset_in

DEAR = Usage(input_tokens=500_000, output_tokens=1_000)  # $1.01
LOOK = calls(("list_research", {}), usage=DEAR)
EDIT: JsonObject = {"path": "a.py", "content": "x = 1\n", "description": "Begin"}


class Day(Bench):
    """Runs of one owner under a limit for the day."""

    def __init__(self, folder: Path, *replies: Reply, limit: float = 3.0) -> None:
        super().__init__(folder, scripted(replies))
        limited = replace(PRICED, daily_cost_usd=limit, spend=self.store)
        self.deps = replace(self.deps, policy=limited)

    @property
    def spent(self) -> float:
        return self.store.spent("tester", self.clock.now().date())

    def killed(self, at: int, max_cost_usd: float | None = None) -> Exploration:
        """A run whose process dies in its n-th call."""

        def script(_: ModelRequest, number: int) -> ModelAnswer:
            if number == at:
                raise KilledError
            return LOOK

        self.with_model(ScriptedModel(script))
        queued = self.submit(max_cost_usd=max_cost_usd)
        with pytest.raises(KilledError):
            explore(queued.id, 1, self.deps)
        return queued


def test_a_run_counts_with_what_it_cost(tmp_path: Path) -> None:
    day = Day(tmp_path, LOOK, says("# R"))
    done = day.run()
    assert day.spent == pytest.approx(done.run.stats.cost_usd)


@pytest.mark.parametrize("cause", ["timed_out", "stopped", "broken"])
def test_a_run_that_was_settled_counts_too(tmp_path: Path, cause: object) -> None:
    day = Day(tmp_path)
    queued = day.killed(at=1)
    settled = settle(queued.id, 1, cause, day.deps)  # type: ignore[arg-type]
    assert (settled.run.stats.cost_usd or 0) > 1
    assert day.spent == pytest.approx(settled.run.stats.cost_usd)


def test_a_run_that_has_not_ended_holds_back_what_it_may_spend(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.killed(at=1, max_cost_usd=2.5)
    assert day.spent == 2.5


def test_a_crash_before_the_outcome_is_stored_loses_no_cost_and_counts_none_twice(
    tmp_path: Path,
) -> None:
    day = Day(tmp_path, LOOK, says("# R"))
    queued = day.submit()

    dying = DyingTranscripts(day.store, lambda e: e.run.outcome is not None)

    with pytest.raises(KilledError):
        explore(queued.id, 1, replace(day.deps, transcripts=dying))
    before = day.spent
    done = explore(queued.id, 1, day.deps)
    assert before == day.spent == pytest.approx(done.run.stats.cost_usd)


# What a run is allowed is stored in two steps; its worker dies before either.
STORED = {
    "day": lambda exploration: exploration.run.charged_on is not None,
    "limit": lambda exploration: exploration.run.limit_usd is not None,
}


def killed_while_allotting(day: Day, step: str) -> Exploration:
    queued = day.submit(max_cost_usd=2.0)
    dying = DyingTranscripts(day.store, STORED[step])
    with pytest.raises(KilledError):
        explore(queued.id, 1, replace(day.deps, transcripts=dying))
    return queued


@pytest.mark.parametrize("step", STORED)
def test_a_run_that_died_while_its_budget_was_fixed_holds_nothing_once_it_is_settled(
    tmp_path: Path, step: str
) -> None:
    day = Day(tmp_path)
    queued = killed_while_allotting(day, step)

    settle(queued.id, 1, "timed_out", day.deps)

    assert day.spent == 0


@pytest.mark.parametrize("step", STORED)
def test_a_run_that_died_while_its_budget_was_fixed_gets_it_when_it_goes_on(
    tmp_path: Path, step: str
) -> None:
    day = Day(tmp_path, says("# R"))
    queued = killed_while_allotting(day, step)

    done = explore(queued.id, 1, day.deps)

    assert done.run.limit_usd == 2.0
    assert day.spent == pytest.approx(done.run.stats.cost_usd)


def test_runs_side_by_side_stay_within_the_day_together(tmp_path: Path) -> None:
    day = Day(tmp_path, limit=3.0)
    limits: list[float | None] = []
    others = [day.submit(max_cost_usd=2.0) for _ in range(2)]

    def begin_another(_: ModelRequest, number: int) -> Reply:
        """While one run waits for the model, the next one begins."""
        if others:
            following = explore(others.pop().id, 1, day.deps)
            limits.append(following.run.limit_usd)
        return says("# R", usage=DEAR)

    day.with_model(ScriptedModel(begin_another))
    first = day.explore(max_cost_usd=2.0)

    assert (first.run.limit_usd, limits) == (2.0, [0.0, 1.0])
    assert day.spent <= 3.0


def test_the_limit_of_a_run_stays_what_it_was_when_it_began(tmp_path: Path) -> None:
    day = Day(tmp_path, limit=3.0)
    queued = day.killed(at=1, max_cost_usd=2.0)
    day.store.record("tester", day.clock.now().date(), "another-1", 1.9)

    day.with_model(scripted([says("# R")]))
    done = explore(queued.id, 1, day.deps)

    assert done.run.limit_usd == 2.0
    assert done.run.stats.over_budget_usd == 0.0


def test_a_run_counts_on_the_day_it_began(tmp_path: Path) -> None:
    day = Day(tmp_path)
    queued = day.killed(at=1)
    began = day.clock.now().date()
    day.clock.pass_time(86_400)
    settled = settle(queued.id, 1, "timed_out", day.deps)
    assert day.store.spent("tester", began) == pytest.approx(settled.run.stats.cost_usd)
    assert day.spent == 0


def test_a_resumed_run_counts_for_itself(tmp_path: Path) -> None:
    day = Day(tmp_path)
    queued = day.killed(at=1)
    settled = settle(queued.id, 1, "timed_out", day.deps)
    day.clock.pass_time(86_400)
    resumed = resume(queued.id, "tester", ResumeRequest(), day.deps)
    day.with_model(scripted([says("# R")]))
    done = explore(resumed.id, 2, day.deps)
    assert day.spent == pytest.approx(
        (done.run.stats.cost_usd or 0) - (settled.run.stats.cost_usd or 0)
    )


def test_cancelling_what_waits_for_a_person_gives_back_what_was_held(tmp_path: Path) -> None:
    day = Day(tmp_path / "bench", calls(("create_file", EDIT), usage=DEAR))
    tools = toolset_in(tmp_path, "code")
    day.engine = replace(day.engine, toolset_for=lambda *_: tools)
    waiting = day.explore(toolset="code", max_cost_usd=2.0)
    assert (waiting.status, day.spent) == ("awaiting_approval", 2.0)

    ended: list[Exploration] = []
    deps = replace(day.deps, wake=lambda e: ended.append(explore(e.id, e.run.number, day.deps)))
    cancel(waiting.id, "tester", deps)
    assert [e.run.outcome for e in ended] == ["cancelled"]
    assert day.spent == pytest.approx(waiting.run.stats.cost_usd)


def test_what_is_held_back_refuses_more_with_a_sentence(tmp_path: Path) -> None:
    day = Day(tmp_path, limit=1.0)
    day.killed(at=0, max_cost_usd=2.0)
    with pytest.raises(QuotaSpentError, match="held for what is running"):
        day.deps.policy.check(ExploreRequest(idea="More"), "tester", day.clock.now())


@pytest.mark.parametrize("cause", ["broken", "stopped"])
def test_a_report_that_is_written_is_published_on_a_spent_day_too(
    tmp_path: Path, cause: Cause
) -> None:
    day = Day(tmp_path, says("# R"))
    written = day.explore()
    settle(written.id, 1, cause, day.deps)
    day.store.record("tester", day.clock.now().date(), "another", 3.0)
    day.policy = day.deps.policy

    published = day.publish(day.resume(written))

    assert (published.status, published.run.number) == ("completed", 2)


def test_without_a_limit_for_the_day_nothing_is_held_back(tmp_path: Path) -> None:
    day = Day(tmp_path, LOOK, says("# R"))
    day.deps = replace(day.deps, policy=replace(day.deps.policy, daily_cost_usd=None))
    day.killed(at=0, max_cost_usd=2.0)
    assert day.spent == 0
