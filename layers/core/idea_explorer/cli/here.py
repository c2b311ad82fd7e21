"""A run on this machine: through every decision that it waits for, to its end."""

import argparse
import sys

from idea_explorer.cli import stopping
from idea_explorer.cli.deciding import Decide, at_terminal
from idea_explorer.cli.endings import how_to_go_on
from idea_explorer.cli.progress import progress_for
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.ports import EventSink
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.jobs import explore_or_settle, finish, send_webhook, settle_abandoned
from idea_explorer.wiring.local import LOCAL_OWNER, worked_on_here


def run_here(
    exploration: Exploration,
    deps: Deps,
    settings: Settings,
    shown: list[EventSink] | None,
) -> Exploration:
    """Run and publish. Where somebody watches, `shown` takes the progress, and they may be asked.

    Whoever calls this is at work on the run already, by `process_lock`: before it could be found queued.
    """
    if shown is None:
        return _run_through(exploration, deps, None)
    with progress_for(exploration, settings) as progress:
        shown.append(progress)
        return _run_through(exploration, deps, at_terminal(deps))


def close_what_broke_off(
    deps: Deps,
    settings: Settings,
    arguments: argparse.Namespace,
    *,
    but: ExplorationId | None = None,
) -> None:
    """End runs whose commands were killed, so that they hold nothing back from the one to come."""
    worked_on = worked_on_here(settings)
    for lost in settle_abandoned(LOCAL_OWNER, deps, worked_on, but=but):
        send_webhook(lost, deps)
        how = how_to_go_on(lost, arguments.research)
        if how and not arguments.quiet:
            print(f"idea: Exploration {lost.id} had broken off. {how}", file=sys.stderr)


def _run_through(exploration: Exploration, deps: Deps, decide: Decide | None) -> Exploration:
    """Where nobody can be asked to decide, or does not answer, the run is left waiting."""
    reached = _explored(exploration, deps)
    while reached.status == "awaiting_approval":
        if decide is None or not decide(reached):
            return reached
        reached = _explored(exploration, deps)
    return finish(
        reached.id,
        reached.run.number,
        deps,
        lambda sentence: print(f"idea: {sentence}", file=sys.stderr),
    )


def _explored(exploration: Exploration, deps: Deps) -> Exploration:
    """Explore; whoever stops it meanwhile has what is there kept."""

    def cancel() -> None:
        print("idea: stopping; press Ctrl-C again to end at once", file=sys.stderr)
        deps.explorations.request_cancel(exploration.id)

    stopping.gently(cancel)
    try:
        return explore_or_settle(exploration.id, exploration.run.number, deps)
    finally:
        stopping.at_once()
