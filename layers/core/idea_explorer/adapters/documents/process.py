"""Runs the parsers in a child process: what a hostile document breaks or exhausts there ends with it.

The child has no secrets in its environment, and limits of time, memory and output that the system enforces.
It reads the document from one unnamed file and writes to another, so that nothing here waits for a pipe.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from idea_explorer.adapters.child_processes import child_command, child_environment
from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.domain.file_kinds import FileKind
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.ports import DocumentPart, DocumentText

CHILD = "idea_explorer.adapters.documents.child"
MAX_LABEL = 100
_CONTROLS = {code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Of one document. `seconds` are those after which no further page is begun."""

    seconds: int = 8
    most_seconds: int = 15  # of the processor, and of waiting for it
    megabytes: int = 768  # of address space, of which a program that does nothing takes 150

    def as_argument(self) -> str:
        return f"{self.seconds},{self.most_seconds},{self.megabytes}"


class ChildProcessReader:
    """Reads each document in a new process."""

    def __init__(self, limits: DocumentLimits | None = None) -> None:
        self._limits = limits or DocumentLimits()

    def read(self, kind: FileKind, content: bytes, *, max_chars: int) -> DocumentText:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as written:
            given.write(content)
            given.seek(0)
            self._run(kind, max_chars, given, written)
            written.seek(0)
            return _collect(written)

    def _run(self, kind: FileKind, max_chars: int, given: IO[bytes], written: IO[bytes]) -> None:
        import subprocess  # most runs are given a reader, and few of them a document for it

        command = child_command(CHILD, kind, str(max_chars), self._limits.as_argument())
        try:
            subprocess.run(  # noqa: S603  no shell, our own arguments
                command,
                stdin=given,
                stdout=written,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=child_environment(),
                timeout=2 * self._limits.most_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UnreadableFileError("takes too long to read") from error


def _collect(written: IO[bytes]) -> DocumentText:
    """What the child wrote. Its last line says how it ended; without one it was stopped or crashed."""
    parts: list[DocumentPart] = []
    for line in _read_lines(written):
        match line:
            case {"label": str(label), "text": str(text)}:
                parts.append(DocumentPart(one_line(label, MAX_LABEL), text.translate(_CONTROLS)))
            case {"error": str(reason)}:
                raise UnreadableFileError(one_line(reason, 300))
            case {"remark": str(remark)}:
                return DocumentText(parts, one_line(remark, 300))
    if not parts:
        raise UnreadableFileError("cannot be read: it is damaged, or needs too much time or memory")
    return DocumentText(parts, f"only its first {pluralize(len(parts), 'part')} could be read")


def _read_lines(written: IO[bytes]) -> Iterator[object]:
    for line in written:
        try:
            yield json.loads(line)
        except ValueError:  # the line that the child was stopped in
            return
