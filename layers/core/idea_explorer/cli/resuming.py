"""`idea resume` on this machine's own store: after decisions, or from the checkpoint of an early end."""

import argparse

from pydantic import ValidationError

from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.explore import OWNER, ended
from idea_explorer.cli.here import close_what_broke_off, run_here
from idea_explorer.domain.errors import ConflictError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ResumeRequest, invalid_request
from idea_explorer.ports import EventSink
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find
from idea_explorer.usecases.resume import claim, resume
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.local import cli_log, process_lock, running_here
from idea_explorer.wiring.toolsets import check_folder

LIMITS = ("max_steps", "max_cost_usd", "deadline_seconds")


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    check_folder(settings)
    shown: list[EventSink] = []
    deps = local_deps(settings, cli_log(None), shown)
    found = find(arguments.id, OWNER, deps)
    if running_here(settings)(found):
        raise ConflictError(f"Exploration {found.id} is running here.")
    close_what_broke_off(deps, settings, arguments, but=found.id)
    with process_lock(settings).held(found.id):
        exploration = _next(found, arguments, deps)
        watched = not (arguments.quiet or arguments.json)
        final = run_here(exploration, deps, settings, shown if watched else None)
    return ended(final, deps, arguments)


def _next(exploration: Exploration, arguments: argparse.Namespace, deps: Deps) -> Exploration:
    """The run to go on with: the one that waits for decisions or was broken off, or a new one."""
    left = exploration.status == "queued" and exploration.run.by_command
    if left or exploration.status in {"awaiting_approval", "running"}:
        return claim(exploration, deps)
    given = {name: getattr(arguments, name) for name in LIMITS}
    try:
        wanted = ResumeRequest.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        raise invalid_request(error) from error
    return resume(exploration.id, OWNER, wanted, deps, by_command=True)
