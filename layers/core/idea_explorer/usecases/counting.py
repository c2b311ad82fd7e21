"""What a run has taken so far, kept in its record."""

from collections.abc import Mapping
from datetime import timedelta

from idea_explorer.agent.state import State
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.events import Heard, StepFinished, TryingAgain
from idea_explorer.domain.exploration import Exploration, Pause
from idea_explorer.domain.usage import Price
from idea_explorer.ports import Explorations, Journal
from idea_explorer.usecases.endings import stats_of


class Counted:
    """Saves the figures with every step, so that a list tells them without reading any history.

    They come from the journal, not from the events: a step whose event was lost counts too. What the
    run waits for is kept as well, until the next step: no event tells it.
    """

    def __init__(
        self,
        exploration: Exploration,
        journal: Journal,
        explorations: Explorations,
        clock: Clock,
        prices: Mapping[str, Price],
    ) -> None:
        self._exploration = exploration
        self._journal = journal
        self._explorations = explorations
        self._clock = clock
        self._prices = prices

    def emit(self, event: Heard) -> None:
        if not isinstance(event, StepFinished | TryingAgain):
            return
        now = self._clock.now()
        stats = stats_of(State(self._journal.entries), None, self._prices)
        pause = None
        if isinstance(event, TryingAgain):
            until = now + timedelta(seconds=event.seconds)
            pause = Pause(sentence=event.sentence, until=until)
        changes = {"stats": stats, "updated_at": now, "pause": pause}
        self._explorations.save(self._exploration.model_copy(update=changes))
