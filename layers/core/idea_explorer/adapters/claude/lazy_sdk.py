"""Loads the anthropic SDK without the parts that nobody asks for.

`import anthropic` loads about 2,900 modules, 1.8 s of CPU time: the types of all of Anthropic's APIs and the
clients of other clouds. The `__init__` of its packages mostly repeats names of their modules, as in
`from .message import Message`. Here such a package finds a name when it is first asked for; a package that
does anything else is loaded as ever. The SDK's own tracing, which we switch off, would load 600 types, and
what tells apart the reasons for a refusal 170: their functions are loaded when they are first called. So
are classes of its asynchronous half, which we do not use.
"""

import importlib
import re
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

SDK = "anthropic"
TRACING = "anthropic.lib._tracing"
REFUSALS = "anthropic._error_classes"
# What their importers do with the classes of these is call them.
CLASSES_TO_CALL = {"anthropic.lib.credentials._cache", "httpcore2._async"}
_IMPORT = re.compile(r"^from (\.[\w.]*) import (?:\(([^)]*)\)|([^\n(]+))$", re.MULTILINE)
_ALL = re.compile(r"^__all__ = [\[(][^\])]*[\])]$", re.MULTILINE)
_REST = re.compile(r"^(?:#.*|from __future__ import annotations|\s*)$")


def load_lazily() -> None:
    """Has no effect where the SDK is loaded already."""
    if SDK not in sys.modules and not any(isinstance(f, _Finder) for f in sys.meta_path):
        # behind the finder that gives modules builtins of ours (startup/), which would see none of these
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(place, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != SDK and fullname not in CLASSES_TO_CALL:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return spec
        if fullname == REFUSALS or fullname in CLASSES_TO_CALL:
            spec.loader = _CalledLoader(fullname, spec.origin)
        elif spec.submodule_search_locations:
            spec.loader = _PackageLoader(fullname, spec.origin)
        return spec


class _CalledLoader(SourceFileLoader):
    """Loads a module when one of its functions is called, or anything else of it is asked for. Where only
    calls are made to its classes, they count as functions."""

    def exec_module(self, module: ModuleType) -> None:
        lock = (
            threading.RLock()
        )  # of the threads that ask at once, one loads it and the others wait

        def find(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(f"module {self.name!r} has no attribute {name!r}")
            is_called = name.islower() or self.name in CLASSES_TO_CALL
            return partial(call, name) if is_called else load(name)

        def call(name: str, *arguments: Any, **named: Any) -> Any:
            return load(name)(*arguments, **named)

        def load(name: str) -> Any:
            with lock:
                if module.__dict__.get("__getattr__") is find:
                    super(_CalledLoader, self).exec_module(module)
                    del module.__dict__["__getattr__"]  # not before: others may ask meanwhile
            return getattr(module, name)

        module.__dict__["__getattr__"] = find


class _PackageLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        names = names_to_find(self.name, self.get_data(self.path).decode())
        if not names:
            super().exec_module(module)
            return
        stars = [source for source, name in names.values() if name == "*"]

        def find(name: str) -> Any:
            if name in names and self.name == TRACING and name.islower():
                found = _load_when_called(self.name, *names[name])
            elif name in names:
                found = _load(self.name, *names[name])
            elif name.startswith("_"):
                raise AttributeError(f"module {self.name!r} has no attribute {name!r}")
            else:
                found = _find_in(self.name, stars, name)
            setattr(module, name, found)
            return found

        module.__dict__["__getattr__"] = find


def names_to_find(package: str, text: str) -> dict[str, tuple[str, str]]:
    """What a package imports, as name: (module, name there), if it can be found when it is asked for; else
    nothing. `scripts/trim-anthropic` leaves out of a layer what is never asked for."""
    names, rest = _read_names(text)
    # after its imports, the SDK's own `__init__` only names itself as the module of its classes
    return {} if (rest and package != SDK) or _hides_a_module(names) else names


def _read_names(text: str) -> tuple[dict[str, tuple[str, str]], str]:
    """What a package imports, as name: (module, name there), and whatever else it does."""
    names: dict[str, tuple[str, str]] = {}

    def take(statement: re.Match[str]) -> str:
        lines = (statement[2] or statement[3]).splitlines()
        for part in ",".join(line.partition("#")[0] for line in lines).split(","):
            original, _, name = part.strip().partition(" as ")
            if original == "*":
                names[f"* of {statement[1]}"] = (statement[1], "*")
            elif original:
                names[name or original] = (statement[1], original)
        return ""

    left = _ALL.sub("", _IMPORT.sub(take, text))
    return names, "".join(line for line in left.splitlines() if not _REST.match(line))


def _hides_a_module(names: dict[str, tuple[str, str]]) -> bool:
    """A module is set on its package when it is loaded, and would replace a name that is spelled alike."""
    return any(source.lstrip(".") == name for name, (source, _) in names.items())


def _load(package: str, source: str, name: str) -> Any:
    if not source.strip("."):
        return importlib.import_module(f"{source}{name}", package)
    return getattr(importlib.import_module(source, package), name)


def _load_when_called(package: str, source: str, name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        return _load(package, source, name)(*arguments, **named)

    return call


def _find_in(package: str, sources: Sequence[str], name: str) -> Any:
    for source in sources:
        module = importlib.import_module(source, package)
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
