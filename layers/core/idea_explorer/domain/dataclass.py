"""Dataclasses that are cheap to define.

The standard decorator compiles up to seven methods for each class, which takes a millisecond: a start defines
more than a hundred of these classes, and makes objects of some. Here all methods but one are the same
functions for every class, and `__init__` is compiled for the first object.
"""

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """As `dataclasses.dataclass`, with the options that we use."""

        def define(cls: type) -> type:
            return _define(cls, frozen=frozen, slots=slots, kw_only=kw_only)

        return define if cls is None else define(cls)


def _define(cls: type, *, frozen: bool, slots: bool, kw_only: bool) -> type:
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # else the signature would be computed to be shown there
    standard = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
    cls = standard(cls)
    for name, method in _methods(cls, frozen=frozen).items():
        # `None` stands there for the hash of a class that defines how it compares
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)
    return cls


def _methods(cls: type, *, frozen: bool) -> dict[str, Any]:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    values: Callable[[object], Any] = attrgetter(*compared) if compared else type

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        made = _make_init(cls, frozen=frozen)
        cls.__init__ = made  # type: ignore[misc]
        made(self, *arguments, **named)

    def is_equal(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def compute_hash(self: object) -> int:
        return hash(values(self))

    methods = {"__init__": init, "__eq__": is_equal, "__repr__": _show}
    if not frozen:
        return methods | {"__hash__": None}
    return methods | {
        "__hash__": compute_hash,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
    }


def _make_init(cls: Any, *, frozen: bool) -> "Callable[..., None]":
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    by_position: list[str] = ["self"]
    by_name: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            default = "=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        if field.init:
            (by_name if field.kw_only else by_position).append(f"{name}{default}")
        elif field.default_factory is not dataclasses.MISSING:
            value = f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            value = f"_default_{name}"
        else:
            continue  # `__post_init__` sets it
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*by_position, *(["*", *by_name] if by_name else [])])
    source = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"])
    exec(source, known)  # noqa: S102  # nosec B102  it has only names of fields of our own classes
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"  # as errors name it
    return made


def _show(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{self.__class__.__qualname__}({values})"


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
