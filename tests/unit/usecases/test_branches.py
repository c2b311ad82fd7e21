"""A deep run: its questions are researched side by side, and one report is written from what they found."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from idea_explorer.agent.branch_budget import share_budget
from idea_explorer.agent.budget import VERIFICATION_USD, Budget
from idea_explorer.agent.requests import count_searches
from idea_explorer.agent.state import State
from idea_explorer.domain.depths import DEPTHS
from idea_explorer.domain.errors import AuthFailedError, MissingError
from idea_explorer.domain.events import AnyEvent, BranchFinished, BranchStarted, ToolCallStart
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import branch_id
from idea_explorer.domain.limits import MAX_COST_USD
from idea_explorer.domain.transcript import BranchesFinished, BranchesStarted
from idea_explorer.domain.usage import Usage
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Filter, ModelRequest
from idea_explorer.settings import MODELS, PRICES, Settings
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.find import find
from idea_explorer.usecases.replay import replay
from idea_explorer.usecases.settle import settle
from idea_explorer.wiring.local import given_files
from idea_explorer.wiring.toolsets import ToolsetContext, research
from tests.fakes.branching import QUESTIONS, USAGE, DeepBench, DeepModel, found, question_of
from tests.fakes.models import Reply, calls, last_texts, says

PRICE = PRICES[MODELS["sonnet"]]


class Killed(BaseException):
    pass


def raises(error: BaseException) -> Callable[[int], Reply]:
    def reply(_: int) -> Reply:
        raise error

    return reply


def test_the_questions_of_a_plan_become_branches_and_one_report(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.publish(b.explore_all())

    assert done.status == "completed"
    assert [f.question for f in b.findings(done)] == list(QUESTIONS)
    assert all(f.text.startswith(f"- {f.question}") for f in b.findings(done))
    assert "Tea sells" in b.store.load_report(done.id)
    assert done.publication.document
    assert done.publication.notice is None


def test_the_report_is_written_from_the_findings_of_all(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    b.explore_all()

    *findings, asked = last_texts(b.deep.requests[-1])[-5:]
    assert [text.splitlines()[0] for text in findings] == list(QUESTIONS)
    assert asked.startswith("The questions of your plan were researched")
    assert b.deep.requests[-1].writing


def test_the_meter_counts_every_call_of_every_branch(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.explore_all()

    made = sum(b.deep.calls.values())
    assert made == 2 + 2 * len(QUESTIONS)
    assert len(b.deep.verifications) == 1
    assert done.run.stats.usage == Usage.total([USAGE] * (made + 1))
    verified = PRICES[MODELS["haiku"]].cost(USAGE)
    assert done.run.stats.cost_usd == pytest.approx(PRICE.total([USAGE] * made) + verified)
    assert done.run.stats.unconfirmed_usd == 0


def test_branches_have_slices_of_the_budget_and_of_the_time(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start(max_cost_usd=2.0)

    *planned, started = b.entries(waiting)
    assert isinstance(started, BranchesStarted)
    slices = [task.max_cost_usd or 0.0 for task in started.branches]
    # beside the report and its correction, what verifying them may cost is held back
    budget = Budget(price=PRICE, max_cost_usd=2.0 - VERIFICATION_USD)
    share = share_budget(State(planned), budget, len(slices), DEPTHS["deep"].words[1])
    assert share is not None
    assert slices == [share.usd] * 4
    assert slices[0] > 0.1
    assert sum(slices) < 2.0 - 0.2  # the rest is for the report and its correction
    child = b.branch(waiting, 1)
    assert (child.request.max_cost_usd, child.request.steps) == (slices[0], 6)
    assert child.request.seconds == 360
    assert (child.searches, child.request.wanted_effort) == (5, "high")


def test_a_branch_reads_as_many_pages_as_its_depth_says(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    child = b.branch(b.start(allow_fetch_after_private=True), 1)
    variables = {"ANTHROPIC_API_KEY": "key", "IDEA_RESEARCH_DIR": str(tmp_path)}
    settings = Settings.from_environment(variables)
    tools = research(ToolsetContext(settings, SilentLog(), given_files([]), child, ()))

    assert tools.server_tools["web_fetch"].definition["max_uses"] == DEPTHS["deep"].pages
    assert "write_plan" not in tools.tools


def test_a_branch_ends_before_its_run_has_to_write(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start(deadline_seconds=400)
    b.clock.pass_time(100)
    child = explore(branch_id(waiting.id, 1), 1, b.deps)

    assert waiting.run.deadline_at
    assert child.run.deadline_at
    assert (waiting.run.deadline_at - child.run.deadline_at).total_seconds() == 160  # 40 % to write


@pytest.mark.parametrize(
    ("usd", "planning", "why"),
    [(0.6, 0, "the budget was too small"), (2.0, 450, "too little time")],
)
def test_a_run_without_the_means_for_branches_researches_by_itself_and_says_so(
    tmp_path: Path, usd: float, planning: int, why: str
) -> None:
    b = DeepBench(tmp_path, DeepModel())
    answer = b.deep.report
    reads = iter(range(5))

    def research(request: ModelRequest) -> Reply:
        if (number := next(reads, None)) is None:
            return answer(request)
        return calls(("search_research", {"query": f"tea {number}"}), usage=USAGE)

    b.deep.report = research
    b.deep.plan_takes = lambda: b.clock.pass_time(planning)
    done = b.explore_all(max_cost_usd=usd)

    assert (done.run.outcome, set(b.deep.calls)) == ("completed", {""})
    assert done.run.stats.steps == 1 + 5 + 1  # more than with branches
    assert f"one after the other, because {why}" in (done.publication.notice or "")


def test_a_shallower_run_has_no_branches(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    b.explore(depth="standard")
    assert set(b.deep.calls) == {""}


def test_more_questions_than_branches_are_asked_together(tmp_path: Path) -> None:
    questions = [f"Question {number}?" for number in range(1, 7)]
    b = DeepBench(tmp_path, DeepModel(questions))
    done = b.explore_all()

    asked = [f.question.splitlines() for f in b.findings(done)]
    assert asked == [
        ["Question 1?", "Question 5?"],
        ["Question 2?", "Question 6?"],
        ["Question 3?"],
        ["Question 4?"],
    ]


def test_a_branch_that_fails_costs_its_question_alone(tmp_path: Path) -> None:
    model = DeepModel(answers={QUESTIONS[1]: raises(AuthFailedError("No such key."))})
    b = DeepBench(tmp_path, model)
    done = b.explore_all()

    assert done.run.outcome == "completed"
    assert [f.status for f in b.findings(done)] == [
        "completed", "failed", "completed", "completed",
    ]  # fmt: skip
    texts = last_texts(b.deep.requests[-1])
    assert "Of these questions, 2 has no findings" in texts[-1]
    assert f"{QUESTIONS[1]}\n\nNo findings. No such key." in texts


def test_a_run_whose_branches_all_fail_researches_by_itself(tmp_path: Path) -> None:
    failing = raises(AuthFailedError("No such key."))
    b = DeepBench(tmp_path, DeepModel(answers=dict.fromkeys(QUESTIONS, failing)))
    done = b.explore_all()

    assert done.run.outcome == "completed"
    assert not b.deep.requests[-1].writing
    assert "none of them came to an answer" in last_texts(b.deep.requests[-1])[-1]
    assert "because none of the branches came to an answer." in (done.publication.notice or "")


def test_a_branch_is_hidden_and_publishes_nothing(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.explore_all(webhook_url="https://example.org/hook")

    listed = b.store.page(done.owner, Filter(), limit=10, cursor=None).explorations
    assert [e.id for e in listed] == [done.id]
    child = b.branch(done, 1)
    assert (child.status, child.delivery.status) == ("completed", "none")
    assert child.run.charged_on is None
    with pytest.raises(MissingError):
        find(child.id, child.owner, b.deps)


def test_branches_wait_for_no_slot_of_their_own(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    b.start()
    assert b.store.count_waiting() == 0


def test_those_who_watch_see_what_each_branch_does(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.explore_all()

    events = b.store.read(done.id)
    kinds = [event.type for event in events]
    assert kinds.count("branch_started") == kinds.count("branch_finished") == 4
    calls = [e.data for e in events if e.type == "tool_call_start" and '"branch":3' in e.data]
    assert len(calls) == 1
    assert kinds.count("step_finished") == 2  # those of the run itself
    started = [e for e in b.seen.events if isinstance(e, BranchStarted)]
    assert [e.question for e in started] == list(QUESTIONS)
    assert len([e for e in b.seen.events if isinstance(e, BranchFinished)]) == 4
    assert all(e.branch is None for e in b.seen.events if isinstance(e, ToolCallStart))


def test_a_cancelled_run_stops_its_branches_and_keeps_what_they_found(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start()
    for branch in waiting.run.branches:
        explore(branch.id, branch.run, b.deps)
        cancel(waiting.id, waiting.owner, b.deps)
    done = b.enter(waiting, branched=True)

    assert done.run.outcome == "cancelled"
    assert [f.status for f in b.findings(done)] == ["completed", *["cancelled"] * 3]
    assert f"- {QUESTIONS[0]}" in b.store.load_report(done.id)
    assert done.run.stats.cost_usd == PRICE.total([USAGE] * 3)


def test_a_run_that_is_settled_settles_its_branches_and_counts_their_cost(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start()
    explore(branch_id(waiting.id, 1), 1, b.deps)
    settled = settle(waiting.id, 1, "timed_out", b.deps)

    assert (settled.status, settled.run.branches) == ("timed_out", ())
    assert settled.run.stats.cost_usd == PRICE.total([USAGE] * 3)
    assert [f.status for f in b.findings(settled)] == ["completed", *["timed_out"] * 3]
    assert [b.branch(settled, number).is_final for number in range(1, 5)] == [True] * 4


def test_branches_without_an_end_are_settled_when_nobody_works_on_them(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start()
    for number in (1, 2, 3):
        explore(branch_id(waiting.id, number), 1, b.deps)
    done = b.enter(waiting, branched=True)

    assert done.run.outcome == "completed"
    assert [f.status for f in b.findings(done)] == [*["completed"] * 3, "failed"]


def test_a_run_that_is_entered_again_hands_out_the_branches_without_an_end(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start()
    explore(branch_id(waiting.id, 2), 1, b.deps)
    again = b.enter(waiting)

    assert [branch.id for branch in again.run.branches] == [
        branch_id(waiting.id, number) for number in (1, 3, 4)
    ]
    assert b.deep.calls == {"": 1, QUESTIONS[1]: 2}
    assert [e.type for e in b.store.read(waiting.id)].count("branch_started") == 4


def test_a_killed_branch_goes_on_where_it_was(tmp_path: Path) -> None:
    kills = iter([Killed()])

    def dies_once(number: int) -> Reply:
        if error := next(kills, None):
            raise error
        return found("Everybody")

    b = DeepBench(tmp_path, DeepModel(answers={QUESTIONS[0]: dies_once}))
    waiting = b.start()
    with suppress(Killed):
        explore(branch_id(waiting.id, 1), 1, b.deps)
    for branch in b.enter(waiting).run.branches:
        explore(branch.id, branch.run, b.deps)
    done = b.enter(waiting, branched=True)

    assert done.run.outcome == "completed"
    first = b.findings(done)[0]
    assert (first.status, len(first.billed), len(first.confirmed)) == ("completed", 2, 1)
    assert (
        done.run.stats.unconfirmed_usd > 0
    )  # the call that was killed counts with all it reserved


@pytest.mark.parametrize("looks", [0, 1])
def test_at_the_default_limit_a_branch_killed_in_its_first_call_still_finds_an_answer(
    tmp_path: Path, looks: int
) -> None:
    kills = iter([Killed()])

    def dies_once(number: int) -> Reply:
        if error := next(kills, None):
            raise error
        if number <= looks:
            return calls(("read_research", {"path": "tea.md"}), usage=USAGE)
        return found("Everybody")

    b = DeepBench(tmp_path, DeepModel(answers={QUESTIONS[0]: dies_once}))
    waiting = b.start(max_cost_usd=MAX_COST_USD)
    with suppress(Killed):
        explore(branch_id(waiting.id, 1), 1, b.deps)
    for branch in b.enter(waiting).run.branches:
        explore(branch.id, branch.run, b.deps)
    done = b.enter(waiting, branched=True)

    first = b.findings(done)[0]
    assert "Everybody" in first.text
    assert first.status == ("partial" if looks else "completed")
    asked = [r for r in b.deep.requests if question_of(r) == QUESTIONS[0]]
    searches = [count_searches(request.tools) for request in asked]
    assert searches[0] > searches[1] > 0  # what is left pays for fewer
    assert done.run.outcome == "completed"
    assert done.run.stats.cost_usd is not None
    assert done.run.stats.cost_usd < MAX_COST_USD


def test_a_resume_researches_only_the_questions_without_an_answer(tmp_path: Path) -> None:
    failing = {"fails": True}

    def fails_first(_: int) -> Reply:
        if failing["fails"]:
            raise AuthFailedError("No such key.")
        return found("A lot")

    def report(_: object) -> Reply:
        if failing["fails"]:
            raise AuthFailedError("No such key.")
        return says("# Tea", usage=USAGE)

    b = DeepBench(tmp_path, DeepModel(answers={QUESTIONS[1]: fails_first}, report=report))
    ended = b.publish(b.explore_all())
    assert ended.status == "partial"
    before = dict(b.deep.calls)
    failing["fails"] = False
    waiting = b.resume(ended)
    assert [branch.id for branch in waiting.run.branches] == [branch_id(ended.id, 2)]
    for branch in waiting.run.branches:
        explore(branch.id, branch.run, b.deps)
    done = b.publish(b.enter(waiting, branched=True))

    assert done.status == "completed"
    again = {q: n - before.get(q, 0) for q, n in b.deep.calls.items() if n != before.get(q, 0)}
    assert again == {QUESTIONS[1]: 1, "": 1}
    finished = [e for e in b.entries(done) if isinstance(e, BranchesFinished)]
    assert [len(entry.findings) for entry in finished] == [4, 1]
    answered = 1 + 3 * 2 + 1 + 1  # the plan, three branches, the fourth, the report
    assert done.run.stats.cost_usd == PRICE.total([USAGE] * answered)


def test_a_deep_run_replays_to_the_same_report(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.explore_all()
    replayed = replay(b.entries(done))

    assert replayed.divergence == ""
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == b.store.load_report(done.id)


def test_a_run_that_has_read_private_text_says_so_to_its_branches(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    done = b.explore_all()

    assert done.run.stats.private_text_read  # its branches have read the team's research
    child = b.branch(done, 1)
    assert child.branch_of is not None
    assert not child.branch_of.private  # it had not when it wrote the plan


@pytest.mark.parametrize("made", [0, 2])
def test_a_run_killed_while_its_branches_are_made_is_resumed_once(
    tmp_path: Path, made: int
) -> None:
    b = DeepBench(tmp_path, DeepModel())
    queued = b.submit(depth="deep")
    create, left = b.store.create, iter(range(made))

    def dies(exploration: Exploration, events: Sequence[AnyEvent] = ()) -> bool:
        if next(left, None) is None:
            raise Killed
        return create(exploration, events)

    b.store.create = dies  # type: ignore[method-assign]
    with suppress(Killed):
        b.enter(queued)
    b.store.create = create  # type: ignore[method-assign]
    ended = settle(queued.id, 1, "broken", b.deps)
    waiting = b.resume(ended)
    assert [branch.run for branch in waiting.run.branches] == [2] * 4
    for branch in waiting.run.branches:
        explore(branch.id, branch.run, b.deps)
    done = b.publish(b.enter(waiting, branched=True))

    assert done.status == "completed"
    assert [b.deep.calls[question] for question in QUESTIONS] == [2] * 4


def test_branches_of_a_resumed_run_are_settled_with_it(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.resume(settle(b.start().id, 1, "broken", b.deps))
    b.store.save(b.branch(waiting, 1).replace(number=1))  # as a version before left it
    settled = settle(waiting.id, 2, "broken", b.deps)
    assert [b.branch(settled, number).status for number in range(1, 5)] == ["failed"] * 4
    assert [branch.run for branch in b.resume(settled).run.branches] == [3] * 4


def test_an_open_branch_of_an_earlier_run_ends_before_it_runs_again(tmp_path: Path) -> None:
    b = DeepBench(tmp_path, DeepModel())
    waiting = b.start()
    settled = settle(waiting.id, 1, "broken", b.deps)
    first = b.branch(settled, 1)
    b.store.save(first.replace(status="queued"))  # as a version before left it
    again = b.resume(settled)

    assert [branch.run for branch in again.run.branches] == [2] * 4
    assert b.branch(again, 1).status == "queued"
