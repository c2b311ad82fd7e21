"""What a tool that is not ours finds in a repository."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Truth:
    """Definitions by file, line and name; imports by importing file and imported file. Imports that the other
    tool could not tell are in `unsure`, and count neither way."""

    definitions: set[tuple[str, int, str]] = field(default_factory=set)
    imports: set[tuple[str, str]] = field(default_factory=set)
    unsure: set[tuple[str, str]] = field(default_factory=set)

    def importers(self) -> dict[str, set[str]]:
        by_file: dict[str, set[str]] = {}
        for importer, target in self.imports:
            by_file.setdefault(target, set()).add(importer)
        return by_file


def list_files(root: Path, endings: Sequence[str]) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(
        path.relative_to(root).as_posix() for path in found if path.name.endswith(tuple(endings))
    )


def run_lines(
    command: Sequence[str], files: Iterable[str], **options: object
) -> list[dict[str, list[list[object]]]]:
    """A program that reads paths and writes a JSON object for each."""
    ran = subprocess.run(
        command, input="\n".join(files), capture_output=True, text=True, check=True, **options
    )  # type: ignore[call-overload]
    return [json.loads(line) for line in ran.stdout.splitlines()]
