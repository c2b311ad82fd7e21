"""How the entries of a run are stored: with as few writes as what acts on them allows."""

from idea_explorer.agent.requests import announce_step
from idea_explorer.domain.transcript import AnyEntry, BranchesStarted, ModelCallFinished, ToolsRan
from idea_explorer.domain.usage import Price
from idea_explorer.ports import EventSink, Transcript


def store_entry(entry: AnyEntry, transcript: Transcript) -> None:
    """At once if others act on it; what only goes to the model is stored with the announcement of its next
    call."""
    if isinstance(entry, BranchesStarted) or (isinstance(entry, ToolsRan) and entry.pending):
        transcript.append(entry)
    else:
        transcript.add(entry)


def store_answer(
    finished: ModelCallFinished, price: Price | None, transcript: Transcript, sink: EventSink
) -> None:
    """Together with the event of its step. The answer is paid for, so it is stored whatever a sink raises."""
    transcript.add(finished)
    try:
        sink.emit(announce_step(finished, price))
    finally:
        transcript.flush()
