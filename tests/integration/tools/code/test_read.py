"""Files and folders of a repository, read and listed as the engine does."""

from pathlib import Path

import pytest

from tests.fakes.code_repository import PROJECT, CodeBench, fill, garden_kit


@pytest.fixture
def bench(tmp_path: Path) -> CodeBench:
    return garden_kit(tmp_path)


# read_file


def test_a_file_is_read_with_line_numbers(bench: CodeBench) -> None:
    assert bench.call("read_file", path="package.json") == {
        "ok": True,
        "path": "package.json",
        "content": '1\t{"name": "garden-kit"}',
        "line_start": 1,
        "line_end": 1,
        "total_lines": 1,
        "language": "json",
        "truncated": False,
        "bytes": 23,
    }


def test_a_part_of_a_file_is_read(bench: CodeBench) -> None:
    answer = bench.call("read_file", path="./src/app.py", line_start=6, line_end=7)
    assert answer["content"] == "6\tdef main(argv):\n7\t    # TODO: parse"
    assert (answer["line_start"], answer["line_end"], answer["total_lines"]) == (6, 7, 8)
    assert not answer["truncated"]


def test_an_end_behind_the_last_line_is_the_last_line(bench: CodeBench) -> None:
    assert bench.call("read_file", path="README.md", line_start=3, line_end=99)["line_end"] == 3


@pytest.mark.parametrize(
    ("lines", "parameter"),
    [({"line_start": 4}, "line_start"), ({"line_start": 2, "line_end": 1}, "line_end")],
)
def test_lines_that_are_not_there_are_invalid_arguments(
    bench: CodeBench, lines: dict[str, int], parameter: str
) -> None:
    answer = bench.call("read_file", path="README.md", **lines)
    assert answer["error_type"] == "invalid_arguments"
    assert f"'{parameter}'" in answer["message"]


def test_carriage_returns_are_not_shown(bench: CodeBench) -> None:
    assert bench.call("read_file", path="src/windows.txt")["content"] == "1\tfirst\n2\tsecond"


def test_text_that_is_not_utf_8_is_read_as_well_as_it_goes(bench: CodeBench) -> None:
    assert bench.call("read_file", path="src/latin.txt")["content"] == "1\tcaf\ufffd"


def test_a_link_is_read_where_it_leads(bench: CodeBench) -> None:
    assert bench.call("read_file", path="docs/latest")["path"] == "README.md"
    assert bench.call("read_file", path="docs/code/plots.py")["path"] == "src/plots.py"


@pytest.mark.parametrize(
    ("path", "error_type"),
    [
        ("missing.py", "file_not_found"),
        ("package.json/x", "file_not_found"),
        ("src", "not_a_file"),
        ("docs/code", "not_a_file"),
        (".", "not_a_file"),
        ("src/logo.png", "binary_file"),
        ("src/large.csv", "file_too_large"),
        ("../secret", "path_validation"),
    ],
)
def test_what_cannot_be_read_says_why(bench: CodeBench, path: str, error_type: str) -> None:
    answer = bench.call("read_file", path=path)
    assert (answer["ok"], answer["error_type"]) == (False, error_type)


def test_a_long_file_is_read_in_parts(tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(1, 5_001))
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"long.txt": text}))
    first = bench.call("read_file", path="long.txt")
    assert (first["line_end"], first["total_lines"], first["truncated"]) == (2_000, 5_000, True)
    last = bench.call("read_file", path="long.txt", line_start=4_001)
    assert (last["line_end"], last["truncated"]) == (5_000, False)


def test_long_lines_never_crowd_out_the_conversation(tmp_path: Path) -> None:
    text = ("x" * 60_000 + "\n") * 4 + '"' * 500_000
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"min.js": text}))
    answer = bench.call("read_file", path="min.js")
    assert (answer["line_end"], answer["truncated"]) == (2, True)
    alone = bench.call("read_file", path="min.js", line_start=5)
    assert (alone["line_end"], alone["truncated"]) == (5, True)
    assert len(alone["content"]) < 200_000


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"empty.py": ""}))
    answer = bench.call("read_file", path="empty.py")
    assert (answer["content"], answer["total_lines"], answer["line_end"]) == ("", 0, 0)


# list_files


def test_a_folder_is_listed(bench: CodeBench) -> None:
    then = {"modified": "2023-11-14T22:13:20Z"}
    answer = bench.call("list_files", path=".")
    assert answer == {
        "ok": True,
        "path": ".",
        "entries": [
            {"path": "README.md", "name": "README.md", "type": "file", "size": 32, **then},
            {"path": "docs", "name": "docs", "type": "directory", "size": None, **then},
            {"path": "package.json", "name": "package.json", "type": "file", "size": 23, **then},
            {"path": "src", "name": "src", "type": "directory", "size": None, **then},
        ],
        "page": 1,
        "total": 4,
        "nextPage": None,
    }


def test_everything_below_a_folder_is_listed_without_entering_links(bench: CodeBench) -> None:
    answer = bench.call("list_files", path="docs", recursive=True)
    assert [(e["path"], e["type"]) for e in answer["entries"]] == [
        ("docs/code", "symlink"),
        ("docs/latest", "symlink"),
    ]
    everything = bench.call("list_files", path=".", recursive=True)
    assert everything["total"] == len(PROJECT) + 2


def test_a_linked_folder_is_listed_where_it_leads(bench: CodeBench) -> None:
    answer = bench.call("list_files", path="docs/code/")
    assert answer["path"] == "src"
    assert answer["entries"][0]["path"] == "src/app.py"


@pytest.mark.parametrize(
    ("path", "error_type"),
    [("nowhere", "file_not_found"), ("README.md", "not_a_directory"), ("..", "path_validation")],
)
def test_what_cannot_be_listed_says_why(bench: CodeBench, path: str, error_type: str) -> None:
    assert bench.call("list_files", path=path)["error_type"] == error_type


@pytest.mark.parametrize(
    ("tool", "given"),
    [("list_files", {"path": "many"}), ("find_files", {"pattern": "many/*"})],
)
def test_long_lists_come_in_pages(tmp_path: Path, tool: str, given: dict[str, str]) -> None:
    files = {f"many/{n:03}.txt": "" for n in range(250)}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    pages = [bench.call(tool, **given, page=page) for page in (1, 2, 3, 4)]
    key = "entries" if tool == "list_files" else "files"
    assert [len(page[key]) for page in pages] == [100, 100, 50, 0]
    assert [page["nextPage"] for page in pages] == [2, 3, None, None]
    assert {page["total"] for page in pages} == {250}
