"""Run one exploration: the same for Lambda, the command line and the tests."""

from idea_explorer.agent.budget import VERIFICATION_USD
from idea_explorer.agent.loop import Agent
from idea_explorer.agent.moves import Finish
from idea_explorer.agent.plans import PlanFirst
from idea_explorer.agent.tool_calls import (
    Caller,
    ToolExecutor,
    ToolLimiter,
    ToolRecorder,
    ToolRetrier,
)
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.agent.verification import ReportReader
from idea_explorer.domain.deadline import TaskStart
from idea_explorer.domain.errors import ConflictError, ExplorerError, OutOfReachError
from idea_explorer.domain.events import (
    ErrorEvent,
    EventUsage,
    MessageEnd,
    MessageStart,
    RunFinished,
    StatusChanged,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.models import ModelChoice
from idea_explorer.domain.plan import WRITE_PLAN
from idea_explorer.ports import EventSink
from idea_explorer.usecases.allowance import record_spend, reserve_budget
from idea_explorer.usecases.approvals.wait import EXPIRED, has_expired, still_waits
from idea_explorer.usecases.branches import continue_branches, divide, explain_no_branches
from idea_explorer.usecases.cancel import CancelCheck
from idea_explorer.usecases.continuation import Continuation, find_continuation
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.opening import (
    begin_or_resume,
    deadline_of,
    enter_run,
    record_continuation,
    refuse_run,
)
from idea_explorer.usecases.outcome import (
    conclude,
    describe_notice,
    hold_back,
    min_resume_cost,
    receipt_for,
    stats_of,
)
from idea_explorer.usecases.progress import ProgressSink
from idea_explorer.usecases.related import find_related
from idea_explorer.usecases.run_context import RunContext, pin_commit
from idea_explorer.usecases.run_events import (
    FanOutSink,
    RecordingSink,
    describe_branch_end,
    emit_all,
    end_events,
    sinks_of,
)


class _StillWaitingError(ConflictError):
    """The run still waits for decisions."""


def explore(
    exploration_id: ExplorationId,
    run: int,
    deps: Deps,
    task: TaskStart | None = None,
    *,
    branched: bool = False,
) -> Exploration:
    """Run to an outcome and store the report. The record stays `running` until it is published. `task` is
    the call of a workflow, which has a timeout; None where nothing times the run but itself.

    Entering takes the lease: another worker on the same exploration can write nothing more. Raises
    where the repository cannot be used, but only before the first paid call; a run that has paid goes on.

    A run that is returned with `branches` waits for these: explore each of them, then the run again, with
    `branched`. A branch itself is final once it has an outcome: nothing of it is published.
    """
    # loading the model may take seconds; without a workflow they do not count
    engine = deps.engine()
    now = deps.clock.now()
    changes: list[StatusChanged] = []

    def events(before: Exploration, after: Exploration) -> list[StatusChanged]:
        changed = StatusChanged(from_=before.status, to=after.status)
        changes[:] = [] if before.status == after.status else [changed]
        return changes

    def enter(stored: Exploration) -> Exploration:
        if still_waits(stored, deps):
            raise _StillWaitingError(f"Exploration {exploration_id} waits for decisions.")
        return enter_run(stored, run, now, task)

    try:
        exploration = deps.explorations.take_over(exploration_id, enter, events)
    except _StillWaitingError:
        return deps.explorations.load(exploration_id)
    sinks = [*sinks_of(exploration, deps), *engine.sinks_for(exploration)]
    emit_all(changes, FanOutSink(sinks))
    if exploration.run.outcome or exploration.is_final:
        return exploration
    transcript = deps.transcripts.open(exploration_id, exploration.lease)
    reader = ReportReader(engine.repository_url_for(exploration))
    with RecordingSink(transcript, sinks, deps) as sink:
        context = RunContext(transcript, sink, engine, deps, reader)
        return _explore(exploration, context, branched=branched)


def _explore(exploration: Exploration, context: RunContext, *, branched: bool) -> Exploration:
    transcript, sink, engine, deps = context.transcript, context.sink, context.engine, context.deps
    exploration = pin_commit(exploration, context)
    continuation: Continuation | None = None
    if not transcript.entries:
        try:
            continuation = context.call_until_reachable(
                lambda: find_continuation(exploration, deps), exploration
            )
        except OutOfReachError:
            raise
        except ExplorerError as error:
            refused = refuse_run(exploration, error, deps.clock.now())
            sink.save(refused, ErrorEvent(code=error.code, message=error.sentence))
            return refused
        exploration = record_continuation(exploration, continuation)
        sink.save_soon(exploration)
    elif not exploration.cancel_requested:
        from idea_explorer.usecases.approvals.apply import apply_decisions

        apply_decisions(exploration, transcript, engine.writer_for, sink, deps)
    toolset = engine.toolset_for(exploration, transcript.entries)
    try:
        return _run(exploration, continuation, toolset, context, branched=branched)
    finally:
        toolset.close()


def _run(
    exploration: Exploration,
    continuation: Continuation | None,
    toolset: Toolset,
    context: RunContext,
    *,
    branched: bool,
) -> Exploration:
    transcript, engine, policy = context.transcript, context.engine, context.deps.policy
    expired = has_expired(transcript.entries, exploration.run.number)
    if not expired:
        exploration = reserve_budget(exploration, context.sink, context.deps)
        branch = exploration.branch_of
        model_id = branch.model_id if branch else policy.model_ids[exploration.request.model]
        budget = context.budget_for(exploration, model_id)
        model = ModelChoice(id=model_id, profile=policy.profiles.get(model_id))
        framework = engine.framework_for(exploration, continuation, model_id)
        has_related = not (transcript.entries or branch)  # a branch searches by its own question
        related = find_related(exploration, continuation, context.deps) if has_related else ()
        begin_or_resume(
            transcript, exploration, continuation, toolset, model, framework, budget, related
        )
    context.sink.emit(
        MessageStart(
            message_id=f"{exploration.id}-{exploration.run.number}",
            conversation_id=exploration.conversation_id,
            model_id=context.state.opening.model_id,
        )
    )
    if expired:
        return _conclude(exploration, Finish("partial", EXPIRED), context)
    exploration = _continue_branches(exploration, context, over=branched)
    while not exploration.run.branches:
        finish = _agent(exploration, toolset, context).run()
        if finish.status == "awaiting_approval":
            return _suspend(exploration, context)
        if finish.status != "branching":
            return _conclude(exploration, finish, context)
        exploration = _continue_branches(exploration, context, over=False)
    return exploration


def _continue_branches(exploration: Exploration, context: RunContext, *, over: bool) -> Exploration:
    return continue_branches(exploration, context.transcript, context.sink, context.deps, over=over)


def _suspend(exploration: Exploration, context: RunContext) -> Exploration:
    """Request approvals, then wait. A run that dies in between makes the same requests again."""
    from idea_explorer.usecases.approvals.request import request_approvals

    deps = context.deps
    now = deps.clock.now()
    request_approvals(exploration, context.transcript, context.sink, deps)
    stats = stats_of(context.state, "approval", deps.policy.prices)
    waiting = exploration.moved("awaiting_approval", at=now, awaiting_since=now, stats=stats)
    context.sink.save(waiting, StatusChanged(from_=exploration.status, to=waiting.status))
    return waiting


def _agent(exploration: Exploration, toolset: Toolset, context: RunContext) -> Agent:
    request, deps = exploration.request, context.deps
    clock, log = deps.clock, deps.log
    deadline = deadline_of(exploration, clock)
    progress = ProgressSink(exploration, context.transcript, context.sink, deps)
    sink: EventSink = FanOutSink([context.sink, progress])
    if request.plans and not exploration.has_branches:
        from idea_explorer.usecases.plan_progress import QuestionSink

        sink = QuestionSink(sink, context.transcript)
    verifier = context.verifier_for(exploration)
    budget = context.budget_for(exploration, context.state.opening.model_id)
    if exploration.has_branches and verifier and verifier.judge:
        # what branches and the report cost never prevents it
        budget = budget.hold(VERIFICATION_USD)
    runner = ToolLimiter(ToolRetrier(ToolExecutor(log), clock, log, deadline), deadline)
    tools: Caller = ArgumentValidator(toolset, runner, log)
    if request.plans and WRITE_PLAN in toolset.tools:
        tools = PlanFirst(tools, context.transcript, sink, request.review_plan)
    return Agent(
        exploration_id=exploration.id,
        transcript=context.transcript,
        model=context.engine.model,
        tools=ToolRecorder(tools, sink, clock),
        sink=sink,
        deadline=deadline,
        budget=budget,
        max_steps=exploration.run.base_steps + request.steps,
        cancelled=CancelCheck(exploration, deps),
        unfinished_at_limit=request.spec.proposes_changes,
        verifier=verifier,
        read_transcript=toolset.read_transcript,
        divide=lambda state: divide(exploration, state, budget, deadline),
    )


def _conclude(exploration: Exploration, finish: Finish, context: RunContext) -> Exploration:
    """Store the report, then the outcome."""
    state, deps = context.state, context.deps
    conclusion = conclude(state, finish, context.reader)
    finish = hold_back(exploration, finish, state)
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
    budget = context.budget_for(exploration, state.opening.model_id)
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
        notice=describe_notice(
            exploration, finish, state, explain_no_branches(exploration, state, budget)
        ),
    )
    if exploration.branch_of:
        assert finish.status != "branching"
        ended = ended.finished(finish.status, at=deps.clock.now())
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
    if not exploration.branch_of:
        context.sink.save(ended, end, *failed)
        return ended
    emit_all(describe_branch_end(ended), context.sink)
    context.sink.save(ended, end, *failed, *end_events(exploration, ended))
    context.sink.emit(RunFinished(exploration=ended))
    return ended
