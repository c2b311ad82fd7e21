"""`idea resume` on this machine's own store: after decisions, or from the checkpoint of an early end."""

import argparse
import sys

from pydantic import ValidationError

from idea_explorer import wiring
from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.explore import OWNER, ended
from idea_explorer.cli.here import close_what_broke_off, run_here
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ResumeRequest, invalid_request
from idea_explorer.ports import EventSink
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.find import find
from idea_explorer.usecases.resume import claim, resume
from idea_explorer.wiring import publishing

LIMITS = ("max_steps", "max_cost_usd", "deadline_seconds")


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    wiring.check_folder(settings)
    shown: list[EventSink] = []
    engine = wiring.local_engine(settings, wiring.cli_log(None), shown)
    destinations = publishing.destinations(settings, engine.clock)
    found = find(arguments.id, OWNER, engine.explorations)
    if wiring.running_here(settings)(found):
        raise ConflictError(f"Exploration {found.id} is running here.")
    close_what_broke_off(engine, destinations, settings, arguments, but=found.id)
    with wiring.process_lock(settings).held(found.id):
        exploration = _next(found, arguments, engine)
        watched = not (arguments.quiet or arguments.json)
        final = run_here(exploration, engine, destinations, settings, shown if watched else None)
    return ended(final, engine, arguments)


def _next(exploration: Exploration, arguments: argparse.Namespace, engine: Engine) -> Exploration:
    """The run to go on with: the one that waits for decisions or was broken off, or a new one."""
    left = exploration.status == "queued" and exploration.run.by_command
    if left or exploration.status in {"awaiting_approval", "running"}:
        return claim(exploration, engine.explorations)
    given = {name: getattr(arguments, name) for name in LIMITS}
    try:
        wanted = ResumeRequest.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        raise invalid_request(error) from error
    return resume(
        exploration.id,
        OWNER,
        wanted,
        explorations=engine.explorations,
        queue=_NoQueue(),
        clock=engine.clock,
        log=engine.log,
        terms=engine.terms,
        by_command=True,
    )


class _NoQueue:
    """The run is done here and now."""

    def send(self, exploration_id: str, run: int, *, delay_seconds: int = 0) -> None:
        pass

    def dead_letter(self, body: str, reason: str) -> None:
        print(f"idea: {reason}", file=sys.stderr)
