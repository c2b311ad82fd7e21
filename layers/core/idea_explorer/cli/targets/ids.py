"""An exploration as people name it: by the end or the beginning of its id, as `last`, or as -2 for the one
before."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.ids import is_id
from idea_explorer.domain.text import one_line

if TYPE_CHECKING:
    from idea_explorer.cli.targets import Target

LAST = "last"
MIN_PART = 4
SHORT = 8  # characters of the end, which is random: ids sort by time, so those of a day begin alike
PAGE = 100
MAX_SEARCHED = 1_000  # the newest ones: more would take an API many calls
MAX_CANDIDATES = 5
NONE_YET = "There are no explorations yet."
_DIGITS = frozenset("0123456789abcdef-")


def complete_ids(arguments: argparse.Namespace, target: "Target") -> None:
    """Put whole ids in place of what the command was given."""
    for name in ("id", "continue_from"):
        if given := getattr(arguments, name, None):
            setattr(arguments, name, find_id(given, target))


def is_name(given: str) -> bool:
    """Whether this names an exploration in one of the ways, or may be part of an id."""
    is_part = len(given) >= MIN_PART and _DIGITS.issuperset(given.lower())
    return given == LAST or _count_back(given) is not None or is_part


def shorten_ids(ids: Sequence[str]) -> dict[str, str]:
    """The end of each that names no other of them, and hardly any exploration beyond them."""
    return {own: _shorten(own, ids) for own in ids}


def _shorten(own: str, ids: Iterable[str]) -> str:
    length = SHORT
    # what begins with a hyphen would be taken for an option
    while own[-length] == "-" or any(
        other != own and _is_part(own[-length:], other) for other in ids
    ):
        length += 1
    return own[-length:]


def _is_part(given: str, own: str) -> bool:
    return own.endswith(given) or own.startswith(given)


def find_id(given: str, target: "Target") -> str:
    """The whole id; raises MissingError, or InvalidRequestError where several have this part."""
    if is_id(given):
        return given
    back = 1 if given == LAST else _count_back(given)
    if back is not None:
        return _find_newest(back, target)
    part = given.lower()
    if not part or part.startswith("-") or not _DIGITS.issuperset(part):
        raise MissingError(
            "There is no exploration with this id.",
            hint="`idea list` shows the ids; their last characters are enough, and `last` is the newest.",
        )
    listed = dict(_list(target))
    if not listed:
        raise MissingError(NONE_YET)
    found = [own for own in listed if _is_part(part, own)]
    if not found:
        which = f"of the newest {MAX_SEARCHED:,} " if len(listed) >= MAX_SEARCHED else ""
        raise MissingError(
            f"No exploration {which}has an id that ends or begins with {part}.",
            hint=f"See them with: idea list. {target.other_places}".rstrip(". ") + ".",
        )
    if len(found) > 1 or len(part) < MIN_PART:
        raise _refuse(part, found, listed)
    return found[0]


def _refuse(part: str, found: Sequence[str], listed: Mapping[str, str]) -> InvalidRequestError:
    """Lists what may be meant, by names that commands take."""
    reason = f"'{part}' is too short: at least {MIN_PART} characters of an id are needed. "
    shown = "; ".join(
        f"{_shorten(own, listed)} ({one_line(listed[own], 30)})" for own in found[:MAX_CANDIDATES]
    )
    more = f"; and {len(found) - MAX_CANDIDATES} more" if len(found) > MAX_CANDIDATES else ""
    have = "explorations have" if len(found) > 1 else "exploration has"
    return InvalidRequestError(
        f"{reason if len(part) < MIN_PART else ''}"
        f"{len(found)} {have} an id that ends or begins with {part}: {shown}{more}."
    )


def _count_back(given: str) -> int | None:
    """1 for `-1`, the newest."""
    number = given.removeprefix("-")
    is_count = given.startswith("-") and number.isdecimal() and len(number) < 4
    return int(number) if is_count and int(number) else None


def _find_newest(back: int, target: "Target") -> str:
    own = None
    for number, (own, _) in enumerate(_list(target), 1):
        if number == back:
            return own
    if own is None:
        raise MissingError(NONE_YET)
    raise MissingError(f"There are fewer than {back} explorations.")


def _list(target: "Target") -> Iterator[tuple[str, str]]:
    """Ids and titles, newest first."""
    cursor: object = None
    for _ in range(MAX_SEARCHED // PAGE):
        page = target.list_explorations(limit=PAGE, **({"cursor": cursor} if cursor else {}))
        rows = page["explorations"]
        assert isinstance(rows, list)
        for row in rows:
            assert isinstance(row, dict)
            yield str(row["id"]), str(row["title"] or row["idea"])
        cursor = page["cursor"]
        if not cursor:
            return
