"""Lines and files of a repository, found by pattern."""

import random
import re
import threading
from pathlib import Path

import pytest

from idea_explorer.domain.deadline import TimeLimitExceededError, run_with_time_limit
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.tools.code.patterns import line_pattern
from tests.fakes.code_repository import CodeBench, fill, garden_kit, tarball


@pytest.fixture
def bench(tmp_path: Path) -> CodeBench:
    return garden_kit(tmp_path)


# search_files


def test_a_search_finds_lines(bench: CodeBench) -> None:
    assert bench.call("search_files", pattern="TODO") == {
        "ok": True,
        "matches": [
            {"file": "README.md", "line": 3, "text": "TODO: describe it"},
            {"file": "src/app.py", "line": 7, "text": "    # TODO: parse"},
        ],
        "totalMatches": 2,
        "truncated": False,
        "more": None,
        "skipped": [
            {"why": "larger than 1,048,576 bytes", "files": 1, "examples": ["src/large.csv"]},
            {"why": "binary, or text in UTF-16", "files": 1, "examples": ["src/logo.png"]},
            {
                "why": "not in UTF-8: searched, but only their ASCII text can match",
                "files": 1,
                "examples": ["src/latin.txt"],
            },
        ],
    }


def test_only_what_was_to_be_searched_counts_as_skipped(bench: CodeBench) -> None:
    assert "skipped" not in bench.call("search_files", pattern="TODO", filePattern="*.md")
    (skipped,) = bench.call("search_files", pattern="TODO", path="src/logo.png")["skipped"]
    assert skipped["examples"] == ["src/logo.png"]


def test_lines_around_a_match_are_shown_on_request(bench: CodeBench) -> None:
    answer = bench.call("search_files", pattern="TODO", path="src", context=1)
    (match,) = answer["matches"]
    assert match["context"] == "6\tdef main(argv):\n7\t    # TODO: parse\n8\t    return Plot()"
    refused = bench.call("search_files", pattern="TODO", context=11)
    assert refused["error_type"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"path": "src"}, {"src/app.py"}),
        ({"path": "src/app.py"}, {"src/app.py"}),
        ({"path": "docs/code"}, {"src/app.py"}),
        ({"path": ""}, {"README.md", "src/app.py"}),
        ({"filePattern": "*.md"}, {"README.md"}),
        ({"filePattern": "*.{md,rst}"}, {"README.md"}),
        ({"filePattern": "src/**"}, {"src/app.py"}),
        ({"filePattern": "src/*.md"}, set()),
        ({"filePattern": ""}, {"README.md", "src/app.py"}),
        ({"path": "docs"}, set()),
    ],
)
def test_a_search_is_narrowed(bench: CodeBench, given: dict[str, str], files: set[str]) -> None:
    answer = bench.call("search_files", pattern="TODO", **given)
    assert {match["file"] for match in answer["matches"]} == files


def test_a_search_agrees_with_a_look_at_every_line(tmp_path: Path) -> None:
    files = {
        "a.txt": "one\n\ntwo one\none one\n",
        "b.txt": "one",
        "c/empty.txt": "",
        "c/ends.txt": "two\none\n\n",
        "d.txt": "\n\n\n",
        "e.txt": "one\r\n\r\n",
    }
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    for pattern in [
        "one",
        "^one",
        "one$",
        "^$",
        "^",
        "$",
        "x*",
        "o.e",
        "[^x]*e",
        "two|one",
        r"\bone\b",
    ]:
        expected = [
            (path, number, line.removesuffix("\r"))
            for path, text in sorted(files.items())
            for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
            if text and re.search(pattern, line.removesuffix("\r"))
        ]
        answer = bench.call("search_files", pattern=pattern)
        found = [(match["file"], match["line"], match["text"]) for match in answer["matches"]]
        assert found == expected, pattern
        assert answer["totalMatches"] == len(expected)


