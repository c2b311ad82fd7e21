"""Run one exploration: the same for Lambda, the command line and the tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.loop import Agent
from idea_explorer.agent.moves import Finish
from idea_explorer.agent.state import State
from idea_explorer.agent.tool_calls import Bounded, Executed, Recorded, Retried
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import Validated
from idea_explorer.agent.verification import Judge, Verifier
from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import ExplorerError, OutOfReachError
from idea_explorer.domain.events import (
    ErrorEvent,
    EventUsage,
    MessageEnd,
    MessageStart,
    StatusChanged,
)
from idea_explorer.domain.exploration import OFFLINE, Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.models import ModelChoice
from idea_explorer.ports import Transcript
from idea_explorer.usecases.allowance import record_spend, reserve_budget
from idea_explorer.usecases.approvals.apply import EXPIRED, apply_decisions, has_expired
from idea_explorer.usecases.approvals.request import request_approvals
from idea_explorer.usecases.approvals.wait import still_waits
from idea_explorer.usecases.continuation import Continuation, find_continuation
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.opening import (
    begin_or_resume,
    call_until_reachable,
    deadline_of,
    enter_run,
    record_continuation,
    refuse_run,
)
from idea_explorer.usecases.outcome import conclude, min_resume_cost, receipt_for, stats_of
from idea_explorer.usecases.progress import ProgressSink
from idea_explorer.usecases.run_events import FanOutSink, RecordingSink

T = TypeVar("T")
JUDGE = "haiku"  # the model that judges what rules cannot verify


@dataclass(frozen=True, slots=True)
class _Context:
    """What stays the same for all of a run, whatever its record comes to hold."""

    transcript: Transcript
    sink: RecordingSink
    engine: Engine
    deps: Deps

    @property
    def state(self) -> State:
        return State(self.transcript.entries)


def explore(
    exploration_id: ExplorationId, run: int, deps: Deps, task: TaskStart | None = None
) -> Exploration:
    """Run to an outcome and store the report. The record stays `running` until it is published. `task` is
    the call of a workflow, which has a timeout; None where nothing times the run but itself.

    Entering takes the lease: another worker on the same exploration can write nothing more. Raises
    where the repository cannot be used, but only before the first paid call; a run that has paid goes on.
    """
    # loading the model may take seconds; without a workflow they do not count
    engine = deps.engine()
    now = deps.clock.now()
    stored = deps.explorations.load(exploration_id)
    if still_waits(stored, deps):
        return stored
    changes: list[StatusChanged] = []

    def events(before: Exploration, after: Exploration) -> list[StatusChanged]:
        changed = StatusChanged(from_=before.status, to=after.status)
        changes[:] = [] if before.status == after.status else [changed]
        return changes

    exploration = deps.explorations.take_over(
        exploration_id, lambda e: enter_run(e, run, now, task), events
    )
    sinks = [*deps.sinks_for(exploration), *engine.sinks_for(exploration)]
    sink = RecordingSink(exploration, sinks, deps)
    sink.forward(*changes)
    if exploration.run.outcome or exploration.is_final:
        return exploration
    transcript = deps.transcripts.open(exploration_id, exploration.lease)
    context = _Context(transcript, sink, engine, deps)
    exploration = _pin_commit(exploration, context)
    continuation: Continuation | None = None
    if not transcript.entries:
        try:
            continuation = _call_until_reachable(
                lambda: find_continuation(exploration, deps), exploration, context
            )
        except OutOfReachError:
            raise
        except ExplorerError as error:
            refused = refuse_run(exploration, error, deps.clock.now())
            sink.save(refused, ErrorEvent(code=error.code, message=error.sentence))
            return refused
        exploration = record_continuation(exploration, continuation)
        deps.explorations.save(exploration)
    elif not exploration.cancel_requested:
        writer = engine.writer_for(exploration) if engine.writer_for else None
        apply_decisions(exploration, transcript, writer, sink, deps)
    toolset = engine.toolset_for(exploration, transcript.entries)
    try:
        return _run(exploration, continuation, toolset, context)
    finally:
        toolset.close()


def _run(
    exploration: Exploration,
    continuation: Continuation | None,
    toolset: Toolset,
    context: _Context,
) -> Exploration:
    transcript, engine, policy = context.transcript, context.engine, context.deps.policy
    expired = has_expired(transcript.entries, exploration.run.number)
    if not expired:
        exploration = reserve_budget(exploration, context.deps)
        model_id = policy.model_ids[exploration.request.model]
        budget = _budget(exploration, model_id, context)
        model = ModelChoice(id=model_id, profile=policy.profiles.get(model_id))
        framework = engine.framework_for(exploration, continuation, model_id)
        begin_or_resume(transcript, exploration, continuation, toolset, model, framework, budget)
    context.sink.emit(
        MessageStart(
            message_id=f"{exploration.id}-{exploration.run.number}",
            conversation_id=exploration.conversation_id,
            model_id=context.state.opening.model_id,
        )
    )
    if expired:
        return _conclude(exploration, Finish("partial", EXPIRED), context)
    finish = _agent(exploration, toolset, context).run()
    if finish.status == "awaiting_approval":
        return _suspend(exploration, context)
    return _conclude(exploration, finish, context)


def _pin_commit(exploration: Exploration, context: _Context) -> Exploration:
    """Fix the commit that this exploration reads, in this run and in every later one.

    Raises where the repository cannot be used, unless the run has cost something by now: then it goes
    on, and the tools report the error.
    """
    engine, deps = context.engine, context.deps

    def find_commit() -> str | None:
        return None if exploration.base_commit else engine.base_of(exploration)

    def check_and_find_commit() -> str | None:
        engine.check_repository(exploration)
        return find_commit()

    steps = context.state.steps if context.transcript.entries else 0
    has_begun = steps > exploration.run.base_steps or exploration.cancel_requested
    try:
        if has_begun:
            commit = find_commit()
        else:
            commit = _call_until_reachable(check_and_find_commit, exploration, context)
    except ExplorerError as error:
        if not has_begun:
            raise
        deps.log.warning("commit_unknown", explorationId=exploration.id, error=error.sentence)
        return exploration
    if commit is None:
        return exploration
    pinned = exploration.replace(base_commit=commit)
    deps.explorations.save(pinned)
    return pinned


def _call_until_reachable(call: Callable[[], T], exploration: Exploration, context: _Context) -> T:
    return call_until_reachable(
        call,
        deadline_of(exploration, context.deps.clock),
        context.sink,
        lambda: context.deps.explorations.is_cancelled(exploration.id),
    )


def _suspend(exploration: Exploration, context: _Context) -> Exploration:
    """Request approvals, then wait. A run that dies in between makes the same requests again."""
    deps = context.deps
    now = deps.clock.now()
    request_approvals(exploration, context.transcript, context.sink, deps)
    stats = stats_of(context.state, "approval", deps.policy.prices)
    waiting = exploration.moved("awaiting_approval", at=now, awaiting_since=now, stats=stats)
    context.sink.save(waiting, StatusChanged(from_=exploration.status, to=waiting.status))
    return waiting


def _agent(exploration: Exploration, toolset: Toolset, context: _Context) -> Agent:
    request, deps = exploration.request, context.deps
    clock, log = deps.clock, deps.log
    deadline = deadline_of(exploration, clock)
    sink = FanOutSink([context.sink, ProgressSink(exploration, context.transcript, deps)])
    runner = Bounded(Retried(Executed(log), clock, log, deadline), deadline)
    return Agent(
        exploration_id=exploration.id,
        transcript=context.transcript,
        model=context.engine.model,
        tools=Recorded(Validated(toolset, runner, log), sink, clock),
        sink=sink,
        deadline=deadline,
        budget=_budget(exploration, context.state.opening.model_id, context),
        max_steps=exploration.run.base_steps + request.steps,
        cancelled=lambda: deps.explorations.is_cancelled(exploration.id),
        unfinished_at_limit=request.spec.proposes_changes,
        verifier=_verifier(exploration, context) if request.spec.verifies else None,
        read_transcript=toolset.read_transcript,
    )


def _verifier(exploration: Exploration, context: _Context) -> Verifier:
    """Without a priced model to judge with, only rules verify; so does an offline run."""
    policy, engine = context.deps.policy, context.engine
    model_id = policy.model_ids.get(JUDGE, OFFLINE)
    price = policy.prices.get(model_id)
    offline = OFFLINE in {model_id, context.state.opening.model_id}
    judge = (
        None if price is None or offline else Judge(model_id, price, policy.profiles.get(model_id))
    )
    return Verifier(
        engine.model, judge, exploration.run.limit_usd, page=engine.page_of(exploration)
    )


def _budget(exploration: Exploration, model_id: str, context: _Context) -> Budget:
    return Budget(
        price=context.deps.policy.prices.get(model_id),
        max_cost_usd=exploration.run.limit_usd,
        max_total_tokens=context.engine.max_total_tokens,
        search_tokens=context.engine.search_tokens,
        prices=context.deps.policy.prices,
    )


def _conclude(exploration: Exploration, finish: Finish, context: _Context) -> Exploration:
    """Store the report, then the outcome."""
    state, deps = context.state, context.deps
    conclusion = conclude(state, finish, context.engine.page_of(exploration))
    text = conclusion.text
    if text:
        deps.reports.save_report(exploration.id, exploration.lease, text)
    stats = stats_of(state, finish.stop_reason, deps.policy.prices)
    limit = exploration.run.limit_usd
    over = 0.0 if limit is None else max(0.0, (stats.cost_usd or 0.0) - limit)
    stats = stats.model_copy(
        update={
            "citations": conclusion.citations,
            "unmatched_citations": conclusion.unmatched,
            "verification": conclusion.verification,
            "over_budget_usd": round(over, 6),
        }
    )
    budget = _budget(exploration, state.opening.model_id, context)
    min_resume_usd = min_resume_cost(state, finish, budget)
    receipt = receipt_for(
        exploration, finish, state, stats, has_text=bool(text), min_resume_usd=min_resume_usd
    )
    ended = exploration.replace(
        outcome=finish.status,
        stats=stats,
        finished_at=deps.clock.now(),
        updated_at=deps.clock.now(),
        title=conclusion.title(exploration.request.idea),
        verdict=conclusion.verdict,
        model_id=state.opening.model_id,
        receipt=receipt,
        min_resume_usd=min_resume_usd,
    )
    # after a crash here, the next worker repeats it
    record_spend(exploration, stats.cost_usd, deps)
    error = finish.error
    end = MessageEnd(
        usage=EventUsage.of(stats.usage),
        outcome=finish.status,
        stop_reason=finish.stop_reason,
        error=error.sentence if error else "",
        error_code=error.code if error else None,
    )
    failed = [ErrorEvent(code=error.code, message=error.sentence)] if error else []
    context.sink.save(ended, end, *failed)
    return ended
