"""Whether tracks and albums are in the library and the index, looked up for a whole result at once.

None means not known: the look-up failed or took too long, or there is no ISRC to look up. A result is
returned without its flags rather than not at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias

from idea_explorer.agent.tool_calls import run_in_parallel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import TimeLimitExceededError, run_with_time_limit
from idea_explorer.ports import Log

LOOKUP_SECONDS = 1.1  # of the three seconds that a call has, after a search
PLAYLIST_SECONDS = 2.5  # where there is no search before it

Flag: TypeAlias = bool | None
Source: TypeAlias = Literal["library", "index", "catalogue"]
Kind: TypeAlias = Literal["tracks", "albums"]
Question: TypeAlias = Callable[[], frozenset[str]]

NOTES: dict[Source, str] = {
    "library": "library look-up failed: inLibrary is not known",
    "index": "index look-up failed: isIndexed is not known",
    "catalogue": "Tidal look-up failed: links, artwork and durations are missing",
}


@dataclass(frozen=True, slots=True)
class Flags:
    """The answers of a round of look-ups, and a note on each source that did not answer."""

    answers: Mapping[tuple[Source, Kind], frozenset[str]]
    notes: Sequence[str]

    def of(self, source: Source, kind: Kind, key: str | None) -> Flag:
        answer = self.answers.get((source, kind))
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
        run_with_time_limit(lambda: run_in_parallel(asking), seconds, name="flags")
    in_time = dict(answers)
    failed = dict.fromkeys(question[0] for question in questions if question not in in_time)
    return Flags(in_time, [NOTES[source] for source in failed])


def any_of(flags: Iterable[Flag]) -> Flag:
    """Of an album's tracks: true if one is true, false only if every one is known to be."""
    seen = list(flags)
    if True in seen:
        return True
    return None if None in seen or not seen else False