def test_many_matches_are_cut_and_counted(tmp_path: Path) -> None:
    text = "".join(f"hit {n}\n" for n in range(120))
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"a.txt": text}))
    answer = bench.call("search_files", pattern="hit")
    assert len(answer["matches"]) == 50
    assert (answer["totalMatches"], answer["truncated"]) == (120, True)
    assert answer["more"] == "...and 70 more"
    assert answer["folders"] == [{"folder": ".", "matches": 120, "files": 1}]


def test_of_too_many_matches_source_code_comes_first_and_folders_are_counted(
    tmp_path: Path,
) -> None:
    files = {f"src/deep/m{n:02}.py": "hit\n" * 5 for n in range(10)}
    files |= {"node_modules/a/index.js": "hit\n" * 40, "tests/test_a.py": "hit\n" * 4}
    files |= {"README.md": "hit\n" * 4, "src/locale.lock": "hit\n"}
    bench = CodeBench(tmp_path / "c").over_tarball(tarball(files))
    answer = bench.call("search_files", pattern="hit")
    shown = [match["file"] for match in answer["matches"]]
    assert shown[:6] == ["src/deep/m00.py"] * 3 + ["src/deep/m01.py"] * 3
    assert set(shown) == {f"src/deep/m{n:02}.py" for n in range(10)}
    assert answer["totalMatches"] == sum(folder["matches"] for folder in answer["folders"]) == 99
    assert answer["folders"][0] == {"folder": "src/deep", "matches": 50, "files": 10}


def test_many_folders_are_counted_as_their_parents(tmp_path: Path) -> None:
    files = {f"{top}/{n}/a.py": "hit\n" for top in ("a", "b") for n in range(30)}
    bench = CodeBench(tmp_path / "c").over_tarball(tarball(files))
    assert bench.call("search_files", pattern="hit")["folders"] == [
        {"folder": "a", "matches": 30, "files": 30},
        {"folder": "b", "matches": 30, "files": 30},
    ]


def test_a_long_line_is_shown_around_its_match(tmp_path: Path) -> None:
    text = "é" * 5_000 + "needle" + "y" * 5_000
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"min.js": text}))
    (match,) = bench.call("search_files", pattern="needle")["matches"]
    assert "needle" in match["text"]
    assert len(match["text"]) <= 302


@pytest.mark.parametrize("pattern", ["(", "(?=x)", r"(a)\1", "a**", "[b-a]"])
def test_an_invalid_pattern_says_so(bench: CodeBench, pattern: str) -> None:
    answer = bench.call("search_files", pattern=pattern)
    assert answer["error_type"] == "invalid_pattern"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("search_files", {"pattern": "x", "path": "nowhere"}),
        ("search_files", {"pattern": "x", "path": "../"}),
        ("find_files", {"pattern": "*", "path": "nowhere"}),
        ("find_files", {"pattern": "*", "path": "/etc"}),
    ],
)
def test_a_scope_that_is_not_there_is_a_bad_path(
    bench: CodeBench, tool: str, given: dict[str, str]
) -> None:
    assert bench.call(tool, **given)["error_type"] == "path_validation"


def test_a_bad_file_pattern_says_so(bench: CodeBench) -> None:
    for given in ({"pattern": "../*"}, {"pattern": "/etc/*"}):
        assert bench.call("find_files", **given)["error_type"] == "invalid_pattern"
    answer = bench.call("search_files", pattern="x", filePattern="../*")
    assert answer["error_type"] == "invalid_pattern"


# find_files


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"pattern": "*.md"}, ["README.md"]),
        ({"pattern": "plot*"}, ["src/plots.py"]),
        ({"pattern": "**/*.py"}, ["src/app.py", "src/plots.py"]),
        ({"pattern": "*.py", "path": "src"}, ["src/app.py", "src/plots.py"]),
        ({"pattern": "src/p*.py"}, ["src/plots.py"]),
        ({"pattern": "docs/*"}, ["docs/code", "docs/latest"]),
    ],
)
def test_files_are_found_by_name(bench: CodeBench, given: dict[str, str], files: list[str]) -> None:
    answer = bench.call("find_files", **given)
    assert answer == {"ok": True, "files": files, "page": 1, "total": len(files), "nextPage": None}


