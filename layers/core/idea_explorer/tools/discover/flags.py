"""Flags of tracks and albums: asked for a whole result set at once, side by side, and three-valued.

None means not known: the look-up failed or came too late, or there is no ISRC to ask for. It never
becomes false, and a result is shown without its flags rather than not at all.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias

from idea_explorer.agent.tool_calls import side_by_side
from idea_explorer.domain.time_limit import TimeLimitExceededError, run_with_time_limit
from idea_explorer.ports import Log

LOOKUP_SECONDS = 0.4  # of the three that a call has; a flag is not worth more

Flag: TypeAlias = bool | None
Source: TypeAlias = Literal["library", "index"]
Kind: TypeAlias = Literal["tracks", "albums"]
Question: TypeAlias = Callable[[], frozenset[str]]

NOTES: dict[Source, str] = {
    "library": "library look-up failed: inLibrary is not known",
    "index": "index look-up failed: isIndexed is not known",
}


class Flags:
    """What a round of look-ups found out."""

    def __init__(
        self,
        answers: Mapping[tuple[Source, Kind], frozenset[str]],
        failed: Iterable[Source],
    ) -> None:
        self._answers = answers
        self.notes = [NOTES[source] for source in dict.fromkeys(failed)]

    def of(self, source: Source, kind: Kind, key: str | None) -> Flag:
        answer = self._answers.get((source, kind))
        return None if key is None or answer is None else key in answer


def look_up(questions: Mapping[tuple[Source, Kind], Question], log: Log, seconds: float) -> Flags:
    """Ask all questions at the same time; those not answered in time count as failed."""
    answers: dict[tuple[Source, Kind], frozenset[str]] = {}

    def ask(name: tuple[Source, Kind], question: Question) -> None:
        try:
            answers[name] = question()
        except Exception as error:  # noqa: BLE001  whatever it was, the result is worth showing
            log.warning("flag_lookup_failed", source=name[0], error=str(error))

    asking = [partial(ask, *question) for question in questions.items()]
    with suppress(TimeLimitExceededError):
        run_with_time_limit(lambda: side_by_side(asking), seconds, name="flags")
    in_time = dict(answers)
    return Flags(in_time, [source for source, kind in questions if (source, kind) not in in_time])


def any_of(flags: Iterable[Flag]) -> Flag:
    """Of an album's tracks: true if one is true, false only if every one is known to be."""
    seen = list(flags)
    if True in seen:
        return True
    return None if None in seen or not seen else False
