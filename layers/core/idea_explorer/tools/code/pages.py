"""Long lists, a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from idea_explorer.domain.json import JsonObject


@dataclass(frozen=True, slots=True)
class Page:
    items: Sequence[str]
    number: int
    total: int
    following: int | None

    @property
    def fields(self) -> JsonObject:
        return {"page": self.number, "total": self.total, "nextPage": self.following}


def page_of(items: Sequence[str], number: int, size: int) -> Page:
    """A page that does not exist is empty."""
    end = number * size
    following = number + 1 if end < len(items) else None
    return Page(items[end - size : end], number, len(items), following)