@pytest.mark.parametrize(
    ("pattern", "files", "tried"),
    [
        ("nothing", [], "No name in any folder below the root matches 'nothing'; 10 files tried."),
        (
            "lib/*.py",
            [],
            "No path from the root matches 'lib/*.py', nor does any match '**/lib/*.py'; 10 files tried.",
        ),
        ("./plots.py", ["src/plots.py"], "these match '**/plots.py'."),
    ],
)
def test_what_was_tried_is_said_when_nothing_matches(
    bench: CodeBench, pattern: str, files: list[str], tried: str
) -> None:
    answer = bench.call("find_files", pattern=pattern)
    assert answer["files"] == files
    assert answer["tried"].endswith(tried)


def test_counting_ends_where_it_says_nothing_more(tmp_path: Path) -> None:
    bench = CodeBench(tmp_path / "c", CodeLimits(max_counted=60))
    bench.over_folder(fill(tmp_path / "p", {"a.txt": "x\n" * 200}))
    answer = bench.call("search_files", pattern="x")
    assert (answer["totalMatches"], answer["more"]) == (60, "...and at least 10 more")
    assert answer["note"].startswith("Counting stopped at 60 matches.")


def test_a_line_with_other_bytes_than_utf_8_counts_once(tmp_path: Path) -> None:
    files = {"a.txt": b"x \xe9 x \xe9 x\nx\n"}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    assert bench.call("search_files", pattern="x")["totalMatches"] == 2


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"\bcafé\b", [1, 2]),
        (r"\w+é\b", [1, 2]),
        (r"\bfoo", [4]),
        (r"foo\b", [3, 4]),
        (r"^\w+$", [2, 3, 6]),
        (r"[\w]{4}é", [3]),
        (r"[^\w]", [1, 4, 5]),
        (r"[\W]", [1, 4, 5]),
        (r"a\sb", [5]),
        (r"\bfoo\b|\bимя\b", [4, 6]),
        (r"(?i)\bИМЯ\b", [6]),
    ],
)
def test_words_are_those_of_every_script(tmp_path: Path, pattern: str, lines: list[int]) -> None:
    text = "a café!\ncafé\ncafééfoo\nfoo -\na\u3000b\nимя\n"
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"a.txt": text}))
    answer = bench.call("search_files", pattern=pattern)
    assert [match["line"] for match in answer["matches"]] == lines


HANGING = [
    "(a+)+$", "(a|a)*$", "(a*)*b", "^(a+)+$", "([a-z]+)*[A-Z]", "(x+x+)+y", "(.*a){25}", r"(\w+\s?)*$",
    "([^x]*y)*z", "a?a?a?a?a?a?a?a?a?a?aaaaaaaaaa", "(?i)(?:a|A|aa)+!",
]  # fmt: skip


@pytest.mark.parametrize("pattern", HANGING)
def test_a_regex_that_hangs_others_is_answered(tmp_path: Path, pattern: str) -> None:
    text = "a" * 200_000 + "!\n" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n" * 5_000
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", {"a.txt": text}))
    assert bench.call("search_files", pattern=pattern)["ok"]


def test_a_file_pattern_that_hangs_others_is_answered(tmp_path: Path) -> None:
    files = {"a" * 200: ""}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    assert bench.call("find_files", pattern="*a" * 60 + "b")["files"] == []
    assert bench.call("find_files", pattern="**/" * 60 + "b")["files"] == []


def test_a_search_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    slow = "(.*1.{1,150}0){3}x"  # RE2 takes a second for each part of this text
    text = ("".join(random.Random(1).choices("ab01", k=10_000)) + "\n") * 400
    files = {f"{number}.txt": text[:900_000] for number in range(10)}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    tree = bench.workspace.tree
    ended = threading.Event()

    def search() -> None:
        try:
            for buffer in tree.buffers:
                list(buffer.match_lines(line_pattern(slow), lambda _: True))
        finally:
            ended.set()

    with pytest.raises(TimeLimitExceededError):
        run_with_time_limit(search, 0.2, name="search")

    assert ended.wait(20)  # to its end it would take minutes
