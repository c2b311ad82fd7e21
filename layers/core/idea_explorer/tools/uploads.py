"""Full-text search over the uploaded files, passage by passage."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from idea_explorer.ports import UploadedFile
from idea_explorer.tools.charsets import decode
from idea_explorer.tools.fulltext import FullText
from idea_explorer.tools.readable import readable

PASSAGE_CHARS = (
    1_000  # a passage is returned whole, so it holds the match and what stands around it
)
MAX_FILE_CHARS = 2_000_000  # about 500 pages; more takes longer to index than a tool may run
BINARY_PROBE = 8_192
# in these, text that is not UTF-8 is in an older encoding; in others it is no text
TEXT_SUFFIXES = (".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".html", ".htm", ".log")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BREAK = re.compile(r"\s\S*$")


@dataclass(frozen=True, slots=True)
class Finding:
    file: str
    excerpt: str
    score: float


class UploadIndex:
    """The passages of all files that are text, and a reason for each that is not searched in full."""

    def __init__(self, files: Iterable[UploadedFile]) -> None:
        self.names: list[str] = []
        self.remarks: dict[str, str] = {}
        self._passages: list[tuple[str, str]] = []
        for file in files:
            self._add(file)
        # under a number that no query asks for: a file's name must not make all its passages match
        self._index = FullText(
            (f"passage{number}", "", text) for number, (_, text) in enumerate(self._passages)
        )

    def search(self, query: str, limit: int) -> tuple[list[Finding], int]:
        """The best passages, and how many match at all."""
        hits, total = self._index.search(query, limit)
        found = [
            (*self._passages[int(hit.name.removeprefix("passage"))], hit.score) for hit in hits
        ]
        return [Finding(*finding) for finding in found], total

    def _add(self, file: UploadedFile) -> None:
        text = text_of_file(file)
        if text is None:
            self.remarks[file.name] = (
                "not a text file; text, Markdown, CSV, JSON and HTML are searched"
            )
            return
        self.names.append(file.name)
        if len(text) > MAX_FILE_CHARS:
            self.remarks[file.name] = f"only its first {MAX_FILE_CHARS:,} characters are searched"
        self._passages += ((file.name, part) for part in passages_of(text[:MAX_FILE_CHARS]))


def text_of_file(file: UploadedFile) -> str | None:
    """The file's text, or None where it is not text. Its content decides, not what its name claims."""
    data, name = file.content, file.name.lower()
    if not data.startswith(_UTF16_MARKS):
        if b"\0" in data[:BINARY_PROBE] or data.startswith(b"%PDF-"):
            return None
        if not name.endswith(TEXT_SUFFIXES) and not _is_utf8(data):
            return None
    if name.endswith(HTML_SUFFIXES):
        return readable(decode(data, html=True), limit=MAX_FILE_CHARS + 1).text
    return decode(data)


def passages_of(text: str) -> Iterator[str]:
    """Pieces of at most PASSAGE_CHARS, cut between paragraphs, else lines, else words where possible."""
    start = 0
    while start < len(text):
        piece = text[start : start + PASSAGE_CHARS]
        if start + PASSAGE_CHARS < len(text):
            piece = piece[: _cut(piece)]
        start += len(piece)
        if not piece.isspace():
            yield piece.strip()


def _cut(piece: str) -> int:
    """Where to end a full piece: not in its first half, so that passages do not become splinters."""
    half = len(piece) // 2
    for separator in ("\n\n", "\n"):
        if (found := piece.rfind(separator, half)) > 0:
            return found + len(separator)
    word = _BREAK.search(piece, half)
    return word.start() + 1 if word else len(piece)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
