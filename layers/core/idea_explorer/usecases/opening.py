"""How a run begins: its deadline, and its first words, kept with its transcript and said again word for
word."""

from datetime import datetime, timedelta

from idea_explorer.agent import prompts
from idea_explorer.agent.budget import Budget
from idea_explorer.agent.minimum_cost import fit_searches
from idea_explorer.agent.prompts import prompt, system_prompt
from idea_explorer.agent.state import State
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.deadline import Clock, Deadline
from idea_explorer.domain.errors import ConflictError, ExplorerError
from idea_explorer.domain.exploration import OFFLINE, Exploration
from idea_explorer.domain.json import Block
from idea_explorer.domain.models import ModelChoice, ModelProfile
from idea_explorer.domain.run import Receipt, Stats
from idea_explorer.domain.transcript import Instruction, ModelCallFinished, Opening
from idea_explorer.domain.turns import find_effort
from idea_explorer.ports import Transcript
from idea_explorer.usecases.continuation import Continuation, PriorDocument, Thread

MAX_START_SHARE = 0.1  # of a deadline; a short one is not used up by the allowance for its start
NOTHING_TO_UPDATE = "There was no research of this idea to update, so this is a new document."


def enter(exploration: Exploration, run: int, now: datetime, start_seconds: float) -> Exploration:
    """The run as it is worked on from now; `start_seconds` of its deadline have passed before."""
    if exploration.run.number != run:
        raise ConflictError(
            f"Exploration {exploration.id} is in run {exploration.run.number}, not {run}."
        )
    if exploration.is_final:
        return exploration
    seconds = exploration.request.deadline_seconds
    passed = min(start_seconds, MAX_START_SHARE * seconds)
    deadline = exploration.run.deadline_at or now + timedelta(seconds=seconds - passed)
    if exploration.run.awaiting_since:
        deadline += now - exploration.run.awaiting_since
    begun = exploration if exploration.status == "running" else exploration.started(at=now)
    return begun.replace(deadline_at=deadline, awaiting_since=None)


def deadline_of(exploration: Exploration, clock: Clock) -> Deadline:
    assert exploration.run.deadline_at is not None
    left = (exploration.run.deadline_at - clock.now()).total_seconds()
    return Deadline.after(clock, seconds=left, of=exploration.request.deadline_seconds)


def started_from(exploration: Exploration, earlier: Continuation | None) -> Exploration:
    """Keep which document the run starts from: publishing adds to that one, whatever comes meanwhile."""
    if isinstance(earlier, PriorDocument):
        return exploration.replace(builds_on=earlier.path)
    notice = NOTHING_TO_UPDATE if exploration.request.update else None
    return exploration.replace(notice=notice)


def refused(exploration: Exploration, error: ExplorerError, now: datetime) -> Exploration:
    """The end of a run that cannot begin, before it has cost anything."""
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
    earlier: Continuation | None,
    toolset: Toolset,
    model: ModelChoice,
    framework: Framework | None,
    budget: Budget,
) -> None:
    """Say the first words, or take up what was said before a crash or a resume."""
    if not transcript.entries:
        begun = opening(exploration, earlier, toolset, model, framework)
        transcript.append(fit_searches(begun, budget))
    elif _ended_early(transcript, exploration):
        transcript.append(_taken_up(State(transcript.entries), exploration.run.number))


def _taken_up(state: State, run: int) -> Instruction:
    """The work goes on with the effort for gathering, where writing had lowered it."""
    begun = state.opening
    wanted = begun.new_effort or begun.effort
    changes = begun.changes_effort and wanted != state.effort_now
    return Instruction(
        purpose="resume", run=run, effort=wanted if changes else None, text=prompt("resume")
    )


def _ended_early(transcript: Transcript, exploration: Exploration) -> bool:
    """Whether an earlier run of this exploration had come to an end that a resume should go beyond."""
    state = State(transcript.entries)
    if exploration.run.number == 1 or exploration.run.number in state.resumed:
        return False
    last = state.last
    asked_for_tools = isinstance(last, ModelCallFinished) and last.stop_reason == "tool_use"
    open_question = asked_for_tools or state.pending or bool(state.waiting)
    return state.steps == exploration.run.base_steps and not open_question


def opening(
    exploration: Exploration,
    earlier: Continuation | None,
    toolset: Toolset,
    model: ModelChoice,
    framework: Framework | None = None,
) -> Opening:
    request = exploration.request
    profile = (model.profile or ModelProfile()).with_effort(request.effort)
    begun = Opening(
        model_id=model.id,
        system=[{"type": "text", "text": system_prompt(request.toolset, request.mode)}],
        tools=toolset.definitions,
        content=first_message(exploration, earlier, toolset.introduce()),
        passages=earlier.passages if earlier else [],
        thinking=profile.thinking,
        effort=profile.gathering,
        write_effort=profile.writing,
        changes_effort=profile.changes_effort,
        framework=framework,
    )
    return _going_on(begun, earlier) if isinstance(earlier, Thread) else begun


def _going_on(begun: Opening, thread: Thread) -> Opening:
    """The opening after the turns of another exploration. To the same model they go back with all that
    was sent with them, because its cache and its thinking hold for nothing else."""
    turns = thread.turns(begun.model_id)
    changes: dict[str, object] = {"system": thread.system, "tools": thread.tools, "turns": turns}
    if thread.model_id == begun.model_id:
        changes |= {"thinking": thread.thinking, "effort": thread.effort}
        now = find_effort(turns, thread.effort)
        if not begun.changes_effort:
            changes |= {"write_effort": thread.effort}
        elif now and begun.effort != now:
            changes |= {"new_effort": begun.effort}
    return begun.model_copy(update=changes)


def framework_of(
    exploration: Exploration, earlier: Continuation | None, model_id: str
) -> Framework | None:
    """What the report must have; None where no framework asks for anything.

    The offline model has no verdict of its own and says so: asked again, it would write the same.
    """
    request = exploration.request
    if not request.spec.takes("mode") or model_id == OFFLINE:
        return None
    updates = request.update and isinstance(earlier, PriorDocument)
    return prompts.framework("update" if updates else request.mode)


def first_message(
    exploration: Exploration, earlier: Continuation | None, introduction: str
) -> list[Block]:
    """The first user message: the date, the idea, its context, the research it starts from, and what
    the tools work on."""
    request = exploration.request
    parts = [f"Today is {exploration.created_at:%Y-%m-%d}.", f"<idea>\n{request.idea}\n</idea>"]
    if request.context:
        parts.append(f"<context>\n{request.context}\n</context>")
    if isinstance(earlier, Thread):
        parts.append(prompt("go_on"))
    elif earlier:
        purpose = "follow_up" if request.continue_from else "update"
        date = f"{exploration.created_at:%Y-%m-%d}"
        parts.append(prompt(purpose, path=earlier.name, date=date, document=earlier.shown))
    if introduction:
        parts.append(introduction)
    return [{"type": "text", "text": "\n\n".join(parts)}]
