"""Unified diffs: made, taken back, and applied in part. Only a line feed ends a line."""

from collections.abc import Container, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from idea_explorer.domain.patterns import lazy_pattern

CONTEXT_LINES = 3
MAX_COMPARED_LINES = 2_000  # difflib is quadratic at worst; a larger change is shown as a whole
NO_NEWLINE = "\\ No newline at end of file"
_HEADER = lazy_pattern(r"@@ -\S+ \+(?P<start>\d+)(,(?P<length>\d+))? @@")

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
Group = list[tuple[str, int, int, int, int]]


def unified_diff(path: str, old: str | None, new: str | None, new_path: str | None = None) -> str:
    """The diff from `old` to `new`, None where there is no file; empty if they are equal. With `new_path`
    the file is moved there."""
    before, after = split_lines(old or ""), split_lines(new or "")
    groups = _Precomputed(compare_lines(before, after)).get_grouped_opcodes(CONTEXT_LINES)
    changed = [group for group in groups if any(tag != "equal" for tag, *_ in group)]
    body = [line for group in changed for line in _hunk(group, before, after)]
    if not body and old is not None and new is not None and new_path is None:
        return ""
    names = [
        f"--- a/{path}" if old is not None else "--- /dev/null",
        f"+++ b/{new_path or path}" if new is not None else "+++ /dev/null",
    ]
    if new_path:
        names = [
            f"diff --git a/{path} b/{new_path}",
            f"rename from {path}",
            f"rename to {new_path}",
            *(names if body else ()),
        ]
    return "\n".join([*names, *body]) + "\n"


def split_lines(text: str) -> list[str]:
    """Lines with their ends. Only line feeds end a line: form feeds and the like are part of it."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
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
    return select_hunks(new, diff, ())


def select_hunks(new: str, diff: str, chosen: Container[int]) -> str:
    """The text with only some hunks of a diff applied, counted from 1; raises ValueError as above."""
    after = split_lines(new)
    lines: list[str] = []
    position = 0  # in `after`
    for number, (start, removed_and_kept, kept_and_added) in enumerate(_hunks(diff), 1):
        lines += after[position:start]
        position = start + len(kept_and_added)
        if after[start:position] != kept_and_added:
            raise ValueError("the diff does not result in this text")
        lines += kept_and_added if number in chosen else removed_and_kept
    return "".join([*lines, *after[position:]])


def count_hunks(diff: str) -> int:
    return sum(line.startswith("@@") for line in diff.split("\n"))


def added_lines(diff: str) -> Iterator[tuple[int, str]]:
    """The lines that a diff adds, with their numbers in the new text."""
    number = 0
    for line in diff.split("\n"):
        if found := _HEADER.match(line):
            number = int(found["start"])
        elif line[:1] in {"+", " "} and number:
            if line[0] == "+":
                yield number, line[1:]
            number += 1


def _hunks(diff: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The start of each hunk in the new text, its old lines and its new lines."""
    lines = diff.split("\n")[:-1]
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
