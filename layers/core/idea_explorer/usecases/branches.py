"""The branches of a deep run: started from its plan, waited for, and brought together."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from idea_explorer.agent.branch_budget import share_budget
from idea_explorer.agent.branches import (
    count_starts,
    latest_findings,
    started_branches,
    unanswered_questions,
)
from idea_explorer.agent.budget import Budget
from idea_explorer.agent.plans import accepted_plan, entries_to_plan
from idea_explorer.agent.state import State
from idea_explorer.domain.branches import Branch, BranchRun, BranchTask
from idea_explorer.domain.deadline import Deadline, write_reserve
from idea_explorer.domain.depths import DEFAULT_DEPTH, Depth
from idea_explorer.domain.errors import ConflictError, MissingError
from idea_explorer.domain.events import BranchStarted
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import branch_id
from idea_explorer.domain.limits import MIN_DEADLINE_SECONDS
from idea_explorer.domain.private_text import has_private_text
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import BranchesStarted
from idea_explorer.ports import Transcript
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.findings import collect_findings
from idea_explorer.usecases.outcome import stats_of
from idea_explorer.usecases.run_events import RecordingSink
from idea_explorer.usecases.settle import Cause, settle


def divide(
    exploration: Exploration, state: State, budget: Budget, deadline: Deadline
) -> tuple[BranchTask, ...]:
    """The branches that a run may start now: none without an accepted plan, once a run, and where time or
    money is too short for them. Then the run researches its questions itself."""
    depth = _branching_depth(exploration)
    if depth is None or started_branches(state.entries):
        return ()
    seconds = min(int(deadline.gathering_left), depth.branch_seconds)
    plan = accepted_plan(state.entries)
    if plan is None or seconds < MIN_DEADLINE_SECONDS:
        return ()
    asked = [sub_question.question for sub_question in plan.sub_questions]
    questions = unanswered_questions(state.entries, asked, depth.branches)
    budget = budget.without(state.billed_elsewhere)
    share = share_budget(state, budget, len(questions), depth.words[1]) if questions else None
    if share is None:
        return ()
    return tuple(
        BranchTask(
            number=number,
            id=branch_id(exploration.id, number),
            run=count_starts(state.entries, number) + 1,
            question=question,
            max_cost_usd=share.usd,
            max_steps=depth.branch_steps,
            seconds=seconds,
        )
        for number, question in questions.items()
    )


def explain_no_branches(exploration: Exploration, state: State, budget: Budget) -> str | None:
    """Why a run that was to have branches has researched its questions itself; None if it has not."""
    depth, plan = _branching_depth(exploration), accepted_plan(state.entries)
    findings = latest_findings(state.entries)
    if depth is None or plan is None or any(found.text for found in findings):
        return None
    if findings:
        return "none of the branches came to an answer"
    planned = State(entries_to_plan(state.entries))
    budget = budget.without(planned.billed_elsewhere)
    count = min(len(plan.sub_questions), depth.branches)
    if share_budget(planned, budget, count, depth.words[1]) is None:
        return "the budget was too small to divide among them"
    return "too little time was left to research them side by side"


def _branching_depth(exploration: Exploration) -> Depth | None:
    depth = exploration.request.depth_limits
    return depth if depth and depth.branches and not exploration.branch_of else None


def continue_branches(
    exploration: Exploration,
    transcript: Transcript,
    sink: RecordingSink,
    deps: Deps,
    *,
    over: bool,
) -> Exploration:
    """Start the branches that the transcript names, or take in what they found once all have ended.

    A run that has branches left to wait for is returned with them; its caller has them explored and then
    explores the run again. `over`: nobody works on them any more, so those without an end are settled.
    Safe to repeat after a crash at any point.
    """
    state = State(transcript.entries)
    if state.branches is None:
        return _end_waiting(exploration, sink, deps) if exploration.run.branches else exploration
    branches = [
        _settle(branch, exploration, deps) if over or exploration.cancel_requested else branch
        for branch in _ensure_branches(exploration, state, state.branches, deps)
    ]
    runs = tuple(
        BranchRun(id=b.id, run=b.run.number, deadline_seconds=b.request.seconds)
        for b in branches
        if not b.is_final
    )
    if not runs:
        transcript.add(collect_findings(state.branches, deps))
        return _end_waiting(exploration, sink, deps)
    stats = stats_of(state, None, deps.policy.prices)
    waiting = exploration.replace(branches=runs, stats=stats, updated_at=deps.clock.now())
    begun = [BranchStarted(branch=t.number, question=t.question) for t in state.branches.branches]
    sink.save(waiting, *([] if exploration.run.branches else begun))
    return waiting


def _end_waiting(exploration: Exploration, sink: RecordingSink, deps: Deps) -> Exploration:
    changed = exploration.replace(branches=(), updated_at=deps.clock.now())
    sink.save(changed)
    return changed


def _settle(branch: Exploration, parent: Exploration, deps: Deps) -> Exploration:
    if branch.is_final:
        return branch
    cause: Cause = "stopped" if parent.cancel_requested else "broken"
    return settle(branch.id, branch.run.number, cause, deps)


def _ensure_branches(
    parent: Exploration, state: State, started: BranchesStarted, deps: Deps
) -> Sequence[Exploration]:
    assert parent.run.deadline_at is not None
    reserve = timedelta(seconds=write_reserve(parent.request.seconds))
    until = parent.run.deadline_at - reserve
    return [_ensure_branch(parent, state, task, until, deps) for task in started.branches]


def _ensure_branch(
    parent: Exploration, state: State, task: BranchTask, until: datetime, deps: Deps
) -> Exploration:
    """The exploration of a branch, in the run that the task names: made, or made to run again."""
    branch = Branch(
        parent=parent.id,
        number=task.number,
        question=task.question,
        model_id=state.opening.model_id,
        until=until,
        depth=parent.request.depth,
        private=has_private_text(state.entries),
    )
    now = deps.clock.now()
    try:
        stored = deps.explorations.load(task.id)
    except MissingError:
        request = _request_of(parent, task, spent_usd=0.0)
        new = Exploration.new(request, parent.owner, at=now, exploration_id=task.id)
        new = new.replace(branch_of=branch, number=task.run)
        return new if deps.explorations.create(new) else deps.explorations.load(task.id)
    if stored.run.number >= task.run or stored.status == "completed":
        return stored
    if not stored.is_final:
        stored = settle(stored.id, stored.run.number, "broken", deps)
    request = _request_of(parent, task, spent_usd=stored.run.stats.cost_usd or 0.0)

    def next_run(current: Exploration) -> Exploration:
        if current.run.number >= task.run:
            raise ConflictError(f"Exploration {current.id} is in run {current.run.number}.")
        return current.moved(
            "queued",
            at=now,
            run=current.run.next(by_command=False, outcome=None),
            number=task.run,
            request=request,
            branch_of=branch,
            cancel_requested=False,
        )

    return deps.explorations.take_over(task.id, next_run)


def _request_of(parent: Exploration, task: BranchTask, *, spent_usd: float) -> ExploreRequest:
    """The parent's request with the limits of the task. It plans nothing, publishes nothing and notifies
    nobody."""
    before, depth = parent.request, parent.request.depth_limits
    limit = task.max_cost_usd
    return before.model_copy(
        update={
            "depth": DEFAULT_DEPTH,
            "effort": before.effort or (depth.effort if depth else None),
            "review_plan": False,
            "update": False,
            "continue_from": None,
            "if_exists": "run",
            "webhook_url": None,
            "callback_secret": None,
            "max_cost_usd": None if limit is None else spent_usd + limit,
            "max_steps": task.max_steps,
            "deadline_seconds": task.seconds,
        }
    )
