"""How the entries of a run are stored: with as few writes as what acts on them allows."""

from idea_explorer.agent.requests import announce_step
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.transcript import (
    AnyEntry,
    BranchesStarted,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    ToolsRan,
)
from idea_explorer.domain.usage import Price, Usage
from idea_explorer.ports import EventSink, Transcript


def store_entry(entry: AnyEntry, transcript: Transcript) -> None:
    """At once if others act on it; what only goes to the model is stored with the announcement of its next
    call."""
    if isinstance(entry, BranchesStarted) or (isinstance(entry, ToolsRan) and entry.pending):
        transcript.append(entry)
    else:
        transcript.add(entry)


def store_call(started: ModelCallStarted, transcript: Transcript) -> None:
    """Before the call is made. Where that fails, it may be stored all the same, now or later: so the
    transcript also says that the call was never made and cost nothing."""
    try:
        transcript.append(started)
    except ExternalError as error:
        failed = ModelCallFailed(step=started.step, text="", usage=Usage(), reason=str(error))
        transcript.add(failed)
        raise


def store_answer(
    finished: ModelCallFinished, price: Price | None, transcript: Transcript, sink: EventSink
) -> None:
    """Together with the event of its step. The answer is paid for, so it is stored whatever a sink raises."""
    transcript.add(finished)
    try:
        sink.emit(announce_step(finished, price))
    finally:
        transcript.flush()
