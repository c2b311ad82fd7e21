"""The first words of an exploration, kept with its transcript and said again word for word."""

from datetime import datetime

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.first_call import fitted
from idea_explorer.agent.prompts import framework, prompt, system_prompt
from idea_explorer.agent.state import State
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import OFFLINE, Exploration, Receipt
from idea_explorer.domain.json import Block
from idea_explorer.domain.transcript import Answered, Opening, Said
from idea_explorer.ports import Journal
from idea_explorer.usecases.earlier import Earlier, Origin, Thread

NOTHING_TO_UPDATE = "There was no research of this idea to update, so this is a new document."


def started_from(exploration: Exploration, earlier: Origin | None) -> Exploration:
    """Keep which document the run starts from: publishing adds to that one, whatever comes meanwhile."""
    if isinstance(earlier, Earlier):
        return exploration.model_copy(update={"builds_on": earlier.path})
    notice = NOTHING_TO_UPDATE if exploration.request.update else None
    return exploration.model_copy(update={"notice": notice})


def refused(exploration: Exploration, error: ExplorerError, now: datetime) -> Exploration:
    """The end of a run that cannot begin, before it has cost anything."""
    receipt = Receipt(
        code=error.code,
        message=error.sentence,
        step=0,
        cost_usd=0.0,
        has_partial_text=False,
        resume=f"idea resume {exploration.id}",
    )
    return exploration.model_copy(
        update={"outcome": "failed", "receipt": receipt, "finished_at": now, "updated_at": now}
    )


def begin_or_go_on(
    journal: Journal,
    exploration: Exploration,
    earlier: Origin | None,
    toolset: Toolset,
    model_id: str,
    budget: Budget,
) -> None:
    """Say the first words, or take up what was said before a crash or a resume."""
    if not journal.entries:
        journal.append(fitted(opening(exploration, earlier, toolset, model_id), budget))
    elif _ended_early(journal, exploration):
        journal.append(Said(purpose="resume", run=exploration.run, text=prompt("resume")))


def _ended_early(journal: Journal, exploration: Exploration) -> bool:
    """Whether an earlier run of this exploration had come to an end that a resume should go beyond."""
    state = State(journal.entries)
    if exploration.run == 1 or exploration.run in state.resumed:
        return False
    last = state.last
    asked_for_tools = isinstance(last, Answered) and last.stop_reason in {"tool_use", "pause_turn"}
    open_question = asked_for_tools or state.pending or bool(state.waiting)
    return state.steps == exploration.base_steps and not open_question


def opening(
    exploration: Exploration, earlier: Origin | None, toolset: Toolset, model_id: str
) -> Opening:
    request = exploration.request
    content = first_words(exploration, earlier, toolset.introduce())
    passages = earlier.passages if earlier else []
    if isinstance(earlier, Thread):
        return Opening(
            model_id=model_id,
            system=earlier.system,
            tools=earlier.tools,
            turns=earlier.turns(model_id),
            content=content,
            passages=passages,
        )
    system: Block = {"type": "text", "text": system_prompt(request.toolset, request.mode)}
    return Opening(
        model_id=model_id,
        system=[system],
        tools=toolset.definitions,
        content=content,
        passages=passages,
    )


def framework_of(
    exploration: Exploration, earlier: Origin | None, model_id: str
) -> Framework | None:
    """What the report must have; None where no framework asks for anything.

    The offline model has no verdict of its own and says so: asked again, it would write the same.
    """
    request = exploration.request
    if request.toolset != "research" or model_id == OFFLINE:
        return None
    updates = request.update and isinstance(earlier, Earlier)
    return framework("update" if updates else request.mode)


def first_words(exploration: Exploration, earlier: Origin | None, introduction: str) -> list[Block]:
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
