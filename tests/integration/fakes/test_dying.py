"""The transcripts of a worker that dies, whichever of its threads comes first."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.deps import Deps
from tests.fakes.dying import DyingTranscripts, KilledError
from tests.fakes.explorations import NOW, an_exploration


def has_ended(exploration: Exploration) -> bool:
    return exploration.run.outcome is not None


@pytest.mark.parametrize("after", [False, True])
def test_a_flush_in_another_thread_ends_the_worker_and_raises_only_there(
    stores: Deps, *, after: bool
) -> None:
    running = an_exploration(status="running", started_at=NOW)
    assert stores.explorations.create(running)
    taken = stores.explorations.take_over(running.id, lambda e: e)
    dying = DyingTranscripts(stores.transcripts, has_ended, after=after)
    transcript = dying.open(taken.id, taken.lease)
    transcript.set_record(taken.replace(outcome="completed"))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(transcript.flush).result()
    transcript.set_record(taken.replace(outcome=None))
    with pytest.raises(KilledError):
        transcript.flush()

    stored = stores.explorations.load(taken.id)
    assert stored.run.outcome == ("completed" if after else None)
