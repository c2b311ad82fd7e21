"""The live view, followed to its end across answers, lost connections and restarts."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.events import AnyEvent, parse_event
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.retry import RetryPolicy

RECONNECT = RetryPolicy(first=1.0, longest=15.0, attempts=8)  # a minute: no restart takes as long


@dataclass(frozen=True)
class Told:
    """An event as it was sent. `event` is None for a kind that this version does not know."""

    number: int
    data: JsonObject
    event: AnyEvent | None


def told(
    remote: Remote,
    exploration_id: str,
    clock: Clock,
    lost: Callable[[str], None],
    waits: Callable[[str], None] = lambda _: None,
    *,
    after: int = 0,
) -> Iterator[Told]:
    """Every event once and in order, to the last there is.

    A connection that is lost is taken up again after the last event seen. `waits` hears what the run
    waits for, once, however often the API says it.
    """
    path = remote.path(exploration_id, "events")
    last, failures, comment = after, 0, ""
    while True:
        try:
            answer = remote.stream(path, last)
        except ExplorerError as error:
            failures += 1
            again = RECONNECT.next(error, failures)
            if again is None:
                raise
            lost(error.message)
            clock.sleep(again.seconds)
            continue
        failures = 0
        if answer is None:
            return
        for found in parse_stream(answer):
            last = found.number
            yield found
        said = comment_in(answer)
        if said and said != comment:
            waits(said)
        comment = said


def parse_stream(text: str) -> Iterator[Told]:
    """The events of one answer. Lines end in LF alone: JSON may hold other line ends as they are."""
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
        if "data" in fields:
            yield Told(int(fields["id"]), json.loads(fields["data"]), _known(fields["data"]))


def comment_in(text: str) -> str:
    """What an answer says beside its events; "" where it says nothing."""
    comments = [line for line in text.split("\n") if line.startswith(": ")]
    return comments[-1].removeprefix(": ") if comments else ""


def _known(data: str) -> AnyEvent | None:
    try:
        return parse_event(data)
    except ValidationError:
        return None
