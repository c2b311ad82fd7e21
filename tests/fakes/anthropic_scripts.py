"""Which turn answers which request.

A model is any callable `(request, index) -> Turn`; index counts the requests it was asked.
`in_order` gives the turns one by one. `ByConversation` gives the turn that belongs to the point
which the conversation has reached, so that a call repeated after a crash gets its answer again.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tests.fakes.anthropic_faults import Fault, FaultKind
from tests.fakes.anthropic_turns import Turn, Usage, answer, text
from tests.fakes.anthropic_wire import (
    JsonObject,
    assistant_blocks,
    canonical,
    content_blocks,
    conversation_of,
)

Model = Callable[[JsonObject, int], Turn]
Entry = Turn | Fault


class ScriptExhaustedError(Exception):
    """A request came for which the script has no turn."""


def as_turn(entry: Entry) -> Turn:
    if isinstance(entry, Turn):
        return entry
    return answer(text("This answer was meant to be interrupted."), fault=entry)


def in_order(script: Sequence[Entry], *, repeat_last: bool = False) -> Model:
    turns = [as_turn(entry) for entry in script]

    def next_turn(request: JsonObject, index: int) -> Turn:
        return _turn_at(turns, index, repeat_last=repeat_last)

    return next_turn


def _turn_at(turns: Sequence[Turn], position: int, *, repeat_last: bool) -> Turn:
    if position < len(turns):
        return turns[position]
    if repeat_last and turns:
        return turns[-1]
    raise ScriptExhaustedError(f"The script has {len(turns)} turns, but turn {position + 1} is due")


class ByConversation:
    """Turn n answers a request that holds n answers, however often it is sent."""

    def __init__(self, script: Sequence[Entry], *, repeat_last: bool = False) -> None:
        self._turns = [as_turn(entry) for entry in script]
        self._repeat_last = repeat_last
        self._lock = threading.Lock()
        # Answers are told by how many blocks they left in the history: counting messages would
        # miss a paused answer whose rest was joined to it.
        self._reached: dict[tuple[str, int], int] = {}
        self._strikes: Counter[tuple[str, int]] = Counter()

    def __call__(self, request: JsonObject, index: int) -> Turn:
        conversation = conversation_of(request)
        blocks = sum(1 for _ in assistant_blocks(request))
        messages = sum(message["role"] == "assistant" for message in request["messages"])
        with self._lock:
            position = self._reached.get((conversation, blocks), messages)
            turn = _turn_at(self._turns, position, repeat_last=self._repeat_last)
            if turn.blocks:
                self._reached[conversation, blocks + len(turn.blocks)] = position + 1
            return self._with_due_fault(turn, (conversation, position))

    def _with_due_fault(self, turn: Turn, point: tuple[str, int]) -> Turn:
        if turn.fault is None or turn.fault.times is None:
            return turn
        self._strikes[point] += 1
        spent = self._strikes[point] > turn.fault.times
        return dataclasses.replace(turn, fault=None) if spent else turn


class BySubject:
    """A model for each text that the first message of a conversation may hold, the first that fits."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = models

    def __call__(self, request: JsonObject, index: int) -> Turn:
        asked = canonical(content_blocks(request["messages"][0]))
        for subject, model in self._models.items():
            if subject in asked:
                return model(request, index)
        raise ScriptExhaustedError("No script is about what was asked")


Script = Sequence[Entry] | Mapping[str, Sequence[Entry]]


def dump_script(script: Script) -> str:
    """The script as JSON for the program, or the scripts by their subjects."""
    if isinstance(script, Mapping):
        return json.dumps({subject: json.loads(dump_script(s)) for subject, s in script.items()})
    return json.dumps([dataclasses.asdict(as_turn(entry)) for entry in script], indent=1)


def load_script(document: str, arrange: Callable[[Sequence[Entry]], Model]) -> Model:
    script = json.loads(document)
    if isinstance(script, dict):
        return BySubject({subject: arrange(_load_turns(s)) for subject, s in script.items()})
    return arrange(_load_turns(script))


def _load_turns(script: Sequence[JsonObject]) -> list[Turn]:
    return [_load_turn(entry) for entry in script]


def _load_turn(entry: JsonObject) -> Turn:
    """A turn from JSON; only `blocks` is needed, the stop reason is inferred as `answer` does."""
    fields = dict(entry)
    blocks = tuple(fields.pop("blocks", ()))
    if fields.get("usage") is not None:
        fields["usage"] = Usage(**fields["usage"])
    if fields.get("fault") is not None:
        fault = dict(fields["fault"])
        fields["fault"] = Fault(**{**fault, "kind": FaultKind(fault["kind"])})
    return answer(*blocks, **fields)
