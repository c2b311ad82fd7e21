"""What the surfaces share."""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idea_explorer.domain.ids import ExplorationId
from tests.fakes.engine import RecordedLog

Check = Callable[[str], object]
SECRET = "canary-8c1f-outside-of-the-folder"
GOOD = "A good document about urban beekeeping"
REFUSAL = "Tool argument validation failed"  # the only error of a tool call that is not a defect
RUN = ExplorationId("01a1e835-83b1-71ee-8445-63a642cb0f50")


@dataclass(frozen=True)
class Surface:
    name: str
    corpora: Sequence[str]
    open: Callable[[Path], AbstractContextManager[Check]]
    share: float = (
        1.0  # of the tries that each surface gets; less for what starts a process or writes
    )


SURFACES: list[Surface] = []


def surface(name: str, *corpora: str, share: float = 1.0) -> Callable[[Any], Any]:
    def register(function: Callable[[Path], Iterator[Check]]) -> Callable[[Path], Iterator[Check]]:
        SURFACES.append(Surface(name, corpora, contextmanager(function), share))
        return function

    return register


def fill(folder: Path) -> Path:
    """A folder of research and code with a way out for everybody who follows links."""
    (folder / "secret.txt").write_text(SECRET)
    root = folder / "root"
    for place in (root, root / "ideas"):
        place.mkdir()
        (place / "good.md").write_text(f"# {GOOD}\n\nBees like roofs.\n")
        (place / "link").symlink_to(folder / "secret.txt")
        (place / "folder-link").symlink_to(folder)
        (place / ".git").mkdir()
        (place / ".git" / "config").write_text(SECRET)
        os.mkfifo(place / "fifo")
    return root


def expect_no_secret(found: object) -> None:
    assert SECRET not in json.dumps(found, ensure_ascii=True), "read a file outside of its folder"


def calls_with(text: str, fields: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The text as an argument; if it is JSON, its value as one, and an object as all of them."""
    for name, field in fields.items():
        yield name, {field: text}
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name, field in fields.items():
            yield name, value if isinstance(value, dict) else {field: value}


def expect_no_crash(log: RecordedLog) -> None:
    crashes = [line for line in log.lines if line[0] == "error" and line[1] != REFUSAL]
    log.lines.clear()
    assert not crashes, f"a tool crashed: {crashes[0]}"


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
