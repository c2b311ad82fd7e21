"""The end of a run whose last call to the model came to nothing."""

from idea_explorer.agent.bounds import Bounds
from idea_explorer.agent.moves import Finish, find_earlier_end
from idea_explorer.agent.state import State
from idea_explorer.agent.stream_watcher import Interrupted
from idea_explorer.domain.errors import ExplorerError, RejectedError, TooLongError
from idea_explorer.domain.report import choose_report


def is_conversation_refused(state: State, error: Exception) -> bool:
    """Whether the API rejects a conversation that it accepted before: it has grown too long, or its thinking
    blocks have become invalid, as after a change of account. A new conversation may still work."""
    return isinstance(error, RejectedError) and (
        isinstance(error, TooLongError) or bool(state.answers)
    )


def end_interrupted(state: State, stop: Interrupted) -> Finish:
    if stop.reason == "cancelled":
        return Finish("cancelled", "cancelled")
    return end_early(state, stop.reason, stop.error)


def end_early(state: State, reason: str, error: ExplorerError | None) -> Finish:
    """`partial` if there is any text to keep. A correction that fails leaves the report as it was."""
    if earlier := find_earlier_end(state, Bounds(max_steps=0, out_of_time=False)):
        return earlier
    if choose_report(state.entries):
        return Finish("partial", reason, error)
    return Finish("timed_out" if reason == "deadline" else "failed", reason, error)
