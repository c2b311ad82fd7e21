"""Proposed changes and plans, and the decision of a person about each."""

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.checks import CheckResult
from idea_explorer.domain.dangerous_paths import find_danger
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RepositoryPath

ProposalKind = Literal["edit", "create", "plan", "checks"]
_BOM = "\ufeff"
# Two slashes alone are an operator, a comment or part of a path as well.
_ADDRESS = re.compile(r"(?:(?:https?|ftp)://|www\.|(?<!\S)//\w)\S+", re.IGNORECASE)


class Proposal(DomainModel, frozen=True):
    """The whole new content of one file, or a plan as Markdown, or the commands of a repository's checks; the
    last two have no diff. `base_sha` is the blob that it replaces, None for a new file."""

    path: str
    kind: ProposalKind
    content: str
    diff: str
    base_sha: str | None
    content_hash: str
    description: str

    @property
    def is_change(self) -> bool:
        """Whether approving it writes a file."""
        return self.kind not in {"plan", "checks"}

    @property
    def danger(self) -> str | None:
        """What makes this file dangerous to change; None for an ordinary one."""
        return find_danger(self.path)


def propose(path: RepositoryPath, content: str, description: str, base: bytes | None) -> Proposal:
    """Propose new content for a file that contains `base`. Line ends and a byte order mark stay those of
    the base, because a model does not see them."""
    old = None if base is None else base.decode("utf-8")
    new = content if old is None else _match_style(old, content)
    return Proposal(
        path=path,
        kind="create" if base is None else "edit",
        content=new,
        diff=unified_diff(path, old, new),
        base_sha=None if base is None else blob_sha(base),
        content_hash=content_hash(new),
        # it becomes the subject of a commit, and the model has read private code
        description=_ADDRESS.sub("(link removed)", description),
    )


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _match_style(old: str, new: str) -> str:
    if "\r\n" in old and "\n" not in old.replace("\r\n", "") and "\r\n" not in new:
        new = new.replace("\n", "\r\n")
    if old.startswith(_BOM) and not new.startswith(_BOM):
        new = _BOM + new
    return new


Decision = Literal["approve", "reject"]
ApprovalOutcome = Literal[Decision, "expire"]  # "expire": nobody decided in time
_NAMESPACE = uuid.UUID("8c1f3c0e-0a8e-4b8f-9d55-51a1c9d4b0a7")


class Approval(DomainModel, frozen=True):
    """A request for a decision and, once made, the decision. The first decision stands. `checks` are those
    that ran last before it was asked for."""

    id: str
    exploration_id: ExplorationId
    call_id: str
    proposal: Proposal
    requested_at: datetime
    decision: ApprovalOutcome | None = None
    content: str | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    checks: tuple[CheckResult, ...] = ()

    @property
    def is_edited(self) -> bool:
        """Whether the person changed the proposed content."""
        return self.content is not None and self.content != self.proposal.content

    @property
    def approved_content(self) -> str:
        return self.proposal.content if self.content is None else self.content

    def says_the_same(self, other: "Approval") -> bool:
        """Whether another decision is equivalent, so that repeating it is not a conflict."""
        mine = (self.decision, self.approved_content if self.decision == "approve" else None)
        theirs = (other.decision, other.approved_content if other.decision == "approve" else None)
        return mine == theirs


def approval_id(exploration_id: ExplorationId, call_id: str) -> str:
    """The same id for the same call, so that a resumed run does not ask twice."""
    return str(uuid.uuid5(_NAMESPACE, f"{exploration_id}\n{call_id}"))


CONTEXT_LINES = 3
MAX_COMPARED_LINES = 2_000  # difflib is quadratic at worst; a larger change is shown as a whole
NO_NEWLINE = "\\ No newline at end of file"
_HEADER = re.compile(r"@@ -\S+ \+(?P<start>\d+)(,(?P<length>\d+))? @@")

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
Group = list[tuple[str, int, int, int, int]]


def unified_diff(path: str, old: str | None, new: str) -> str:
    """The diff from `old` (None if there was no file) to `new`; empty if they are equal."""
    before, after = _lines(old or ""), _lines(new)
    names = (f"--- a/{path}" if old is not None else "--- /dev/null", f"+++ b/{path}")
    groups = _Precomputed(_opcodes(before, after)).get_grouped_opcodes(CONTEXT_LINES)
    changed = [group for group in groups if any(tag != "equal" for tag, *_ in group)]
    body = [line for group in changed for line in _hunk(group, before, after)]
    if not body and old is not None:
        return ""
    return "\n".join([*names, *body]) + "\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only line feeds end a line: form feeds and the like are part of it."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """Skips what both share at the start and the end: most edits of large files are small."""
    shortest = min(len(before), len(after))
    head = 0
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old_end, new_end = len(before) - tail, len(after) - tail
    opcodes: list[Opcode] = []
    if head:
        opcodes.append(("equal", 0, head, 0, head))
    for tag, a, b, c, d in _compare(before[head:old_end], after[head:new_end]):
        opcodes.append((tag, a + head, b + head, c + head, d + head))
    if tail:
        opcodes.append(("equal", old_end, len(before), new_end, len(after)))
    return opcodes


class _Precomputed(SequenceMatcher[str]):
    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__()
        self._computed = opcodes

    def get_opcodes(self) -> list[Opcode]:
        return self._computed


def _compare(before: Sequence[str], after: Sequence[str]) -> Sequence[Opcode]:
    if max(len(before), len(after)) > MAX_COMPARED_LINES:
        return [("replace", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after).get_opcodes()


def _hunk(group: Group, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    _, old_start, _, new_start, _ = group[0]
    _, _, old_end, _, new_end = group[-1]
    yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@"
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from _prefix(" ", before[a:b])
        else:
            yield from _prefix("-", before[a:b])
            yield from _prefix("+", after[c:d])


def _range(start: int, end: int) -> str:
    length = end - start
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


def _prefix(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield NO_NEWLINE


def revert_diff(new: str, diff: str) -> str:
    """The text before a diff of ours was applied; raises ValueError if the diff does not result in `new`."""
    after = _lines(new)
    before: list[str] = []
    position = 0  # in `after`
    for start, removed_and_kept, kept_and_added in _hunks(diff):
        before += after[position:start]
        position = start + len(kept_and_added)
        if after[start:position] != kept_and_added:
            raise ValueError("the diff does not result in this text")
        before += removed_and_kept
    return "".join([*before, *after[position:]])


def _hunks(diff: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The start of each hunk in the new text, its old lines and its new lines."""
    lines = diff.split("\n")[2:-1]
    starts = [number for number, line in enumerate(lines) if line.startswith("@@")]
    for first, last in pairwise([*starts, len(lines)]):
        found = _HEADER.match(lines[first])
        if not found:
            raise ValueError("not a diff")
        old: list[str] = []
        new: list[str] = []
        for number, line in enumerate(lines[first + 1 : last], first + 2):
            ends = number < last and lines[number] == NO_NEWLINE
            text = line[1:] if ends else line[1:] + "\n"
            if line[:1] in {" ", "-"}:
                old.append(text)
            if line[:1] in {" ", "+"}:
                new.append(text)
        begin = int(found["start"])
        yield (begin if found["length"] == "0" else begin - 1), old, new
