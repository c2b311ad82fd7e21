"""Saves how far a run has come while it is going on."""

from datetime import timedelta

from idea_explorer.agent.state import State
from idea_explorer.domain.events import RetryScheduled, RunEvent, StepFinished
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Pause
from idea_explorer.ports import Transcript
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.outcome import stats_of
from idea_explorer.usecases.run_events import RecordingSink


class ProgressSink:
    """Saves the stats with every step, so that listing explorations reads no history.

    They are computed from the transcript, so that a step counts even if its event was lost. What the run
    waits for is saved too, until the next step: no stored event says it.
    """

    def __init__(
        self, exploration: Exploration, transcript: Transcript, sink: RecordingSink, deps: Deps
    ) -> None:
        self._exploration = exploration
        self._transcript = transcript
        self._sink = sink
        self._deps = deps

    def emit(self, event: RunEvent) -> None:
        if not isinstance(event, StepFinished | RetryScheduled):
            return
        now = self._deps.clock.now()
        stats = stats_of(State(self._transcript.entries), None, self._deps.policy.prices)
        changed = self._exploration.replace(stats=stats, updated_at=now, pause=None)
        if isinstance(event, StepFinished):
            self._sink.save_soon(changed)
            return
        until = now + timedelta(seconds=event.seconds)
        self._sink.save(changed.replace(pause=Pause(sentence=event.sentence, until=until)))
