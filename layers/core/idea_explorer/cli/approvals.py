"""`idea approve` and `idea reject`, and the question at the terminal of a run that waits for approval.

What is approved is a change to a file, or the plan of a research run."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from idea_explorer.api.approvals import ApprovalView
from idea_explorer.cli.output import print_json
from idea_explorer.cli.streams import print_coloured, warn
from idea_explorer.cli.targets import choose_target
from idea_explorer.domain.errors import ConflictError, InvalidRequestError, MissingError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import invalid_request
from idea_explorer.domain.text import one_line
from idea_explorer.usecases.approvals.decide import MAX_CONTENT, DecisionRequest
from idea_explorer.wiring.local import read_given_file

QUESTION = "[a]pprove, [e]dit, [r]eject, or decide [l]ater? "
MAX_DESCRIPTION = 500
CAREFUL = "Careful!"
CHECK_LINES = 20  # of what a check printed; the exploration's events have more
ANSI = {"+++": "1", "---": "1", "+": "32", "-": "31", "@@": "36"}  # bold, green, red, cyan


def run(arguments: argparse.Namespace) -> int:
    request = _read_decision(arguments)
    target = choose_target(arguments)
    approvals = target.approvals(arguments.id)
    if arguments.list:
        _print_approvals(approvals, arguments)
        return 0
    for approval in _select(approvals, arguments):
        if arguments.approves and approval.danger and not request.confirm_danger:
            warn(_explain_danger(approval, arguments.id))
            continue
        target.decide(arguments.id, approval.id, request)
        if not arguments.quiet:
            print(f"{approval.path}: {'approved' if arguments.approves else 'rejected'}")
    if not arguments.quiet:
        left = sum(a.status == "pending" for a in target.approvals(arguments.id))
        print(f"{left} more to decide" if left else target.describe_next(arguments.id))
    return 0


def _read_decision(arguments: argparse.Namespace) -> DecisionRequest:
    if not arguments.approves:
        given: JsonObject = {"decision": "reject", "reason": arguments.reason}
    else:
        given = {"decision": "approve", "confirm_danger": arguments.confirm_danger}
        if arguments.content:
            given["content"] = _read_content(arguments.content)
    try:
        return DecisionRequest.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error) from error


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


def _select(approvals: list[ApprovalView], arguments: argparse.Namespace) -> list[ApprovalView]:
    """The one that is named, else all pending ones; --content is for one alone."""
    if arguments.approval:
        selected = [a for a in approvals if a.id == arguments.approval]
        if not selected:
            raise MissingError(
                f"Exploration {arguments.id} has no proposed change {arguments.approval}."
            )
        return selected
    if arguments.approves and arguments.confirm_danger:
        raise InvalidRequestError(
            "--confirm-danger is for one change, which has to be named.",
            hint=f"See them with: idea approve {arguments.id} --list",
        )
    pending = [a for a in approvals if a.status == "pending"]
    if not pending:
        raise ConflictError(f"Exploration {arguments.id} has no changes to decide on.")
    if arguments.approves and arguments.content and len(pending) > 1:
        raise InvalidRequestError(
            "Several changes are pending; --content is for one of them.",
            hint=f"Name it: {', '.join(a.id for a in pending)}.",
        )
    return pending


def _print_approvals(approvals: list[ApprovalView], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json([approval.model_dump(mode="json") for approval in approvals])
        return
    if not approvals and not arguments.quiet:
        warn(f"Exploration {arguments.id} has proposed no changes.")
    for approval in approvals:
        print(f"{approval.id}  {approval.status}")
        print_coloured(_format_change(approval), sys.stdout)


def ask_for_decision(approval: ApprovalView) -> DecisionRequest | None:
    """Ask the person at the terminal; None where they leave it for later."""
    print_coloured([("", ""), *_format_change(approval), ("", "")], sys.stderr)
    try:
        while True:
            match _ask(QUESTION).lower()[:1]:
                case "a" if _confirm(approval):
                    return _approve(approval)
                case "e" if approval.kind != "checks":
                    content = _edit(approval.content or "", approval.path)
                    if content is not None and _confirm(approval):
                        return _approve(approval, content)
                case "r":
                    return DecisionRequest(decision="reject", reason=_ask("Why? ") or None)
                case "l":
                    return None
                case _:
                    pass
    except (EOFError, KeyboardInterrupt):
        return None


def _confirm(approval: ApprovalView) -> bool:
    """Whether the person approves a dangerous change a second time, in a word of its own."""
    if not approval.danger:
        return True
    question = f"{CAREFUL} {approval.path} {approval.danger}. Type yes to approve it: "
    return _ask(question).lower() == "yes"


def _approve(approval: ApprovalView, content: str | None = None) -> DecisionRequest:
    return DecisionRequest(
        decision="approve", content=content, confirm_danger=approval.danger is not None
    )


def _explain_danger(approval: ApprovalView, exploration_id: str) -> str:
    return (
        f"{approval.path} {approval.danger}, so it was not approved with the others. Read the"
        f" change, then: idea approve {exploration_id} {approval.id} --confirm-danger"
    )


def _ask(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    return input().strip()


def _edit(content: str, path: str) -> str | None:
    """The content as the person leaves it in their editor; None where that failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="idea-") as folder:
        file = Path(folder) / Path(path).name
        file.write_text(content, "utf-8", newline="")
        try:
            command = [*shlex.split(editor), str(file)]
            done = subprocess.run(command, check=False)  # noqa: S603  the person's own program
            if done.returncode == 0:
                return file.read_bytes().decode("utf-8")
        except (OSError, ValueError) as error:
            warn(f"{editor} failed: {error}.")
    return None


def _format_change(approval: ApprovalView) -> Iterator[tuple[str, str]]:
    """The lines and their colours. They end in LF alone, so that no other separator in a file makes one
    line of the diff look like two."""
    yield f"{approval.path}: {one_line(approval.description, MAX_DESCRIPTION)}", ""
    if approval.kind in {"plan", "checks"}:
        yield from ((line, "") for line in (approval.content or "").removesuffix("\n").split("\n"))
        return
    yield from _format_checks(approval)
    if approval.danger:
        yield f"{CAREFUL} This file {approval.danger}.", "1"
    for line in approval.diff.removesuffix("\n").split("\n"):
        yield line, next((ANSI[start] for start in ANSI if line.startswith(start)), "")


def _format_checks(approval: ApprovalView) -> Iterator[tuple[str, str]]:
    """What the repository's checks said before this change was proposed; of those that did not pass, also
    the end of what they printed."""
    for check in approval.checks:
        passed = check.outcome in {"passed", "skipped"}
        line = f"check {one_line(check.name, 80)}: {check.outcome}. {one_line(check.detail, 200)}"
        yield line, ANSI["+" if passed else "-"]
        if not passed:
            tail = check.output.removesuffix("\n").split("\n")[-CHECK_LINES:]
            yield from ((f"  {part}", "") for part in tail)
