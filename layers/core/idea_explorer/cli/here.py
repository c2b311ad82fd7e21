"""A run on this machine: through every decision that it waits for, to its end."""

import signal
import sys
from collections.abc import Callable

from idea_explorer.domain.exploration import Exploration
from idea_explorer.usecases.explore import Engine, explore
from idea_explorer.usecases.finish import Outlets, finish

Decide = Callable[[Exploration], bool]


def run_through(
    exploration: Exploration, engine: Engine, outlets: Outlets, decide: Decide | None
) -> Exploration:
    """Run and publish. `decide` asks a person, and says whether everything is decided; where nobody can
    be asked, or does not answer, the run is left waiting."""
    _cancel_on_interrupt(engine, exploration)
    reached = explore(exploration.id, exploration.run, engine)
    while reached.status == "awaiting_approval":
        if decide is None or not decide(reached):
            return reached
        _cancel_on_interrupt(engine, exploration)
        reached = explore(exploration.id, exploration.run, engine)
    return finish(
        reached.id,
        reached.run,
        engine,
        outlets,
        lambda sentence: print(f"idea: {sentence}", file=sys.stderr),
    )


def _cancel_on_interrupt(engine: Engine, exploration: Exploration) -> None:
    """The first Ctrl-C asks the run to stop and keeps what is there; the second ends it at once."""

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        engine.explorations.request_cancel(exploration.id)
        print("idea: stopping; press Ctrl-C again to end at once", file=sys.stderr)

    signal.signal(signal.SIGINT, cancel)
