"""Python by its own parser and its own import system."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from tests.performance.ground_truth.model import Truth, list_files


def read_python(root: Path, roots: tuple[str, ...]) -> Truth:
    """`roots` are the folders that the project puts on the path of its imports."""
    truth = Truth()
    paths = tuple(str(root / one) for one in roots)
    for name in list_files(root, [".py"]):
        try:
            module = ast.parse((root / name).read_bytes())
        except (SyntaxError, ValueError):
            continue
        truth.definitions |= {(name, line, symbol) for line, symbol in _definitions(module)}
        for target in _imports(module, root / name, paths):
            if target.is_relative_to(root):
                truth.imports.add((name, target.relative_to(root).as_posix()))
    return truth


def _definitions(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Functions and classes anywhere, and what is assigned in classes and outside of functions."""
    local: set[int] = set()
    for node in ast.walk(module):  # outer ones first
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            if is_function or (id(node) in local and not isinstance(node, ast.ClassDef)):
                local.add(id(child))
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.Assign(targets=targets) if id(node) not in local:
                names = (n for target in targets for n in ast.walk(target))
                yield from (
                    (node.lineno, n.id)
                    for n in names
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                )
            case ast.AnnAssign(target=ast.Name(id=name)) if id(node) not in local:
                yield node.lineno, name


def _imports(module: ast.Module, file: Path, roots: tuple[str, ...]) -> Iterator[Path]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _origin(_find(alias.name, _with_script(file, roots)))
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                folder = file.parent
                for _ in range(node.level - 1):
                    folder = folder.parent
                names = tuple(node.module.split(".")) if node.module else ()
                base = _below(folder, names)
            else:
                base = _find(node.module or "", _with_script(file, roots))
            yield from _origin(base)
            for alias in node.names:
                if base and base.submodule_search_locations:
                    inner = PathFinder.find_spec(alias.name, [*base.submodule_search_locations])
                    yield from _origin(inner)


def _with_script(file: Path, roots: tuple[str, ...]) -> tuple[str, ...]:
    is_script = not (file.parent / "__init__.py").exists()
    return (*roots, str(file.parent)) if is_script else roots


@cache
def _find(name: str, roots: tuple[str, ...]) -> ModuleSpec | None:
    spec: ModuleSpec | None = None
    where = [*roots]
    for part in name.split("."):
        spec = PathFinder.find_spec(part, where)
        if spec is None:
            return None
        where = [*(spec.submodule_search_locations or [])]
    return spec


def _below(folder: Path, names: tuple[str, ...]) -> ModuleSpec | None:
    if names:
        return _find(".".join(names), (str(folder),))
    return PathFinder.find_spec(folder.name, [str(folder.parent)])


def _origin(spec: ModuleSpec | None) -> Iterator[Path]:
    if spec and spec.origin and spec.has_location:
        yield Path(spec.origin)
