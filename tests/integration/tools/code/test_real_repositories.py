"""On real code: the tools agree with Python's own parser and with a look at every line."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pydantic
import pytest

from tests.fakes.code_repository import CodeBench

ROOT = Path(pydantic.__file__).parent
Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in sorted(ROOT.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


@functools.cache
def nodes() -> list[tuple[str, Named | ast.Import | ast.ImportFrom]]:
    return [
        (path, node)
        for path, text in sources().items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Named | ast.Import | ast.ImportFrom)
    ]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> CodeBench:
    return CodeBench(tmp_path_factory.mktemp("real")).over_folder(ROOT)


def defined(kind: type[Named] | tuple[type[Named], ...], name: str) -> set[tuple[str, int]]:
    return {
        (path, node.lineno)
        for path, node in nodes()
        if isinstance(node, kind) and node.name == name
    }


def found(answer: dict[str, list[dict[str, object]]], key: str) -> set[tuple[object, object]]:
    return {(item["file"], item["line"]) for item in answer[key]}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["BaseModel", "FieldInfo", "Color", "ValidationInfo", "NoSuchClass"]
)
def test_classes_are_those_that_ast_finds(bench: CodeBench, name: str) -> None:
    answer = bench.call("find_definition", symbol=name, type="class")
    assert found(answer, "definitions") == defined(ast.ClassDef, name)


@pytest.mark.parametrize("name", ["validator", "model_dump", "wrapper", "_repr_fields"])
def test_functions_are_those_that_ast_finds(bench: CodeBench, name: str) -> None:
    answer = bench.call("find_definition", symbol=name, type="function")
    expected = defined((ast.FunctionDef, ast.AsyncFunctionDef), name)
    assert answer["total"] == len(expected)
    assert found(answer, "definitions") <= expected


def importing(module: list[str]) -> Iterator[tuple[str, int]]:
    """Who imports a module of this package, by ast: absolute from `pydantic`, or relative."""
    for path, node in nodes():
        named: list[list[str]] = []
        if isinstance(node, ast.Import):
            named = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ["pydantic", *path.split("/")[:-1]]
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            named = [base, *([*base, alias.name] for alias in node.names)]
        if ["pydantic", *module] in named:
            yield path, node.lineno


@pytest.mark.parametrize(
    "module_path",
    ["main.py", "_internal/_utils.py", "v1/main.py", "v1/fields.py", "json_schema.py"],
)
def test_importers_are_those_that_ast_finds(bench: CodeBench, module_path: str) -> None:
    module = module_path.removesuffix(".py").split("/")
    answer = bench.call("find_importers", modulePath=module_path)
    expected = set(importing(module))
    assert expected
    # the folder is the package itself, so absolute imports that begin with its name are found as well
    assert found(answer, "importers") == expected


@pytest.mark.parametrize(
    "pattern", ["TODO", r"def \w+_schema\(", r"^class ", "(?i)deprecated", r"\bself\.\w+$"]
)
def test_matches_are_those_of_a_look_at_every_line(bench: CodeBench, pattern: str) -> None:
    expected = {
        (path, number)
        for path, text in sources().items()
        for number, line in enumerate(text.split("\n"), 1)
        if re.search(pattern, line)
    }
    answer = bench.call("search_files", pattern=pattern, filePattern="*.py")
    assert answer["totalMatches"] == len(expected)
    assert found(answer, "matches") <= expected


def test_a_file_read_in_parts_is_the_file(bench: CodeBench) -> None:
    lines: list[str] = []
    while True:
        answer = bench.call("read_file", path="types.py", line_start=len(lines) + 1)
        lines += [line.split("\t", 1)[1] for line in answer["content"].split("\n")]
        if not answer["truncated"]:
            break
    assert "\n".join(lines) + "\n" == sources()["types.py"]


def test_files_are_those_on_disk(bench: CodeBench) -> None:
    listed: list[str] = []
    page: int | None = 1
    while page:
        answer = bench.call("find_files", pattern="**/*.py", page=page)
        listed += answer["files"]
        page = answer["nextPage"]
    assert listed == sorted(sources())
