"""Explorations by a part of an id, and by how new they are."""

from datetime import date
from typing import Any

import pytest

from idea_explorer.cli.targets import ids
from idea_explorer.cli.targets.ids import find_id, shorten_ids
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.ids import id_for_day, new_id

NEWEST = "0199b000-0000-7000-8000-000000000003"
MIDDLE = "0199a111-0000-7000-8000-000000000002"
OLDEST = "0199a111-0000-7000-8000-000000000001"


class Listed:
    """A target that has these explorations, and gives them in pages."""

    other_places = "If it ran in another folder, add --research DIR."

    def __init__(self, *own: str, page: int = 2) -> None:
        self._own, self._page = own, page
        self.calls = 0

    def list_explorations(self, **filters: Any) -> dict[str, Any]:
        self.calls += 1
        start = int(filters.get("cursor", 0))
        rows = self._own[start : start + self._page]
        end = start + self._page
        return {
            "explorations": [{"id": own, "title": None, "idea": f"Idea {own[-1]}"} for own in rows],
            "cursor": str(end) if end < len(self._own) else None,
        }


def find(given: str, *own: str) -> str:
    return find_id(given, Listed(*own))  # type: ignore[arg-type]


ALL = (NEWEST, MIDDLE, OLDEST)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("last", NEWEST),
        ("-1", NEWEST),
        ("-3", OLDEST),
        ("0199b", NEWEST),
        ("0199B", NEWEST),
        ("0003", NEWEST),
        ("8000-000000000001", OLDEST),
        (OLDEST[:-1], None),
        (OLDEST, OLDEST),
    ],
)
def test_every_way_to_name_one(given: str, found: str | None) -> None:
    if found:
        assert find(given, *ALL) == found
        return
    with pytest.raises(InvalidRequestError):
        find(given, *ALL)


def test_a_whole_id_is_not_looked_up() -> None:
    nobodys, listed = new_id(0), Listed()

    assert find_id(nobodys, listed) == nobodys  # type: ignore[arg-type]
    assert listed.calls == 0


def test_several_that_begin_alike_are_named_in_one_sentence() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        find("0199a1", *ALL)

    assert refused.value.message == (
        "2 explorations have an id that ends or begins with 0199a1:"
        " 00000002 (Idea 2); 00000001 (Idea 1)."
    )


@pytest.mark.parametrize(
    ("own", "candidates"),
    [
        ((NEWEST,), "1 exploration has an id that ends or begins with 019: 00000003 (Idea 3)."),
        (ALL, "3 explorations have an id that ends or begins with 019: 00000003 (Idea 3); 0000"),
    ],
)
def test_a_beginning_that_is_too_short_lists_what_may_be_meant(
    own: tuple[str, ...], candidates: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        find("019", *own)

    short = "'019' is too short: at least 4 characters of an id are needed. "
    assert refused.value.message.startswith(f"{short}{candidates}")
    assert find(NEWEST[-8:], *own) == NEWEST


def test_of_many_that_begin_alike_a_few_are_named() -> None:
    many = [new_id(1_760_000_000_000 + n) for n in range(9)]
    with pytest.raises(InvalidRequestError, match="; and 4 more"):
        find(many[0][:6], *many)


@pytest.mark.parametrize(
    ("given", "own", "sentence"),
    [
        ("last", (), "There are no explorations yet."),
        ("-4", ALL, "There are fewer than 4 explorations."),
        ("ffff", ALL, "No exploration has an id that ends or begins with ffff."),
        ("ff", ALL, "No exploration has an id that ends or begins with ff."),
        ("0", (), "There are no explorations yet."),
        ("", ALL, "There is no exploration with this id."),
        ("-0", ALL, "There is no exploration with this id."),
        ("../x", ALL, "There is no exploration with this id."),
    ],
)
def test_what_names_none_is_said(given: str, own: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(MissingError) as refused:
        find(given, *own)
    assert refused.value.message == sentence


def test_no_more_pages_are_read_than_a_person_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "PAGE", 100)
    many = [f"0199a111-0000-7000-8000-{n:012x}" for n in range(5_000)]  # none ends with ffff
    listed = Listed(*many, page=100)
    with pytest.raises(MissingError) as refused:
        find_id("ffff", listed)  # type: ignore[arg-type]
    assert refused.value.hint == (
        "See them with: idea list. If it ran in another folder, add --research DIR."
    )
    assert listed.calls == ids.MAX_SEARCHED // ids.PAGE
    assert refused.value.message == (
        "No exploration of the newest 1,000 has an id that ends or begins with ffff."
    )


def test_ids_of_one_day_that_were_made_from_keys_differ_in_the_part_that_is_shown() -> None:
    own = [id_for_day("ada", f"key {n}", date(2026, 11, 17)) for n in range(20)]

    assert len({each[:13] for each in own}) == 1
    shown = shorten_ids(own)
    assert len({short[:3] for short in shown.values()}) > 15
    for each, short in shown.items():
        assert (len(short), find(short, *own)) == (8, each)


def test_a_short_form_is_longer_where_another_ends_or_begins_alike() -> None:
    alone = new_id(1_760_000_000_000)
    first, second = NEWEST, NEWEST.replace("-8000-", "-9000-")

    assert shorten_ids([alone, first, second]) == {
        alone: alone[-8:],
        first: "8000-000000000003",
        second: "9000-000000000003",
    }
    begins_alike = f"{alone[-8:]}-0000-7000-8000-000000000009"
    assert shorten_ids([alone, begins_alike])[alone] == alone[-9:]
