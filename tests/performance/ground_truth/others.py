"""Imports of Go, Java and C by the rules that their own tools document."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.performance.ground_truth.model import Truth, list_files, run_lines

GO_PROGRAM = Path(__file__).with_name("golang.go")
TS_PROGRAM = Path(__file__).with_name("typescript.cjs")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def read_go(root: Path, go: Sequence[str], env: dict[str, str]) -> Truth:
    """With go/parser. A package is the folder below the path of the module that go.mod names."""
    truth = Truth()
    files = list_files(root, [".go"])
    (module,) = re.findall(r"^module\s+(\S+)", (root / "go.mod").read_text(), re.MULTILINE)
    for found in run_lines([*go, str(GO_PROGRAM), str(root)], files, env=env):
        name: Any = found["file"]
        truth.definitions |= {(name, int(str(line)), str(s)) for line, s in found["definitions"]}
        for _, target in found["imports"]:
            if target == module or str(target).startswith(f"{module}/"):
                folder = str(target)[len(module) :].strip("/")
                inside = [f for f in files if f.rpartition("/")[0] == folder]
                truth.imports |= {(name, f) for f in inside}
    return truth


def read_javascript(root: Path, compiler: Path, endings: Sequence[str]) -> Truth:
    """With the TypeScript compiler's parser and resolver."""
    truth = Truth()
    files = list_files(root, endings)
    command = ["node", str(TS_PROGRAM), str(compiler), str(root.resolve())]
    for found in run_lines(command, files):
        name: Any = found["file"]
        truth.definitions |= {(name, int(str(line)), str(s)) for line, s in found["definitions"]}
        for _, spec, target in found["imports"]:
            if not target:
                truth.unsure.add((name, str(spec)))
                continue
            truth.imports.add((name, str(target)))
            implemented = re.sub(r"\.d\.([cm]?)ts$", r".\1js", str(target))
            if (root / implemented).exists():
                truth.imports.add((name, implemented))
    return truth


def read_java_imports(root: Path) -> set[tuple[str, str]]:
    """With javalang. A class is the file of its name, in the package that its source declares."""
    javalang = import_module("javalang")
    classes: dict[str, str] = {}
    imported: list[tuple[str, str]] = []
    for name in list_files(root, [".java"]):
        try:
            unit = javalang.parse.parse((root / name).read_text("utf-8", "replace"))
        except (javalang.parser.JavaSyntaxError, javalang.tokenizer.LexerError):
            continue
        package = f"{unit.package.name}." if unit.package else ""
        classes.setdefault(package + Path(name).stem, name)
        imported += [(name, one.path) for one in unit.imports if not one.wildcard or one.static]
    found: set[tuple[str, str]] = set()
    for importer, path in imported:
        parts = path.split(".")
        outer = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        target = next((classes[one] for one in outer if one in classes), None)
        if target:
            found.add((importer, target))
    return found


def read_includes(root: Path, folders: Sequence[str]) -> set[tuple[str, str]]:
    """As the preprocessor looks for them: beside the file, then in the folders that the build names. Names in
    angle brackets are looked for in those folders only."""
    found: set[tuple[str, str]] = set()
    for name in list_files(root, [".c", ".h"]):
        text = (root / name).read_text("utf-8", "replace")
        for mark, target in _INCLUDE.findall(text):
            beside = [(root / name).parent] if mark == '"' else []
            for folder in [*beside, *(root / one for one in folders)]:
                if (folder / target).is_file():
                    path = (folder / target).resolve().relative_to(root.resolve())
                    found.add((name, path.as_posix()))
                    break
    return found
