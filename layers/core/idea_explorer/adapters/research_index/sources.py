"""Where the documents of an index are, and how it learns what has changed there."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file below `ideas/` that is new or different; one without `version` is gone.

    The name is as the file system or git spells it, with bytes that are not UTF-8 as surrogates; a name that
    ends in a slash is a folder. As long as the version is the same, so is the content; an empty one says
    nothing. `text` is None for a file that is not searched.
    """

    name: str
    version: str | None
    size: int = 0
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What has changed, read as it is asked for. `state` is what the source is given the next time."""

    files: Iterable[FileChange]
    state: str


class DocumentSource(Protocol):
    @property
    def identity(self) -> str:
        """Names the folder or repository: an index of another one is not used."""

    @property
    def is_remote(self) -> bool:
        """Whether looking for changes takes a request."""

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        """What is different from the versions that are indexed; None if nothing is. `versions` is called
        only if `state` does not tell. Raises ExternalError."""
