"""`idea approve` and `idea reject`, for changes to files and for the plan of a research run."""

import argparse
import sys
from pathlib import Path

from pydantic import ValidationError

from idea_explorer.api.approvals import ApprovalView
from idea_explorer.cli.decisions import (
    NOT_WRITTEN,
    describe_decision,
    format_change,
    format_diff,
    read_numbers,
)
from idea_explorer.cli.output import parse_details, print_json
from idea_explorer.cli.streams import print_coloured, say, until_reader_leaves, warn
from idea_explorer.cli.targets import Target, choose_target
from idea_explorer.domain.errors import ConflictError, InvalidRequestError, MissingError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import invalid_request
from idea_explorer.usecases.approvals.decide import MAX_CONTENT, DecisionRequest, EditRequest
from idea_explorer.wiring.local import read_given_file


def run(arguments: argparse.Namespace) -> int:
    """Not 0 where something was approved and could not be written, and where nothing was decided."""
    request = _read_decision(arguments)
    target = choose_target(arguments)
    approvals = target.approvals(arguments.id)
    if arguments.list:
        _print_approvals(approvals, arguments)
        return 0
    decided: dict[str, ApprovalView] = {}
    shows = not (arguments.quiet or arguments.json)
    for approval in _select(approvals, arguments, target):
        if arguments.approves and approval.danger and not request.confirm_danger:
            warn(_explain_danger(approval, arguments.id, target))
            continue
        is_edited = request.content is not None or request.hunks is not None
        if is_edited and approval.kind != "plan":
            request = _show_edit(approval, request, target, arguments)
        view = target.decide(arguments.id, approval.id, request)
        decided[view.id] = view
        if shows and view.status not in NOT_WRITTEN:
            with until_reader_leaves():
                say(describe_decision(view))
    after = target.await_written(arguments.id) if arguments.approves else []
    decided |= {view.id: view for view in after if view.id in decided}
    unwritten = [view for view in decided.values() if view.status in NOT_WRITTEN]
    for view in unwritten:
        warn(describe_decision(view))
    with until_reader_leaves():
        if arguments.json:
            _print_json([*decided.values()])
        elif shows:
            left = sum(a.status == "pending" for a in target.approvals(arguments.id))
            say(f"{left} more to decide" if left else target.describe_next(arguments.id))
    return 1 if unwritten or not decided else 0


def _print_json(approvals: list[ApprovalView]) -> None:
    print_json([approval.model_dump(mode="json") for approval in approvals])


def _show_edit(
    approval: ApprovalView,
    request: DecisionRequest,
    target: Target,
    arguments: argparse.Namespace,
) -> DecisionRequest:
    """Show the diff of what is about to be approved; nothing else is approved then."""
    edit = EditRequest(content=request.content, hunks=request.hunks)
    shown = target.preview(arguments.id, approval.id, edit)
    if not (arguments.quiet or arguments.json):
        print_coloured(format_diff(shown.diff), sys.stdout)
    return request.model_copy(update={"content_hash": shown.content_hash})


def _read_decision(arguments: argparse.Namespace) -> DecisionRequest:
    if not arguments.approves:
        given: JsonObject = {"decision": "reject", "reason": arguments.reason}
    else:
        given = {"decision": "approve", "confirm_danger": arguments.confirm_danger}
        if arguments.content:
            given["content"] = _read_content(arguments.content)
        if arguments.hunks:
            given["hunks"] = [*_read_numbers(arguments.hunks)]
    try:
        return DecisionRequest.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error) from error


def _read_numbers(text: str) -> list[int]:
    try:
        return read_numbers(text)
    except ValueError as error:
        raise InvalidRequestError("--hunks takes numbers, such as 1,3.") from error


def _read_content(file: str) -> str:
    """What replaces the proposed content. A pipe is read as `-` alone."""
    try:
        if file == "-":
            return sys.stdin.read()
        return read_given_file(Path(file), 4 * MAX_CONTENT).decode("utf-8")
    except InvalidRequestError as error:
        raise InvalidRequestError(f"--content: {error.sentence}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"--content: {file} is not UTF-8 text.") from error


def _select(
    approvals: list[ApprovalView], arguments: argparse.Namespace, target: Target
) -> list[ApprovalView]:
    """The one that is named, else all pending ones; --content is for one alone."""
    if arguments.approval:
        selected = [a for a in approvals if a.id == arguments.approval]
        if not selected:
            raise MissingError(
                f"Exploration {arguments.id} has no proposed change {arguments.approval}."
            )
        return selected
    pending = [a for a in approvals if a.status == "pending"]
    if arguments.approves and arguments.confirm_danger and len(pending) > 1:
        raise InvalidRequestError(
            "--confirm-danger is for one change, which has to be named.",
            hint=f"See them with: idea approve {target.name(arguments.id)} --list",
        )
    if not pending:
        status = parse_details(target.show(arguments.id)).status
        waits = approvals and status == "awaiting_approval"
        raise ConflictError(
            f"Exploration {arguments.id} has no changes to decide on.",
            hint=f"Everything is decided. {target.describe_next(arguments.id)}" if waits else "",
        )
    option = arguments.approves and ("--content" if arguments.content else "--hunks")
    if option and (arguments.content or arguments.hunks) and len(pending) > 1:
        raise InvalidRequestError(
            f"Several changes are pending; {option} is for one of them.",
            hint=f"Name it: {', '.join(a.id for a in pending)}.",
        )
    return pending


def _print_approvals(approvals: list[ApprovalView], arguments: argparse.Namespace) -> None:
    if arguments.json:
        _print_json(approvals)
        return
    if not approvals and not arguments.quiet:
        warn(f"Exploration {arguments.id} has proposed no changes.")
    for approval in approvals:
        print(f"{approval.id}  {approval.status}")
        print_coloured(format_change(approval), sys.stdout)


def _explain_danger(approval: ApprovalView, exploration_id: str, target: Target) -> str:
    return (
        f"{approval.path} {approval.danger}, so it needs a confirmation of its own. Read it,"
        f" then: idea approve {exploration_id} {approval.id} --confirm-danger{target.options}"
    )
