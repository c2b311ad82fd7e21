"""A repository at one commit, as data: its files and links, by name."""

from dataclasses import dataclass
from typing import Literal

EntryKind = Literal["file", "symlink"]
ContentKind = Literal["text", "binary", "large", "link"]
NOT_KEPT = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or link. Names and contents come from the repository: untrusted data.

    Only text that is not too large is kept: its bytes stand at `start` in the snapshot's text. `blob` is
    git's name for the content (empty where it was not read). Where `exact` is false, the real name holds
    bytes that no path may hold, and `path` spells them as %XX: good for reading, not for writing.
    """

    path: str
    content: ContentKind
    size: int
    modified: int
    blob: str = ""
    start: int = NOT_KEPT
    target: str = ""
    exact: bool = True

    @property
    def kind(self) -> EntryKind:
        return "symlink" if self.content == "link" else "file"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def ended(content: bytes) -> bytes:
    """A text as it stands among others: always with a line feed at its end, unless it is empty."""
    return content if not content or content.endswith(b"\n") else content + b"\n"
