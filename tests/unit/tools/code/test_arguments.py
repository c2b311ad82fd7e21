"""How the code tools' arguments are checked."""

from pathlib import Path

import pytest

from tests.fakes.code_repository import CodeBench, fill


@pytest.fixture
def bench(tmp_path: Path) -> CodeBench:
    root = fill(tmp_path / "project", {"app.py": "print()\n"})
    return CodeBench(tmp_path / "cache").over_folder(root)


@pytest.mark.parametrize("content", ["", " \n", "\n"])
def test_a_new_file_may_be_empty_or_blank(bench: CodeBench, content: str) -> None:
    answer = bench.call("create_file", path="new.txt", content=content, description="A new file")
    assert answer["ok"]
    assert bench.proposals[0].content == content


@pytest.mark.parametrize("missing", [{}, {"content": None}])
def test_a_new_file_without_content_is_asked_for_it(
    bench: CodeBench, missing: dict[str, None]
) -> None:
    answer = bench.call("create_file", path="new.txt", description="A new file", **missing)
    assert answer["error_type"] == "invalid_arguments"
    assert answer["message"].startswith("create_file requires 'content' parameter (")


def test_an_edit_with_blank_content_is_taken_for_a_forgotten_one(bench: CodeBench) -> None:
    answer = bench.call("edit_file", path="app.py", content="\n", description="Empty it")
    assert answer["error_type"] == "invalid_arguments"
    assert bench.proposals == []


@pytest.mark.parametrize(
    ("tool", "given", "parameter"),
    [
        ("read_file", {}, "path"),
        ("read_file", {"path": " "}, "path"),
        ("read_file", {"path": "app.py", "line_start": 0}, "line_start"),
        ("list_files", {}, "path"),
        ("list_files", {"path": ".", "page": 0}, "page"),
        ("search_files", {"pattern": ""}, "pattern"),
        ("search_files", {"pattern": "a" * 1_001}, "pattern"),
        ("find_files", {}, "pattern"),
        ("find_definition", {"symbol": "a", "type": "method"}, "type"),
        ("find_importers", {"modulePath": None}, "modulePath"),
        ("edit_file", {"path": "app.py", "content": "x"}, "description"),
        ("create_file", {"path": "b.py", "content": "x", "description": "\ufeff"}, "description"),
    ],
)
def test_a_bad_call_names_the_parameter_and_shows_an_example(
    bench: CodeBench, tool: str, given: dict[str, object], parameter: str
) -> None:
    answer = bench.call(tool, **given)
    assert answer["error_type"] == "invalid_arguments"
    assert answer["message"].startswith(f"{tool} requires '{parameter}' parameter (")
    assert "Example: {" in answer["message"]
