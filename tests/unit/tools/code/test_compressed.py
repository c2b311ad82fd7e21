"""Grammars as a layer holds them: compressed, and unpacked by the first file in their language."""

import gzip
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PARSE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from idea_explorer.tools.code.parsing import parse

SOURCES = {"c": b"int in_c(void) { return 1; }", "go": b"package a\\nfunc InGo() {}"}

def names(grammar):
    return [definition.name for definition in parse(grammar, SOURCES[grammar]).definitions]
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The packages of two grammars, with nothing but their compressed libraries."""
    for name in ("tree_sitter_c", "tree_sitter_go"):
        spec = find_spec(name)
        assert spec
        assert spec.origin
        copy = tmp_path / "packages" / name
        shutil.copytree(Path(spec.origin).parent, copy)
        (library,) = copy.glob("_binding*.so")
        library.with_name(f"{library.name}.gz").write_bytes(gzip.compress(library.read_bytes(), 1))
        library.unlink()
    return tmp_path / "packages"


def run(packages: Path, code: str) -> str:
    """In a process that finds these packages first and no others of their name."""
    temporary = packages.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    variables = {**os.environ, "PYTHONPATH": str(packages), "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", PARSE + code],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [*temporary.iterdir()] == []  # whatever happened, nothing is left
    return done.stdout.strip()


def test_each_language_gets_its_own_grammar(packages: Path) -> None:
    found = run(packages, "print(*names('c'), *names('go'))")

    assert found == "in_c InGo"


def test_where_it_was_unpacked_from_is_known(packages: Path) -> None:
    found = run(packages, "names('go'); print(sys.modules['tree_sitter_go._binding'].__file__)")

    assert found == str(packages / "tree_sitter_go" / "_binding.abi3.so.gz")


def test_threads_that_need_a_grammar_at_once_all_get_it(packages: Path) -> None:
    found = run(
        packages,
        """
with ThreadPoolExecutor(8) as threads:
    print(*sum(threads.map(names, ["c", "go"] * 4), []))
""",
    )

    assert found.split() == ["in_c", "InGo"] * 4


@pytest.mark.parametrize("damage", ["cut", "changed", "no gzip"])
def test_a_damaged_grammar_is_not_loaded_and_a_whole_one_is(packages: Path, damage: str) -> None:
    (file,) = packages.glob("tree_sitter_go/*.gz")
    whole = file.read_bytes()
    changed = whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:]  # its checksum
    file.write_bytes({"cut": whole[:-100], "changed": changed, "no gzip": b"\x7fELF"}[damage])
    (packages.parent / "whole").write_bytes(whole)

    found = run(
        packages,
        f"""
import pathlib
try:
    names("go")
except ImportError as error:
    print(error.path)
whole = pathlib.Path({str(packages.parent / "whole")!r}).read_bytes()
pathlib.Path({str(file)!r}).write_bytes(whole)
print(*names("go"))
""",
    )

    assert found.split() == [str(file), "InGo"]
