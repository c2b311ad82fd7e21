"""Run one exploration: the same for Lambda, the command line and the tests."""

from collections.abc import Callable
from typing import TypeVar

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.loop import Agent
from idea_explorer.agent.moves import Finish
from idea_explorer.agent.state import State
from idea_explorer.agent.tool_calls import Bounded, Executed, Recorded, Retried
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import Validated
from idea_explorer.domain.errors import ExplorerError, OutOfReachError
from idea_explorer.domain.events import (
    ErrorEvent,
    EventUsage,
    MessageEnd,
    MessageStart,
    StatusChanged,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.models import ModelChoice
from idea_explorer.ports import EventSink, Transcript
from idea_explorer.usecases.allowance import charge, reserve_budget
from idea_explorer.usecases.approvals.apply import EXPIRED, act, all_decided, ask, is_over
from idea_explorer.usecases.continuation import Continuation
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.opening import (
    begin_or_resume,
    deadline_of,
    enter,
    refused,
    started_from,
)
from idea_explorer.usecases.outcome import conclude, min_resume_cost, receipt_for, stats_of
from idea_explorer.usecases.reach import reach
from idea_explorer.usecases.run_events import FanOutSink, ProgressSink, RunSink

T = TypeVar("T")


def explore(exploration_id: ExplorationId, run: int, engine: Engine) -> Exploration:
    """Run to an outcome and keep the report. The record stays `running` until it is published.

    Entering takes the lease: a worker that still runs the same exploration writes nothing more. A
    repository that cannot be used is raised before the run's first paid call; after it the run goes on.
    """
    engine.prepare()
    now = engine.clock.now()
    was = engine.explorations.load(exploration_id)
    if was.status == "awaiting_approval" and not (was.cancel_requested or _is_decided(was, engine)):
        return was
    begun: list[StatusChanged] = []

    def tell(before: Exploration, after: Exploration) -> list[StatusChanged]:
        changed = StatusChanged(from_=before.status, to=after.status)
        begun[:] = [] if before.status == after.status else [changed]
        return begun

    exploration = engine.explorations.take_over(
        exploration_id, lambda e: enter(e, run, now, engine.start_seconds), tell
    )
    sink = RunSink(
        engine.events,
        exploration,
        engine.explorations,
        engine.clock,
        engine.sinks_for(exploration),
    )
    sink.announce(*begun)
    if exploration.run.outcome or exploration.is_final:
        return exploration
    transcript = engine.transcripts.open(exploration_id, exploration.lease)
    exploration = _bound(exploration, transcript, sink, engine)
    earlier: Continuation | None = None
    if not transcript.entries:
        try:
            earlier = _reach(
                exploration, lambda: engine.continuation_for(exploration), sink, engine
            )
        except OutOfReachError:
            raise
        except ExplorerError as error:
            return _refuse(exploration, error, sink, engine)
        exploration = started_from(exploration, earlier)
        engine.explorations.save(exploration)
    elif engine.approvals and not exploration.cancel_requested:
        writer = engine.writer_for(exploration) if engine.writer_for else None
        act(exploration, transcript, engine.approvals, writer, sink)
    toolset = engine.toolset_for(exploration, transcript.entries)
    try:
        return _run(exploration, transcript, earlier, toolset, sink, engine)
    finally:
        toolset.close()


def _run(
    exploration: Exploration,
    transcript: Transcript,
    earlier: Continuation | None,
    toolset: Toolset,
    sink: RunSink,
    engine: Engine,
) -> Exploration:
    over = is_over(transcript.entries, exploration.run.number)
    if not over:
        exploration = reserve_budget(
            exploration, engine.terms, engine.explorations, engine.clock.now()
        )
        model_id = engine.model_ids[exploration.request.model]
        budget = _budget(exploration, model_id, engine)
        model = ModelChoice(id=model_id, profile=engine.profiles.get(model_id))
        framework = engine.framework_for(exploration, earlier, model_id)
        begin_or_resume(transcript, exploration, earlier, toolset, model, framework, budget)
    sink.emit(
        MessageStart(
            message_id=f"{exploration.id}-{exploration.run.number}",
            conversation_id=exploration.conversation_id,
            model_id=State(transcript.entries).opening.model_id,
        )
    )
    if over:
        return _conclude(exploration, transcript, Finish("partial", EXPIRED), sink, engine)
    counted = ProgressSink(
        exploration, transcript, engine.explorations, engine.clock, engine.prices
    )
    finish = _agent(exploration, transcript, toolset, FanOutSink([sink, counted]), engine).run()
    if finish.status == "awaiting_approval":
        return _suspend(exploration, transcript, sink, engine)
    return _conclude(exploration, transcript, finish, sink, engine)


def _bound(
    exploration: Exploration, transcript: Transcript, sink: EventSink, engine: Engine
) -> Exploration:
    """The exploration bound to the commit that it reads, now and whenever it is taken up again.

    Raises what keeps the run from its repository, unless it has cost something by now: then it goes on,
    and the tools will say so.
    """

    def base() -> str | None:
        if exploration.base_commit or engine.base_of is None:
            return None
        return engine.base_of(exploration)

    def first_look() -> str | None:
        engine.check_repository(exploration)
        return base()

    steps = State(transcript.entries).steps if transcript.entries else 0
    has_begun = steps > exploration.run.base_steps or exploration.cancel_requested
    try:
        commit = base() if has_begun else _reach(exploration, first_look, sink, engine)
    except ExplorerError as error:
        if not has_begun:
            raise
        engine.log.warning("commit_unknown", explorationId=exploration.id, error=error.sentence)
        return exploration
    if commit is None:
        return exploration
    pinned = exploration.replace(base_commit=commit)
    engine.explorations.save(pinned)
    return pinned


def _reach(exploration: Exploration, call: Callable[[], T], sink: EventSink, engine: Engine) -> T:
    return reach(
        call,
        deadline_of(exploration, engine.clock),
        sink,
        lambda: engine.explorations.is_cancelled(exploration.id),
    )


def _is_decided(exploration: Exploration, engine: Engine) -> bool:
    assert engine.approvals is not None
    return all_decided(engine.approvals.approvals(exploration.id))


def _suspend(
    exploration: Exploration, transcript: Transcript, sink: RunSink, engine: Engine
) -> Exploration:
    """Ask, then wait. Whoever dies between the two asks again, and the same."""
    assert engine.approvals is not None
    now = engine.clock.now()
    ask(exploration, transcript, engine.approvals, sink, now)
    stats = stats_of(State(transcript.entries), "approval", engine.prices)
    waiting = exploration.moved("awaiting_approval", at=now, awaiting_since=now, stats=stats)
    sink.save(waiting, StatusChanged(from_=exploration.status, to=waiting.status))
    return waiting


def _refuse(
    exploration: Exploration, error: ExplorerError, sink: RunSink, engine: Engine
) -> Exploration:
    ended = refused(exploration, error, engine.clock.now())
    sink.save(ended, ErrorEvent(code=error.code, message=error.sentence))
    return ended


def _agent(
    exploration: Exploration,
    transcript: Transcript,
    toolset: Toolset,
    sink: EventSink,
    engine: Engine,
) -> Agent:
    request = exploration.request
    clock, log = engine.clock, engine.log
    deadline = deadline_of(exploration, clock)
    runner = Bounded(Retried(Executed(log), clock, log, deadline), deadline)
    return Agent(
        exploration_id=exploration.id,
        transcript=transcript,
        model=engine.model,
        tools=Recorded(Validated(toolset, runner, log), sink, clock),
        sink=sink,
        deadline=deadline,
        budget=_budget(exploration, State(transcript.entries).opening.model_id, engine),
        max_steps=exploration.run.base_steps + request.steps,
        cancelled=lambda: engine.explorations.is_cancelled(exploration.id),
        unfinished_at_limit=request.spec.proposes_changes,
    )


def _budget(exploration: Exploration, model_id: str, engine: Engine) -> Budget:
    return Budget(
        price=engine.prices.get(model_id),
        max_cost_usd=exploration.run.limit_usd,
        max_total_tokens=engine.max_total_tokens,
        search_tokens=engine.search_tokens,
    )


def _conclude(
    exploration: Exploration, transcript: Transcript, finish: Finish, sink: RunSink, engine: Engine
) -> Exploration:
    """Keep the report and what the run came to, first the one and then the other."""
    state = State(transcript.entries)
    conclusion = conclude(state, finish, engine.page_of(exploration))
    text = conclusion.text
    if text:
        engine.reports.save_report(exploration.id, exploration.lease, text)
    stats = stats_of(state, finish.stop_reason, engine.prices)
    limit = exploration.run.limit_usd
    over = 0.0 if limit is None else max(0.0, (stats.cost_usd or 0.0) - limit)
    stats = stats.model_copy(
        update={
            "citations": conclusion.citations,
            "unmatched_citations": conclusion.unmatched,
            "over_budget_usd": round(over, 6),
        }
    )
    budget = _budget(exploration, state.opening.model_id, engine)
    min_resume_usd = min_resume_cost(state, finish, budget)
    ended = exploration.replace(
        outcome=finish.status,
        stats=stats,
        finished_at=engine.clock.now(),
        updated_at=engine.clock.now(),
        title=conclusion.title(exploration.request.idea),
        verdict=conclusion.verdict,
        model_id=state.opening.model_id,
        receipt=receipt_for(
            exploration,
            finish,
            state,
            stats,
            has_text=bool(text),
            min_resume_usd=min_resume_usd,
        ),
        min_resume_usd=min_resume_usd,
    )
    charge(exploration, stats.cost_usd, engine.terms.spend)  # a crash in between comes here again
    end = MessageEnd(
        usage=EventUsage.of(stats.usage),
        outcome=finish.status,
        stop_reason=finish.stop_reason,
        error=finish.error.sentence if finish.error else "",
        error_code=finish.error.code if finish.error else None,
    )
    error = finish.error
    failed = [ErrorEvent(code=error.code, message=error.sentence)] if error else []
    sink.save(ended, end, *failed)
    return ended
