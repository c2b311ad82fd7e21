"""An exploration as people name it: by the beginning of its id, as `last`, or as -2 for the one before."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.ids import ExplorationId, decode_time, is_id
from idea_explorer.domain.text import one_line

if TYPE_CHECKING:
    from idea_explorer.cli.targets import Target

LAST = "last"
MIN_PREFIX = 4
# The beginning that is shown: the milliseconds of an id that sorts by time. Those made from a key contain the
# day alone, so all of a day begin alike: 26 random bits more tell them apart.
SHORT, SHORT_OF_DAY = 13, 23
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
    """Whether this names an exploration in one of the ways, or may be the beginning of an id."""
    is_prefix = len(given) >= MIN_PREFIX and _DIGITS.issuperset(given.lower())
    return given == LAST or _count_back(given) is not None or is_prefix


def shorten_ids(ids: Sequence[str]) -> dict[str, str]:
    """The beginning of each that no other of them has, and that is hardly any exploration's beyond them."""
    return {
        own: own[: _choose_length(own, [other for other in ids if other != own])] for own in ids
    }


def _choose_length(own: str, others: Sequence[str]) -> int:
    is_of_day = decode_time(ExplorationId(own)).time() == time()
    length = SHORT_OF_DAY if is_of_day else SHORT
    while any(other.startswith(own[:length]) for other in others):
        length += 1
    return length


def find_id(given: str, target: "Target") -> str:
    """The whole id; raises MissingError, or InvalidRequestError where several begin like this."""
    if is_id(given):
        return given
    back = 1 if given == LAST else _count_back(given)
    if back is not None:
        return _find_newest(back, target)
    prefix = given.lower()
    if not prefix or prefix.startswith("-") or not _DIGITS.issuperset(prefix):
        raise MissingError(
            "There is no exploration with this id.",
            hint="`idea list` shows the ids; the first characters are enough, and `last` is the newest.",
        )
    listed = dict(_list(target))
    if not listed:
        raise MissingError(NONE_YET)
    found = [own for own in listed if own.startswith(prefix)]
    if not found:
        which = f"of the newest {MAX_SEARCHED:,} " if len(listed) >= MAX_SEARCHED else ""
        raise MissingError(
            f"No exploration {which}has an id that begins with {prefix}.",
            hint="See them with: idea list",
        )
    if len(found) > 1 or len(prefix) < MIN_PREFIX:
        raise _refuse(prefix, found, listed)
    return found[0]


def _refuse(prefix: str, found: Sequence[str], listed: Mapping[str, str]) -> InvalidRequestError:
    """Lists what may be meant, by names that commands take."""
    reason = f"'{prefix}' is too short: at least {MIN_PREFIX} characters of an id are needed. "
    shown = "; ".join(
        f"{own[: _choose_length(own, [other for other in listed if other != own])]}"
        f" ({one_line(listed[own], 30)})"
        for own in found[:MAX_CANDIDATES]
    )
    more = f"; and {len(found) - MAX_CANDIDATES} more" if len(found) > MAX_CANDIDATES else ""
    have = "explorations have" if len(found) > 1 else "exploration has"
    return InvalidRequestError(
        f"{reason if len(prefix) < MIN_PREFIX else ''}"
        f"{len(found)} {have} an id that begins with {prefix}: {shown}{more}."
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
