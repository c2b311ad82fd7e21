"""Definitions in a repository, and repositories of every kind."""

from functools import partial
from pathlib import Path

import pytest

from idea_explorer.agent.tool_calls import run_in_parallel
from idea_explorer.domain.limits import CodeLimits
from tests.fakes.code_repository import CodeBench, fill, garden_kit, tarball


@pytest.fixture
def bench(tmp_path: Path) -> CodeBench:
    return garden_kit(tmp_path)


def test_a_class_is_found_where_it_is_defined(bench: CodeBench) -> None:
    assert bench.call("find_definition", symbol="Plot") == {
        "ok": True,
        "symbol": "Plot",
        "definitions": [
            {
                "file": "src/plots.py",
                "line": 1,
                "kind": "class",
                "signature": "class Plot",
                "context": (
                    "1\tclass Plot:\n2\t    rows = 3\n3\t\n4\t    def water(self, litres=1):"
                    "\n5\t        return litres"
                ),
            }
        ],
        "total": 1,
    }


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"symbol": "water"}, ["src/plots.py:4 function"]),
        ({"symbol": "Plot.water"}, ["src/plots.py:4 function"]),
        ({"symbol": "plots.Plot"}, ["src/plots.py:1 class"]),
        ({"symbol": "Other.water"}, []),
        ({"symbol": "rows", "type": "variable"}, ["src/plots.py:2 variable"]),
        ({"symbol": "rows", "type": "function"}, []),
        ({"symbol": "Plot", "type": "import"}, ["src/app.py:3 import"]),
        # nothing here defines it, so where it comes from is the next best answer
        ({"symbol": "os"}, ["src/app.py:1 import"]),
        ({"symbol": "nothing"}, []),
        ({"symbol": "."}, []),
    ],
)
def test_definitions_are_found_by_name_kind_and_container(
    bench: CodeBench, given: dict[str, str], found: list[str]
) -> None:
    answer = bench.call("find_definition", **given)
    assert answer["ok"]
    assert [f"{d['file']}:{d['line']} {d['kind']}" for d in answer["definitions"]] == found
    assert answer["total"] == len(found)


def test_an_empty_repository_answers_every_tool(tmp_path: Path) -> None:
    bench = CodeBench(tmp_path / "cache").over_tarball(tarball({}))
    assert bench.call("list_files", path=".")["entries"] == []
    assert bench.call("search_files", pattern=".")["totalMatches"] == 0
    assert bench.call("find_files", pattern="**")["files"] == []
    assert bench.call("find_definition", symbol="main")["total"] == 0
    assert bench.call("find_importers", modulePath="main")["total"] == 0
    assert bench.call("read_file", path="README.md")["error_type"] == "file_not_found"
    assert bench.call("create_file", path="a.py", content="", description="First")["ok"]


def test_a_repository_that_cannot_be_read_is_a_tool_s_error(tmp_path: Path) -> None:
    files = {f"{n}.txt": "" for n in range(11)}
    bench = CodeBench(tmp_path / "cache", CodeLimits(max_files=10)).over_tarball(tarball(files))
    answer = bench.call("list_files", path=".")
    assert not answer["ok"]
    assert "more than 10 files" in answer["message"]


def test_a_folder_that_is_gone_is_a_tool_s_error(tmp_path: Path) -> None:
    bench = CodeBench(tmp_path / "cache").over_folder(tmp_path / "gone")
    answer = bench.call("read_file", path="a.py")
    assert not answer["ok"]
    assert "does not exist" in answer["message"]
    assert bench.log.lines == []


def test_a_new_commit_parses_only_what_changed(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"def f{n}(): pass\n" for n in range(150)}
    bench = CodeBench(tmp_path / "cache").over_tarball(tarball(files))
    assert bench.workspace.index.build(bench.workspace.tree) == 150
    changed = {**files, "m7.py": "def other(): pass\n"}
    again = CodeBench(tmp_path / "cache").over_tarball(tarball(changed), "5" * 40)
    assert again.workspace.index.build(again.workspace.tree) == 1
    assert again.call("find_definition", symbol="f7")["total"] == 0
    assert again.call("find_definition", symbol="other")["total"] == 1


def test_calls_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"import m{n - 1}\n\n\ndef f{n}(): pass\n" for n in range(300)}
    bench = CodeBench(tmp_path / "cache").over_folder(fill(tmp_path / "project", files))
    calls = [
        partial(bench.call, tool, **given)
        for n in range(0, 300, 30)
        for tool, given in [
            ("find_definition", {"symbol": f"f{n}"}),
            ("find_importers", {"modulePath": f"m{n}.py"}),
            ("search_files", {"pattern": f"def f{n}\\b"}),
            ("read_file", {"path": f"m{n}.py"}),
        ]
    ]
    answers = run_in_parallel(calls)
    counts = [a.get("total", a.get("totalMatches", 1)) for a in answers]
    assert counts == [1] * len(calls)
