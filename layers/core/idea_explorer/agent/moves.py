"""The next move of a run, decided from its state alone."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from idea_explorer.agent.bounds import Bounds
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.branches import BranchTask
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import (
    EmptyReportError,
    ExplorerError,
    IncompleteReportError,
    RefusedError,
    RejectedError,
    TooLongError,
)
from idea_explorer.domain.report import (
    choose_report,
    count_unsupported,
    read_final_turn,
    read_report,
)
from idea_explorer.domain.report_text import strip_preamble
from idea_explorer.domain.transcript import (
    ModelCallFailed,
    ModelCallFinished,
    RewriteReason,
    WriteReason,
)
from idea_explorer.domain.turns import prepare_answer

FinalStatus = Literal[
    "completed", "partial", "failed", "timed_out", "cancelled", "awaiting_approval", "branching"
]

# reasons for writing that mean that the research was cut short
CUT_SHORT: frozenset[WriteReason] = frozenset({"deadline", "budget", "no_progress", "cut_calls"})
# reasons for writing that say nothing about how the run ended
ORDINARY: frozenset[WriteReason] = frozenset({"incomplete", "unsupported", "branches"})


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the model: to gather, or to write the report."""

    writing: bool


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls of the last answer."""


@dataclass(frozen=True, slots=True)
class RefuseTools:
    """Answer the calls of the last answer with the instruction to write."""


@dataclass(frozen=True, slots=True)
class Say:
    """Add an instruction before the next call."""

    purpose: Literal["write", "rewrite", "continue"]
    reason: WriteReason | None = None
    again: RewriteReason | None = None
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verify:
    """Check the cited sentences of the report against their passages."""


@dataclass(frozen=True, slots=True)
class Restart:
    """Write in a new conversation, from the evidence."""

    reason: WriteReason


@dataclass(frozen=True, slots=True)
class StartBranches:
    """Have questions of the plan researched by explorations of their own."""

    branches: tuple[BranchTask, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a run, or of its work for now: it waits for approval, or for its branches."""

    status: FinalStatus
    stop_reason: str
    error: ExplorerError | None = None


Move: TypeAlias = Ask | RunTools | RefuseTools | Say | Restart | StartBranches | Verify | Finish


def next_move(state: State, bounds: Bounds) -> Move:
    move = _next_move(state, bounds)
    is_whole = isinstance(move, Finish) and move.status == "completed"
    came_to_nothing = isinstance(move, Say | Restart | Finish) and not is_whole
    if came_to_nothing and (earlier := find_earlier_end(state, bounds)):
        return earlier
    if isinstance(move, Finish) and bounds.verifies:
        return _verify_first(state, bounds, move)
    return move


def find_earlier_end(state: State, bounds: Bounds) -> Finish | None:
    """The end with the report as it was before its correction, if that was asked for: it is complete."""
    before = state.before_correction
    earlier = _next_move(before, bounds) if before else None
    return earlier if isinstance(earlier, Finish) else None


def _verify_first(state: State, bounds: Bounds, finish: Finish) -> Move:
    """A report is verified before the run ends. Sentences that their sources do not support go back once."""
    if finish.status not in {"completed", "partial"} or not isinstance(
        state.last, ModelCallFinished
    ):
        return finish
    if (verification := state.verification) is None:
        return Verify()
    affordable = bounds.time_to_rewrite and not bounds.too_dear_to_write
    if finish.status != "completed" or not affordable or state.rewritten("unsupported"):
        return finish
    if not count_unsupported(verification):
        return finish
    return Say("rewrite", state.writing or "unsupported", again="unsupported")


def _next_move(state: State, bounds: Bounds) -> Move:
    last = state.last
    if isinstance(last, ModelCallFinished):
        return AFTER.get(last.stop_reason, _after_end)(state, bounds)
    if isinstance(last, ModelCallFailed) and (last.overflow or last.rejected):
        return _after_overflow(state, bounds)
    if state.waiting:
        return Finish("awaiting_approval", "approval")
    if state.branches:
        return Finish("branching", "branches")
    if state.writing:
        # reading the whole conversation once more may cost too much
        is_too_dear = bounds.too_dear_to_write and state.answers and not state.restarted
        return Restart("budget") if is_too_dear else Ask(writing=True)
    if state.pending:
        return _finish_search(bounds)
    if bounds.branches:
        return StartBranches(bounds.branches)
    if reason := reason_to_write(state, bounds):
        return Say("write", reason)
    return Ask(writing=False)


def _finish_search(bounds: Bounds) -> Move:
    """While a search is pending, no instruction may be added. Without the time or budget to finish it, the
    report is written in a new conversation."""
    if bounds.out_of_time:
        return Restart("deadline")
    return Restart("budget") if bounds.out_of_budget else Ask(writing=False)


def reason_to_write(state: State, bounds: Bounds) -> WriteReason | None:
    """Why gathering has to end now, or None if it does not."""
    if bounds.out_of_time:
        return "deadline"
    if bounds.out_of_budget:
        return "budget"
    if bounds.is_last_step(state.steps):
        return "max_steps"
    return state.stalled


