"""Where the explorations are that a command is about: at a deployment, or on this machine."""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import ValidationError

from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.event_json import parse_event
from idea_explorer.domain.events import AnyEvent
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, ResumeRequest

if TYPE_CHECKING:
    from idea_explorer.api.approvals import ApprovalPreview, ApprovalView
    from idea_explorer.api.views import Details
    from idea_explorer.domain.run import Stats
    from idea_explorer.domain.spend_summary import SpendSummary
    from idea_explorer.ports import RevertResult, UploadedFiles
    from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest


@dataclass(frozen=True)
class ReceivedEvent:
    """An event as it was sent. `event` is None for a kind that this version does not know."""

    number: int
    data: JsonObject
    event: AnyEvent | None


class Target(Protocol):
    """JSON objects are those of the API, whichever target answers: scripts get them unchanged.

    Raises ExplorerError: its kind says whether trying again helps.
    """

    def submit(self, body: JsonObject, files: "UploadedFiles", key: str) -> JsonObject:
        """Queue a new exploration. With the same key, nothing is started twice."""
        ...

    def estimate(self, request: ExploreRequest) -> JsonObject:
        """What the request would cost and take. Starts and stores nothing."""
        ...

    def list_explorations(self, **filters: object) -> JsonObject: ...

    def spend(self, days: int) -> "SpendSummary":
        """What the explorations of these days cost, today included."""
        ...

    def search(self, words: str, limit: int) -> JsonObject:
        """Research documents with these words: `results` with title, path and more, and `totalFound`. A
        document has every word, and the newest come first."""
        ...

    def show(self, exploration_id: str) -> JsonObject: ...
    def report(self, exploration_id: str) -> str: ...

    def stats(self, details: "Details") -> "Stats":
        """With the tool calls, where the target knows them."""
        ...

    def events(
        self, exploration_id: str, notify: Callable[[str], None], *, after: int = 0
    ) -> Iterator[ReceivedEvent]:
        """Every event once and in order, until no more can come. `notify` gets a sentence about each
        wait and each lost connection."""
        ...

    def last_event_id(self, exploration_id: str) -> int: ...
    def cancel(self, exploration_id: str) -> JsonObject: ...

    def resume(
        self, exploration_id: str, limits: ResumeRequest, *, show_progress: bool
    ) -> JsonObject:
        """Queue the next run; on this machine, run it now, with its progress on stderr."""
        ...

    def approvals(self, exploration_id: str) -> "list[ApprovalView]": ...
    def decide(
        self, exploration_id: str, approval_id: str, request: "DecisionRequest"
    ) -> "ApprovalView":
        """The change as it stands after the decision."""
        ...

    def preview(
        self, exploration_id: str, approval_id: str, edit: "EditRequest"
    ) -> "ApprovalPreview":
        """What approving the change with this edit would write. Decides nothing."""
        ...

    def await_written(self, exploration_id: str) -> "list[ApprovalView]":
        """The changes, once it is known of the approved ones whether they were written, or after a while."""
        ...

    def revert(self, exploration_id: str) -> "RevertResult": ...
    def resend_webhook(self, exploration_id: str) -> JsonObject:
        """The delivery."""
        ...

    def page(self, details: "Details") -> str | None:
        """The web page that shows an exploration; None where there is none."""
        ...

    @property
    def options(self) -> str:
        """What the next command needs to be about this target, whatever is exported; begins with a space."""
        ...

    @property
    def place(self) -> str:
        """Where it looks, for somebody who finds nothing there; empty where they know."""
        ...

    def name(self, exploration_id: str) -> str:
        """The exploration as the arguments of the next command have to name it."""
        ...

    def is_worked_on(self, exploration_id: str) -> bool:
        """Whether a run that has not ended is still under way. A deployment ends others by itself."""
        ...

    @property
    def continues_by_itself(self) -> bool:
        """Whether a run goes on once a person has decided, without another command."""
        ...

    @property
    def other_places(self) -> str:
        """Where an exploration may be that is not here, and how to say so."""
        ...

    def describe_next(self, exploration_id: str) -> str:
        """What happens to a run whose changes are all decided, and the command for it."""
        ...


def choose_target(arguments: argparse.Namespace) -> Target:
    """The deployment that IDEA_API_URL names, or this machine. Ids in the arguments are whole after this.
    Nothing else looks at that variable."""
    from idea_explorer.cli.targets.ids import complete_ids

    target = _choose(arguments)
    try:
        complete_ids(arguments, target)
    except MissingError as error:
        raise MissingError(error.message, hint=error.hint or target.place) from error
    return target


def _choose(arguments: argparse.Namespace) -> Target:
    research = getattr(arguments, "research", None)
    if os.environ.get("IDEA_API_URL") and not getattr(arguments, "local", False):
        from idea_explorer.cli.targets.deployment import DeploymentTarget

        return DeploymentTarget.from_environment(research, getattr(arguments, "profile", None))
    from idea_explorer.cli.targets.local import LocalTarget

    return LocalTarget.in_folder(research)


def parse_received(number: int, data: str) -> ReceivedEvent:
    try:
        event = parse_event(data)
    except ValidationError:
        event = None
    return ReceivedEvent(number, json.loads(data), event)
