"""Our dataclasses beside those of the standard library: they behave alike."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from idea_explorer.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    secret: str = dataclasses.field(default="s", repr=False)


@dataclass
class Basket:
    owner: str
    items: list[str] = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False)
    _: dataclasses.KW_ONLY
    gift: bool = False

    def __post_init__(self) -> None:
        self.total = len(self.items)


@dataclass
class Crate(Basket):
    """More than a basket."""

    weight: float = 1.5


Decorator = Callable[..., Any]


def define_pair(decorate: Decorator, **options: bool) -> Any:
    @decorate(**options)
    class Pair:
        left: int
        right: str = "r"

    return Pair


OPTIONS: list[dict[str, bool]] = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"kw_only": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_look_and_compare_as_those_of_the_standard_library(
    options: dict[str, bool],
) -> None:
    ours, theirs = define_pair(dataclass, **options), define_pair(dataclasses.dataclass, **options)

    for made in (ours, theirs):
        assert made(left=1) == made(left=1, right="r") != made(left=2)
        assert made(left=1) != (1, "r")
    assert repr(ours(left=1)).replace("define_pair", "") == repr(theirs(left=1)).replace(
        "define_pair", ""
    )
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(left=1), "__dict__") == hasattr(theirs(left=1), "__dict__")
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert dataclasses.asdict(ours(left=3)) == dataclasses.asdict(theirs(left=3))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_arguments_that_do_not_fit_are_refused_in_the_same_words(options: dict[str, bool]) -> None:
    messages = []
    for decorate in (dataclass, dataclasses.dataclass):
        made = define_pair(decorate, **options)
        for arguments in ({}, {"left": 1, "middle": 2}):
            with pytest.raises(TypeError) as refused:
                made(**arguments)
            messages.append(str(refused.value))
    assert messages[:2] == messages[2:]


def test_a_frozen_object_does_not_change_and_has_a_hash() -> None:
    point = Point(1)

    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert {point, Point(1, tags=("a",))} == {point}
    assert dataclasses.replace(point, y=5) == Point(1, 5)


def test_what_is_left_out_of_the_picture_is_not_shown() -> None:
    assert repr(Point(1, tags=("a",))) == "Point(x=1, y=2, tags=('a',))"


def test_an_object_is_copied_and_pickled() -> None:
    for thing in (Point(1, tags=("a",)), Crate("me", ["apple"], gift=True)):
        assert copy.deepcopy(thing) == copy.copy(thing) == thing
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_defaults_are_made_anew_and_the_last_step_runs() -> None:
    first, second = Basket("me"), Basket("me", ["apple"], gift=True)
    first.items.append("pear")

    assert Basket("me").items == []
    assert (first.total, second.total, second.gift) == (0, 1, True)
    with pytest.raises(TypeError):
        Basket("me", [], True)  # type: ignore[call-arg]


def test_a_class_takes_over_the_fields_of_another() -> None:
    crate = Crate("me", weight=3.0)

    assert crate == Crate(owner="me", items=[], weight=3.0) != Basket("me")
    assert [field.name for field in dataclasses.fields(Crate)][-1] == "weight"


def test_what_a_class_defines_itself_stays() -> None:
    @dataclass(frozen=True)
    class Word:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and other.text.lower() == self.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

    assert {Word("a"), Word("A")} == {Word("a")}
