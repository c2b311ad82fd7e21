"""`idea approve` and `idea reject`: at a deployment, or on this machine's own store."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from idea_explorer.api.approvals import ApprovalList, ApprovalView, build_approval_view
from idea_explorer.cli.deciding import shown
from idea_explorer.cli.endings import named
from idea_explorer.cli.environment import settings_for
from idea_explorer.domain.errors import (
    ConflictError,
    ExternalError,
    InvalidRequestError,
    MissingError,
)
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import invalid_request
from idea_explorer.usecases.approvals.decide import DecisionRequest

OWNER = "local"


class Decisions(Protocol):
    """Where decisions are made."""

    def next_step(self, exploration_id: str) -> str:
        """What to do when all are made."""
        ...

    def all(self, exploration_id: str) -> list[ApprovalView]: ...
    def decide(self, exploration_id: str, approval_id: str, request: DecisionRequest) -> None: ...


def run(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    decisions = _here(arguments) if not os.environ.get("IDEA_API_URL") else _remote()
    listed = decisions.all(arguments.id)
    if arguments.list:
        _print(listed, arguments)
        return 0
    for approval in _chosen(listed, arguments):
        decisions.decide(arguments.id, approval.id, request)
        if not arguments.quiet:
            print(f"{approval.path}: {'approved' if arguments.approves else 'rejected'}")
    left = sum(a.status == "pending" for a in decisions.all(arguments.id))
    if not arguments.quiet:
        print(f"{left} more to decide" if left else decisions.next_step(arguments.id))
    return 0


def _request(arguments: argparse.Namespace) -> DecisionRequest:
    if not arguments.approves:
        given: JsonObject = {"decision": "reject", "reason": arguments.reason}
    else:
        given = {"decision": "approve"}
        if arguments.content:
            given["content"] = _content(arguments.content)
    try:
        return DecisionRequest.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error) from error


def _content(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"The content {file} cannot be read: {error}.") from error


def _chosen(listed: list[ApprovalView], arguments: argparse.Namespace) -> list[ApprovalView]:
    """The one that is named, else all that wait; another content is meant for one alone."""
    if arguments.approval:
        found = [a for a in listed if a.id == arguments.approval]
        if not found:
            raise MissingError(f"Exploration {arguments.id} did not ask for {arguments.approval}.")
        return found
    waiting = [a for a in listed if a.status == "pending"]
    if not waiting:
        raise ConflictError(f"Exploration {arguments.id} waits for no decision.")
    if arguments.approves and arguments.content and len(waiting) > 1:
        raise InvalidRequestError(
            "Several changes wait; --content is for one of them.",
            hint=f"Name it: {', '.join(a.id for a in waiting)}.",
        )
    return waiting


def _print(listed: list[ApprovalView], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps([a.model_dump(mode="json") for a in listed], ensure_ascii=False))
        return
    if not listed and not arguments.quiet:
        print("idea: it asked for no decision", file=sys.stderr)
    for approval in listed:
        print(f"{approval.id}  {approval.status}")
        coloured = sys.stdout.isatty()
        print(shown(approval.path, approval.description, approval.diff, coloured=coloured))


def _remote() -> Decisions:
    from idea_explorer.cli.remote.client import Remote

    class AtDeployment:
        def __init__(self) -> None:
            self._remote = Remote.from_environment()

        def next_step(self, exploration_id: str) -> str:
            return f"It goes on. Follow it with: idea watch {exploration_id}"

        def all(self, exploration_id: str) -> list[ApprovalView]:
            answer = self._remote.get(self._remote.path(exploration_id, "approvals"))
            try:
                return ApprovalList.model_validate(answer).approvals
            except ValidationError as error:
                raise ExternalError("The API's answer was not understood.") from error

        def decide(self, exploration_id: str, approval_id: str, request: DecisionRequest) -> None:
            path = self._remote.path(exploration_id, f"approvals/{approval_id}")
            self._remote.post(path, request.model_dump(mode="json", exclude_none=True))

    return AtDeployment()


def _here(arguments: argparse.Namespace) -> Decisions:
    from idea_explorer.usecases.approvals.decide import decide
    from idea_explorer.usecases.find import find
    from idea_explorer.wiring.deps import local_deps
    from idea_explorer.wiring.local import cli_log

    deps = local_deps(settings_for(arguments.research), cli_log(None))

    class OnThisMachine:
        def next_step(self, exploration_id: str) -> str:
            return f"Go on with: idea resume {named(exploration_id, arguments.research)}"

        def all(self, exploration_id: str) -> list[ApprovalView]:
            exploration = find(exploration_id, OWNER, deps)
            asked = deps.approvals.approvals(exploration.id)
            return [build_approval_view(approval, exploration) for approval in asked]

        def decide(self, exploration_id: str, approval_id: str, request: DecisionRequest) -> None:
            decide(exploration_id, approval_id, request, OWNER, deps)

    return OnThisMachine()
