"""`idea watch`: an exploration live, to its end."""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass

from idea_explorer.api.views import Details
from idea_explorer.cli.endings import EXIT
from idea_explorer.cli.progress import Progress, screen_of_stderr
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.events import Told, told
from idea_explorer.cli.remote.shown import details_in, outcome, print_ending
from idea_explorer.domain.events import ApprovalRequested
from idea_explorer.domain.text import one_line
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.wiring.local import system_clock


def run(arguments: argparse.Namespace) -> int:
    with Remote.from_environment() as remote:
        return follow(remote, arguments.id, arguments)


def follow(
    remote: Remote,
    exploration_id: str,
    arguments: argparse.Namespace,
    *,
    after: int = 0,
    concludes: bool = False,
) -> int:
    """Show every event as it comes; the exit code is that of the end. Who started it and gets JSON
    `concludes` with the object of the whole."""
    before = details_in(remote.exploration(exploration_id))
    shown = _shown(before, arguments)
    news = told(remote, before.id, system_clock(), shown.lost, shown.waits, after=after)
    try:
        for event in news:
            shown.event(event)
    finally:
        shown.rest()
    after_all = details_in(remote.exploration(exploration_id))
    if not arguments.json:
        stored_only = not TOOLSETS[after_all.toolset].publishes_documents
        print_ending(after_all, _report(remote, after_all) if stored_only else "")
    elif concludes:
        print(json.dumps(outcome(after_all, _report(remote, after_all)), ensure_ascii=False))
    return EXIT.get(after_all.status, 1)


def _report(remote: Remote, details: Details) -> str:
    return remote.text(remote.path(details.id, "report")) if details.links.report else ""


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class _Shown:
    """How events, lost connections and waits are shown, and how the showing ends."""

    event: Callable[[Told], None] = _ignore
    lost: Callable[[str], None] = _ignore
    waits: Callable[[str], None] = _ignore
    rest: Callable[[], None] = _ignore


def _shown(details: Details, arguments: argparse.Namespace) -> _Shown:
    if arguments.json:
        return _Shown(_print_line)
    if arguments.quiet:
        return _Shown()
    screen = screen_of_stderr()
    screen.line(f"Watching: {one_line(details.idea, 80)}", "bold")
    progress = Progress(screen, text=True)

    def show(told: Told) -> None:
        if told.event:
            progress.emit(told.event)
        if isinstance(told.event, ApprovalRequested):
            screen.line(f"  ? {told.event.path}: {one_line(told.event.description, 100)}", "yellow")
            screen.line(f"    decide with: idea approve {details.id} --list", "dim")

    def lost(message: str) -> None:
        screen.line(f"{message} Trying again.", "yellow")

    return _Shown(show, lost, progress.waits, screen.rest)


def _print_line(told: Told) -> None:
    print(json.dumps({"id": told.number, **told.data}, ensure_ascii=False), flush=True)
