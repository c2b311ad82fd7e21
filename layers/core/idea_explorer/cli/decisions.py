"""The question at the terminal of a run that waits for approval, and how changes and decisions are shown."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from idea_explorer.api.approvals import ApprovalPreview, ApprovalView
from idea_explorer.cli.streams import print_coloured, warn
from idea_explorer.domain.approvals import DONE, describe_approval
from idea_explorer.domain.diffs import count_hunks, select_hunks
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest

QUESTION = "[a]pprove, [e]dit, [r]eject, or decide [l]ater? "
HUNKS_QUESTION = "[a]pprove, choose [h]unks, [e]dit, [r]eject, or decide [l]ater? "
ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": False}
MAX_DESCRIPTION = 500
CAREFUL = "Careful!"
CHECK_LINES = 20  # of what a check printed; the exploration's events have more
ANSI = {"+++": "1", "---": "1", "+": "32", "-": "31", "@@": "36"}  # bold, green, red, cyan
NOT_WRITTEN = frozenset({"stale", "failed"})
SHORT_SHA = 7

PreviewEdit = Callable[[EditRequest], ApprovalPreview]


def ask_for_decision(approval: ApprovalView, preview: PreviewEdit) -> DecisionRequest | None:
    """Ask the person at the terminal; None where they leave it for later. An edit is shown before it can be
    approved."""
    print_coloured([("", ""), *format_change(approval), ("", "")], sys.stderr)
    total = count_hunks(approval.diff) if approval.kind == "edit" else 0
    edit = EditRequest()
    shown: ApprovalPreview | None = None
    try:
        while True:
            match _ask(HUNKS_QUESTION if total > 1 else QUESTION).lower()[:1]:
                case "a" if edit != EditRequest() and shown is None:
                    warn("What you wrote cannot be approved: edit it again, or decide later.")
                case "a" if _confirm(approval):
                    return _approve(approval, edit, shown)
                case "h" if total > 1:
                    edit = EditRequest(hunks=_choose_hunks(approval.diff) or None)
                    shown = _preview(edit, preview)
                case "e" if _can_edit(approval):
                    content = _edit(_text_so_far(approval, edit), approval.path)
                    if content is not None:
                        edit = EditRequest(content=content)
                        shown = _preview(edit, preview)
                case "r":
                    return DecisionRequest(decision="reject", reason=_ask("Why? ") or None)
                case "l":
                    return None
                case _:
                    warn("Answer with one of the letters in brackets.")
    except (EOFError, KeyboardInterrupt):
        return None


def _text_so_far(approval: ApprovalView, edit: EditRequest) -> str:
    """What the editor begins with: their own text, or the proposal with the hunks that they chose."""
    proposed = approval.content or ""
    if edit.content is not None:
        return edit.content
    if edit.hunks is None:
        return proposed
    try:
        return select_hunks(proposed, approval.diff, edit.hunks)
    except ValueError:  # a diff that was cut
        warn("The change is too large to edit a part of it: this is the whole of it.")
        return proposed


def _can_edit(approval: ApprovalView) -> bool:
    if approval.kind == "checks":
        warn("Commands are approved as they are, or rejected.")
        return False
    if approval.kind == "delete":
        warn("A file that is deleted has no content to edit.")
        return False
    if approval.content is None:
        warn("The file is too large to be edited here. Use: idea approve --content FILE")
        return False
    return True


def _choose_hunks(diff: str) -> list[int]:
    """Ask about each hunk of a diff; empty where all of them or none were chosen."""
    hunks = [*_split_hunks(diff)]
    chosen: list[int] = []
    for number, lines in enumerate(hunks, 1):
        print_coloured(_format_lines(lines), sys.stderr)
        answer = _ask_about_hunk(number, len(hunks))
        if isinstance(answer, list):
            return answer
        if answer:
            chosen.append(number)
    if not chosen:
        warn("No hunk was chosen: the whole change is up for decision again.")
    return chosen


def _ask_about_hunk(number: int, total: int) -> bool | list[int]:
    """Whether to take it, or the numbers of all that are to be taken; asks until it understands."""
    while True:
        said = _ask(
            f"Take hunk {number} of {total}? [y/N, or all that you take: 1,{total}] "
        ).lower()
        if said in ANSWERS:
            return ANSWERS[said]
        with suppress(ValueError):
            numbers = read_numbers(said)
            if numbers and set(numbers) <= {*range(1, total + 1)}:
                return numbers
        warn(f"Answer y or n, or with numbers from 1 to {total}.")


def read_numbers(text: str) -> list[int]:
    """Of hunks, as in `1,3`; raises ValueError."""
    return [int(number) for number in text.replace(",", " ").split()]


def _split_hunks(diff: str) -> Iterator[list[str]]:
    hunk: list[str] = []
    for line in diff.removesuffix("\n").split("\n"):
        if line.startswith("@@"):
            if hunk:
                yield hunk
            hunk = [line]
        elif hunk:
            hunk.append(line)
    if hunk:
        yield hunk


def _preview(edit: EditRequest, preview: PreviewEdit) -> ApprovalPreview | None:
    """Show what would be written; None where it is the proposal, or cannot be."""
    try:
        shown = preview(edit)
    except InvalidRequestError as error:
        warn(error.sentence)
        return None
    lines = format_diff(shown.diff) if shown.diff else _format_text(edit.content or "")
    print_coloured([("", ""), *lines, ("", "")], sys.stderr)
    return shown


def _confirm(approval: ApprovalView) -> bool:
    """Whether the person approves a dangerous change a second time, in a word of its own."""
    if not approval.danger:
        return True
    question = f"{CAREFUL} {approval.path} {approval.danger}. Type yes to approve it: "
    return _ask(question).lower() == "yes"


def _approve(
    approval: ApprovalView, edit: EditRequest, shown: ApprovalPreview | None
) -> DecisionRequest:
    return DecisionRequest(
        decision="approve",
        content=edit.content,
        hunks=edit.hunks,
        content_hash=shown.content_hash if shown else None,
        confirm_danger=approval.danger is not None,
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


def format_change(approval: ApprovalView) -> Iterator[tuple[str, str]]:
    """The lines and their colours."""
    where = f"{approval.path} → {approval.new_path}" if approval.new_path else approval.path
    yield (
        f"{where}: {one_line(approval.description, MAX_DESCRIPTION)}{_describe_part(approval)}",
        "",
    )
    if approval.kind in {"plan", "checks"}:
        yield from _format_text(approval.content or "")
        return
    yield from _format_checks(approval)
    if approval.danger:
        yield f"{CAREFUL} This file {approval.danger}.", "1"
    if approval.message:
        yield approval.message, "1"
    is_open = approval.kind == "edit" and approval.status == "pending"
    yield from format_diff(approval.approved_diff or approval.diff, numbered=is_open)


def _describe_part(approval: ApprovalView) -> str:
    if approval.hunks:
        chosen = ", ".join(map(str, approval.hunks))
        return f" (only {'hunk' if len(approval.hunks) == 1 else 'hunks'} {chosen} of it)"
    return " (edited)" if approval.edited else ""


def _format_text(text: str) -> Iterator[tuple[str, str]]:
    yield from ((line, "") for line in text.removesuffix("\n").split("\n"))


def _format_checks(approval: ApprovalView) -> Iterator[tuple[str, str]]:
    """What the repository's checks said before this change was proposed; of those that did not pass, also
    the end of what they printed."""
    for check in approval.checks:
        passed = check.outcome in {"passed", "skipped"}
        line = f"check {one_line(check.name, 80)}: {check.outcome}. {one_line(check.detail, 200)}"
        yield line, ANSI["+" if passed else "-"]
        if not passed:
            printed = check.output.removesuffix("\n").split("\n")
            if len(printed) > CHECK_LINES:
                left = pluralize(len(printed) - CHECK_LINES, "more line")
                yield f"  … {left} before these", ""
            yield from ((f"  {part}", "") for part in printed[-CHECK_LINES:])


def format_diff(diff: str, *, numbered: bool = False) -> Iterator[tuple[str, str]]:
    total = count_hunks(diff) if numbered else 0
    number = 0
    for line, colour in _format_lines(diff.removesuffix("\n").split("\n")):
        number += line.startswith("@@")
        is_head = line.startswith("@@") and total > 1
        yield f"{line} hunk {number} of {total}" if is_head else line, colour


def _format_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """They end in LF alone, so that no other separator in a file makes one line of the diff look like two."""
    for line in lines:
        yield line, next((ANSI[start] for start in ANSI if line.startswith(start)), "")


def describe_decision(view: ApprovalView) -> str:
    """What became of a change; of an approved one, whether it is written by now."""
    if view.status in NOT_WRITTEN:
        return f"{view.path}: {view.status}: {view.message}"
    if not view.applied_at:
        return f"{view.path}: {view.status}"
    how = describe_approval(edited=view.edited, in_part=bool(view.hunks))
    done = f"{how} and {DONE[view.kind]}"
    if view.commit:
        done = f"{how}, {DONE[view.kind]} and committed as {view.commit[:SHORT_SHA]}"
    return f"{view.path}: {done}{view.message and f'. {view.message}'}"