def _after_tool_use(state: State, bounds: Bounds) -> Move:
    """Once the report was asked for, or all steps are used, no tool runs. With tools off, calls are not even
    answered."""
    if not state.calls() or (state.writing and state.tools_were_off):
        return _after_end(state, bounds)
    is_over = bounds.unfinished_at_limit and bounds.is_last_step(state.steps)
    return RefuseTools() if state.writing or is_over else RunTools()


def _after_pause(state: State, bounds: Bounds) -> Move:
    """A paused turn is sent back unchanged, until its pending search is finished."""
    if state.pauses > limits.MAX_PAUSES:
        return Finish("partial", "pauses") if state.restarted else Restart("pauses")
    if state.pending:
        return _finish_search(bounds)
    if state.writing:
        return Ask(writing=True)
    if reason := reason_to_write(state, bounds):
        return Say("write", reason)
    return Ask(writing=False)


def _after_end(state: State, bounds: Bounds) -> Move:
    answer = state.answers[-1]
    if not (text := read_report(state.entries)):
        return _after_no_text(state, "empty_answer")
    if state.writing in CUT_SHORT:
        return Finish("partial", state.writing)
    if gaps := _gaps(state, text):
        return _after_gaps(state, bounds, gaps)
    if state.writing == "max_steps" and bounds.unfinished_at_limit:
        return Finish("partial", "max_steps")
    asked = None if state.writing in ORDINARY else state.writing
    return Finish("completed", asked or answer.stop_reason)


def _gaps(state: State, text: str) -> tuple[str, ...]:
    """The parts of the framework that a text lacks."""
    framework = state.opening.framework
    return tuple(framework.missing(strip_preamble(text))) if framework else ()


def _after_no_text(state: State, stop_reason: str) -> Move:
    """After an answer that was all thinking, ask once more, for less thinking."""
    if not state.writing:
        return Say("write", "empty_answer")
    if not state.rewritten("no_text"):
        return Say("rewrite", state.writing, again="no_text")
    failed = Finish("failed", stop_reason, EmptyReportError("The model wrote no report."))
    return _kept(state) or failed


def _after_gaps(state: State, bounds: Bounds, gaps: tuple[str, ...]) -> Move:
    """Ask once more for a report that lacks parts of its framework; after that it is `partial`."""
    affordable = bounds.time_to_rewrite and not bounds.too_dear_to_write
    if affordable and not state.rewritten("incomplete"):
        return Say("rewrite", state.writing or "incomplete", again="incomplete", gaps=gaps)
    return _kept(state) or Finish("partial", "incomplete", IncompleteReportError(gaps))


def _kept(state: State) -> Finish | None:
    """The end with the earlier, incomplete report, if the report was asked for again."""
    if not state.rewritten("incomplete"):
        return None
    gaps = _gaps(state, choose_report(state.entries))
    return Finish("partial", "incomplete", IncompleteReportError(gaps))


def _after_max_tokens(state: State, bounds: Bounds) -> Move:
    if state.calls() and not state.writing:
        return _after_cut_call(state, bounds)
    if not state.continued and not bounds.out_of_budget and prepare_answer(state.answers[-1]):
        return Say("continue")
    if read_final_turn(state.entries):
        return Finish("partial", "max_tokens")
    return _after_no_text(state, "max_tokens")


def _after_cut_call(state: State, bounds: Bounds) -> Move:
    """A call that reached the output limit was not run, and could not have been: ask for a shorter one,
    unless the model was asked for that last."""
    if state.pending:
        return _finish_search(bounds)
    reason = reason_to_write(state, bounds)
    if reason == "no_progress":
        reason = "cut_calls" if state.asked_for_shorter_call else None
    return Say("write", reason) if reason else Say("continue", again="cut_call")


def _after_refusal(state: State, _: Bounds) -> Move:
    detail = state.answers[-1].stop_detail
    message = f"The model declined this request{f': {detail}' if detail else '.'}"
    error = RefusedError(message, hint="Rephrase the idea and try again.")
    return _kept(state) or Finish("failed", "refusal", error)


def _after_overflow(state: State, _: Bounds) -> Move:
    """Restart once from evidence that is cut to fit, after the model has rejected the conversation. If
    that does not help either, or nothing was said yet, the run ends."""
    last = state.last
    rejected = isinstance(last, ModelCallFailed) and last.rejected
    if state.answers and not state.restarted:
        return Restart("rejected" if rejected else "context_window")
    said = (
        last.reason
        if isinstance(last, ModelCallFailed)
        else "The conversation is too long for the model."
    )
    status: FinalStatus = "partial" if choose_report(state.entries) else "failed"
    if rejected:
        return Finish(status, "model_error", RejectedError(said))
    return Finish(status, "context_window", TooLongError(said))


AFTER: dict[str, Callable[[State, Bounds], Move]] = {
    "tool_use": _after_tool_use,
    "pause_turn": _after_pause,
    "end_turn": _after_end,
    "stop_sequence": _after_end,
    "max_tokens": _after_max_tokens,
    "refusal": _after_refusal,
    "model_context_window_exceeded": _after_overflow,
}
