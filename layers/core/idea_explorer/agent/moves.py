"""What to do next: one decision, made from the state alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.errors import (
    EmptyReportError,
    ExplorerError,
    RefusedError,
    TooLongError,
)
from idea_explorer.domain.report import best_text, reported_text, written_text
from idea_explorer.domain.transcript import (
    Answered,
    Cut,
    WriteReason,
    sendable,
)

FinalStatus = Literal[
    "completed", "partial", "failed", "timed_out", "cancelled", "awaiting_approval"
]

# Reasons for writing that mean the research itself was cut short.
CUT_SHORT: frozenset[WriteReason] = frozenset({"deadline", "budget"})


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the model."""

    tools_off: bool


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run the calls of the last answer."""


@dataclass(frozen=True, slots=True)
class Say:
    """Add words of ours before the next call."""

    purpose: Literal["write", "continue"]
    reason: WriteReason | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """Write in a new conversation, from the evidence."""

    reason: WriteReason


@dataclass(frozen=True, slots=True)
class Finish:
    status: FinalStatus
    stop_reason: str
    error: ExplorerError | None = None


Move: TypeAlias = Ask | RunTools | Say | Restart | Finish


@dataclass(frozen=True, slots=True)
class Bounds:
    """What limits the run at this moment."""

    max_steps: int
    out_of_time: bool
    out_of_budget: bool = False
    too_dear_to_write: bool = False  # in the conversation as it is; cut evidence may still fit
    unfinished_at_limit: bool = False  # a toolset whose work, not its text, is the result


def next_move(state: State, bounds: Bounds) -> Move:
    last = state.last
    if isinstance(last, Answered):
        return AFTER.get(last.stop_reason, _after_end)(state, bounds)
    if isinstance(last, Cut) and last.overflow:
        return _after_overflow(state, bounds)
    if state.waiting:
        return Finish("awaiting_approval", "approval")
    if state.writing:
        return _write(state, bounds)
    if state.pending:
        return _finish_search(bounds)
    if reason := reason_to_write(state, bounds):
        return Say("write", reason)
    return Ask(tools_off=False)


def _write(state: State, bounds: Bounds) -> Move:
    """A conversation that has become too dear to be read once more is given up for its evidence."""
    if bounds.too_dear_to_write and state.answers and not state.restarted:
        return Restart("budget")
    return Ask(tools_off=True)


def _finish_search(bounds: Bounds) -> Move:
    """Nothing may be said before a pending search has ended. Without the time to wait for it, or the
    money to pay for it, what was found so far is written up in a new conversation."""
    if bounds.out_of_time:
        return Restart("deadline")
    return Restart("budget") if bounds.out_of_budget else Ask(tools_off=False)


def reason_to_write(state: State, bounds: Bounds) -> WriteReason | None:
    """Why gathering has to end now, or None."""
    if bounds.out_of_time:
        return "deadline"
    if bounds.out_of_budget:
        return "budget"
    if state.steps + 1 >= bounds.max_steps:
        return "max_steps"
    return state.stalled


def _after_tool_use(state: State, bounds: Bounds) -> Move:
    """With the tools off nothing runs, whatever a model answers."""
    if state.calls() and not state.writing:
        return RunTools()
    return _after_end(state, bounds)


def _after_pause(state: State, bounds: Bounds) -> Move:
    """A paused turn goes back unchanged. Its pending search is finished before anything else is said."""
    if state.pauses > limits.MAX_PAUSES:
        return Finish("partial", "pauses") if state.restarted else Restart("pauses")
    if state.pending:
        return _finish_search(bounds)
    if state.writing:
        return Ask(tools_off=True)
    if reason := reason_to_write(state, bounds):
        return Say("write", reason)
    return Ask(tools_off=False)


def _after_end(state: State, bounds: Bounds) -> Move:
    answer = state.answers[-1]
    if not reported_text(state.entries):
        if state.writing or bounds.out_of_time:
            return Finish("failed", "empty_answer", EmptyReportError("The model wrote no report."))
        return Say("write", "empty_answer")
    if state.writing in CUT_SHORT:
        return Finish("partial", state.writing)
    if state.writing == "max_steps" and bounds.unfinished_at_limit:
        return Finish("partial", "max_steps")
    return Finish("completed", state.writing or answer.stop_reason)


def _after_max_tokens(state: State, bounds: Bounds) -> Move:
    if state.continued or bounds.out_of_budget or not sendable(state.answers[-1]):
        return _cut_off(state)
    return Say("continue")


def _cut_off(state: State) -> Move:
    if written_text(state.entries):
        return Finish("partial", "max_tokens")
    if state.writing:
        return Finish("failed", "max_tokens", EmptyReportError("The model wrote no report."))
    return Say("write", "empty_answer")


def _after_refusal(state: State, _: Bounds) -> Move:
    detail = state.answers[-1].stop_detail
    message = (
        f"The model declined this request: {detail}"
        if detail
        else "The model declined this request."
    )
    return Finish(
        "failed", "refusal", RefusedError(message, hint="Rephrase the idea and try again.")
    )


def _after_overflow(state: State, _: Bounds) -> Move:
    """Once, a conversation that has become too long is given up for its evidence, which is cut to a
    size that fits. Where that did not help, or nothing has been said yet, nothing will."""
    if state.answers and not state.restarted:
        return Restart("context_window")
    last = state.last
    said = last.reason if isinstance(last, Cut) else "The conversation is too long for the model."
    status: FinalStatus = "partial" if best_text(state.entries) else "failed"
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
