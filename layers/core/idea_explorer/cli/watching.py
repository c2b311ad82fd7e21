"""A run as it is followed: its events as they come, until it ends or waits for somebody who is not there."""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from idea_explorer.api.views import Details
from idea_explorer.cli.display import ProgressDisplay
from idea_explorer.cli.output import parse_details
from idea_explorer.cli.screens import open_screen
from idea_explorer.cli.targets import ReceivedEvent, Target
from idea_explorer.domain.events import ApprovalRequested, StatusChanged
from idea_explorer.domain.json import dump_text
from idea_explorer.domain.text import one_line
from idea_explorer.domain.toolsets import TOOLSETS

if TYPE_CHECKING:
    from idea_explorer.api.approvals import ApprovalView


def list_pending(target: Target, exploration_id: str) -> "list[ApprovalView]":
    return [a for a in target.approvals(exploration_id) if a.status == "pending"]


def show_events(
    target: Target, details: Details, arguments: argparse.Namespace, after: int
) -> None:
    if not (arguments.json or arguments.quiet):
        _display_events(target, details, after)
        return
    for received in _follow_events(target, details.id, _ignore, after):
        if arguments.json:
            line = {"id": received.number, **received.data}
            print(dump_text(line), flush=True)


def _display_events(target: Target, details: Details, after: int) -> None:
    screen = open_screen()
    screen.line(f"Watching: {one_line(details.idea, 80)}", "bold")
    screen.line(f"exploration {details.id}", "dim")
    # an answer that is not published is printed whole at the end
    with ProgressDisplay(
        screen, show_text=TOOLSETS[details.toolset].publishes_documents
    ) as display:
        for received in _follow_events(target, details.id, display.notify, after):
            if received.event:
                display.emit(received.event)
            if isinstance(received.event, ApprovalRequested):
                screen.line(
                    f"    decide with: idea approve {target.name(details.id)} --list", "dim"
                )
            if _is_wait(received) and sys.stderr.isatty():
                screen.line("Waiting for your decision. Ctrl-C stops watching, not the run.", "dim")


def _follow_events(
    target: Target, exploration_id: str, notify: Callable[[str], None], after: int
) -> Iterator[ReceivedEvent]:
    """Without a terminal, such as in CI, nobody sees that a decision is due: a run that waits for one is the
    end."""
    for received in target.events(exploration_id, notify, after=after):
        yield received
        if _is_wait(received) and not sys.stderr.isatty() and _needs_person(target, exploration_id):
            return


def _needs_person(target: Target, exploration_id: str) -> bool:
    is_ending = parse_details(target.show(exploration_id)).cancel_requested
    return not is_ending and bool(list_pending(target, exploration_id))


def _is_wait(received: ReceivedEvent) -> bool:
    event = received.event
    return isinstance(event, StatusChanged) and event.to == "awaiting_approval"


def _ignore(_: str) -> None:
    pass
