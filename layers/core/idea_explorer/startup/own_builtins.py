"""Gives named third-party modules our own builtins before they are loaded.

So one module can import another when it first uses it, and no other module notices.
"""

import builtins
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_replaced: dict[str, dict[str, Any]] = {}


def replace_builtins(module: str, replaced: "Mapping[str, Any]") -> None:
    """Has no effect where the module is loaded already."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _replaced[module] = {**_replaced.get(module, {}), **replaced}


def import_when_used(importer: str, modules: "Collection[str]") -> None:
    """What `importer` imports whole, as in `import asyncio` or `from concurrent import futures`, is loaded
    when it asks for one of its names. This is for what it only uses in calls."""
    replace_builtins(importer, {"__import__": _import_of(frozenset(modules))})


def _import_of(modules: frozenset[str]) -> "Callable[..., Any]":
    def import_lazily(
        name: str,
        names: Any = None,
        local_names: Any = None,
        fromlist: "Sequence[str] | None" = (),
        level: int = 0,
    ) -> Any:
        wanted = ".".join([name, *(fromlist or ())])
        if wanted not in modules or wanted in sys.modules or level:
            return builtins.__import__(name, names, local_names, fromlist or (), level)
        package = name.partition(".")[0]
        within = [m for m in modules if m == package or m.startswith(f"{package}.")]
        return _LazyModule(name if fromlist else package, within)

    return import_lazily


class _LazyModule(ModuleType):
    """A package or module of which the importer imports `modules`: they are loaded when a name of one of them
    is asked for."""

    def __init__(self, name: str, modules: "Collection[str]") -> None:
        super().__init__(name)
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        within = f"{self.__name__}.{name}"
        if within in self._modules:
            return _LazyModule(within, self._modules)
        for module in self._modules:
            import_module(module)
        return getattr(sys.modules[self.__name__], name)


class _Finder:
    def find_spec(
        self, fullname: str, path: "Sequence[str] | None", target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _replaced:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), **_replaced[self.name]}
        super().exec_module(module)
