"""How a run begins: its deadline, and the opening of its transcript."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from idea_explorer.agent import prompts
from idea_explorer.agent.budget import Budget
from idea_explorer.agent.prompts import prompt, system_prompt
from idea_explorer.agent.requests import MODEL_CALLS, announce_retry
from idea_explorer.agent.searches import fit_searches
from idea_explorer.agent.state import State
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.deadline import Clock, Deadline, TaskStart, task_timeout
from idea_explorer.domain.errors import ConflictError, ExplorerError, ExternalError, OutOfReachError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, document_block
from idea_explorer.domain.models import ModelChoice, ModelProfile
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.related_research import RELATED, RelatedDocument, render_related
from idea_explorer.domain.retry import Retry, retry, sleep_unless
from idea_explorer.domain.run import Receipt, Stats
from idea_explorer.domain.server_tools import is_fetch
from idea_explorer.domain.transcript import Instruction, ModelCallFinished, Opening
from idea_explorer.domain.turns import find_effort
from idea_explorer.ports import EventSink, Transcript
from idea_explorer.usecases.continuation import Continuation, PriorDocument, Thread

QUESTION = "Question"  # the title of the document that a branch gets, which its prompt names
NOTHING_TO_UPDATE = "There was no research of this idea to update, so this is a new document."


def enter_run(
    exploration: Exploration, run: int, now: datetime, task: TaskStart | None = None
) -> Exploration:
    """Start the run, or continue it, with its deadline. That is never later than the task's timeout, which
    kills the function."""
    if exploration.run.number != run:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if exploration.is_final:
        return exploration
    latest = task_timeout(task, exploration.request.seconds, now)
    deadline = exploration.run.deadline_at or latest
    if exploration.run.awaiting_since:
        deadline += now - exploration.run.awaiting_since
    deadline = min(deadline, latest)
    if exploration.branch_of:
        deadline = min(deadline, exploration.branch_of.until)
    begun = exploration if exploration.status == "running" else exploration.started(at=now)
    return begun.replace(deadline_at=deadline, awaiting_since=None)


def deadline_of(exploration: Exploration, clock: Clock) -> Deadline:
    assert exploration.run.deadline_at is not None
    left = (exploration.run.deadline_at - clock.now()).total_seconds()
    return Deadline.after(clock, seconds=left, of=exploration.request.seconds)


def record_continuation(exploration: Exploration, continuation: Continuation | None) -> Exploration:
    """Record the document that the run starts from: an update is published to that one."""
    if isinstance(continuation, PriorDocument):
        return exploration.replace(builds_on=continuation.path)
    notice = NOTHING_TO_UPDATE if exploration.request.update else None
    return exploration.replace(notice=notice)


def refuse_run(exploration: Exploration, error: ExplorerError, now: datetime) -> Exploration:
    """End a run that cannot begin, before it has cost anything."""
    receipt = Receipt.of(exploration.id, error.code, error.sentence, stats=Stats(cost_usd=0.0))
    return exploration.replace(
        outcome="failed",
        receipt=receipt,
        stats=exploration.run.stats.model_copy(
            update={"cost_usd": exploration.run.stats.cost_usd or 0.0}
        ),
        finished_at=now,
        updated_at=now,
    )


def begin_or_resume(
    transcript: Transcript,
    exploration: Exploration,
    continuation: Continuation | None,
    toolset: Toolset,
    model: ModelChoice,
    framework: Framework | None,
    budget: Budget,
    related: Sequence[RelatedDocument] = (),
) -> None:
    """Add the opening of the transcript, or the instruction to resume, unless it is there already. It is
    stored with the announcement of the first model call."""
    if not transcript.entries:
        begun = opening(exploration, continuation, toolset, model, framework, related)
        transcript.add(fit_searches(begun, budget, exploration.searches))
    elif _needs_instruction(transcript, exploration):
        transcript.add(_resume_instruction(State(transcript.entries), exploration.run.number))


def _resume_instruction(state: State, run: int) -> Instruction:
    """Restores the effort for gathering, where writing had lowered it."""
    begun = state.opening
    wanted = begun.new_effort or begun.effort
    changes = begun.changes_effort and wanted != state.effort_now
    return Instruction(
        purpose="resume", run=run, effort=wanted if changes else None, text=prompt("resume")
    )


def _needs_instruction(transcript: Transcript, exploration: Exploration) -> bool:
    """Whether an earlier run had ended, so that the model must be told to go on."""
    state = State(transcript.entries)
    if exploration.run.number == 1 or exploration.run.number in state.resumed:
        return False
    last = state.last
    asked_for_tools = isinstance(last, ModelCallFinished) and last.stop_reason == "tool_use"
    open_question = asked_for_tools or state.pending or bool(state.waiting or state.branches)
    return state.steps == exploration.run.base_steps and not open_question


def opening(
    exploration: Exploration,
    continuation: Continuation | None,
    toolset: Toolset,
    model: ModelChoice,
    framework: Framework | None = None,
    related: Sequence[RelatedDocument] = (),
) -> Opening:
    request, branch = exploration.request, exploration.branch_of
    profile = (model.profile or ModelProfile()).with_effort(request.wanted_effort)
    begun = Opening(
        model_id=model.id,
        system=[{"type": "text", "text": prompt("findings") if branch else system_prompt(request)}],
        tools=toolset.definitions,
        content=first_message(
            exploration,
            continuation,
            toolset.introduce(),
            related,
            cited=any(is_fetch(tool) for tool in toolset.definitions),
        ),
        requests=[text for text in (request.idea, request.context) if text],
        passages=[
            *(continuation.passages if continuation else ()),
            *(document.passage for document in related),
        ],
        thinking=profile.thinking,
        effort=profile.gathering,
        write_effort=profile.writing,
        changes_effort=profile.changes_effort,
        adds_result=request.spec.result_tool is not None,
        cites_results=profile.cites_results,
        framework=framework,
        reviews_plan=request.review_plan,
        question=branch.question if branch else "",
        private=branch.private if branch else False,
    )
    return _continue_thread(begun, continuation) if isinstance(continuation, Thread) else begun


def _continue_thread(begun: Opening, thread: Thread) -> Opening:
    """Put the turns of another exploration before the opening. The same model gets them with the same
    parameters as before, because its cache and its thinking are valid only with those."""
    turns = thread.turns(begun.model_id, cites_results=begun.cites_results)
    changes: dict[str, Any] = {"system": thread.system, "tools": thread.tools, "turns": turns}
    changes |= {"requests": [*thread.requests, *(begun.requests or [])]}
    if thread.model_id == begun.model_id:
        changes |= {"thinking": thread.thinking, "effort": thread.effort}
        now = find_effort(turns, thread.effort)
        if not begun.changes_effort:
            changes |= {"write_effort": thread.effort}
        elif now and begun.effort != now:
            changes |= {"new_effort": begun.effort}
    return replace(begun, **changes)


def framework_of(
    exploration: Exploration, continuation: Continuation | None, model_id: str
) -> Framework | None:
    """What the report must have; None where no framework asks for anything.

    The offline model has no verdict of its own and says so: asked again, it would write the same.
    """
    request = exploration.request
    if not request.spec.takes("mode") or model_id == OFFLINE or exploration.branch_of:
        return None
    updates = request.update and isinstance(continuation, PriorDocument)
    return prompts.framework("update" if updates else request.mode)


def first_message(
    exploration: Exploration,
    continuation: Continuation | None,
    introduction: str,
    related: Sequence[RelatedDocument] = (),
    *,
    cited: bool = False,
) -> list[Block]:
    """The first user message: the date, the idea, its context, what the tools work on, and, as documents
    of their own, the research that it starts from, the team's research on similar ideas, and the question of
    a branch. They are `cited` where pages of web_fetch are."""
    request, branch = exploration.request, exploration.branch_of
    parts = [f"Today is {exploration.created_at:%Y-%m-%d}.", f"<idea>\n{request.idea}\n</idea>"]
    if request.context:
        parts.append(f"<context>\n{request.context}\n</context>")
    if isinstance(continuation, Thread):
        parts.append(prompt("go_on"))
    elif continuation:
        purpose = "follow_up" if request.continue_from else "update"
        date = f"{exploration.created_at:%Y-%m-%d}"
        parts.append(prompt(purpose, path=continuation.name, date=date))
    if branch:
        parts.append(prompt("branch"))
    if introduction:
        parts.append(introduction)
    if related:
        parts.append(prompt("related"))
    if request.plans:
        parts.append(prompt("plan"))
    documents: list[tuple[str, str]] = []
    if isinstance(continuation, PriorDocument) and continuation.shown.strip():
        documents.append((continuation.name, continuation.shown))
    if related:
        documents.append((RELATED, render_related(related)))
    if branch:
        documents.append((QUESTION, branch.question))
    attached = [document_block(name, text, cited=cited) for name, text in documents]
    return [{"type": "text", "text": "\n\n".join(parts)}, *attached]


T = TypeVar("T")

WAITING_SHARE = 0.5  # of the time for gathering; the rest is for the run itself


def call_until_reachable(
    call: Callable[[], T], deadline: Deadline, sink: EventSink, cancelled: Callable[[], bool]
) -> T:
    """Call, and call again while the failure may pass and the deadline leaves time for it.

    Raises OutOfReachError where it does not pass in that time, or somebody cancels meanwhile.
    """
    clock = deadline.clock

    def wait(again: Retry) -> None:
        sink.emit(announce_retry(again, step=0))
        if sleep_unless(cancelled, again.seconds, clock):
            raise again.error

    try:
        until = clock.monotonic() + WAITING_SHARE * deadline.gathering_left
        return retry(call, MODEL_CALLS, clock, until=until, wait=wait)
    except ExternalError as error:
        if not error.retryable:
            raise
        raise OutOfReachError(error) from error
