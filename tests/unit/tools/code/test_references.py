"""Uses of a name, and what the index does not know."""

from pathlib import Path

import pytest

from tests.fakes.code_repository import CodeBench, fill

PROJECT = {
    "src/dates.py": (
        'def format(x):\n    """format is here"""\n    return x  # format\n\nformat(1); format(2)\n'
    ),
    "src/use.py": "from src.dates import format\nother = 'format'\nformat_all = 1\n",
    "web/a.ts": "const format = 1;\n// format\nconst s = { format };\nx.format();\n",
    "web/B.vue": "<template>format</template>\n<script>\nformat();\n</script>\n",
    "notes.md": "Call format often.\n",
    "app/Main.swift": "func format() {}\nclass View {}\n",
    "tests/test_dates.py": "format()\n",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> CodeBench:
    root = tmp_path_factory.mktemp("code")
    return CodeBench(root / "cache").over_folder(fill(root / "project", PROJECT))


def test_uses_are_found_by_the_parser_and_otherwise_by_the_word(bench: CodeBench) -> None:
    answer = bench.call("find_references", symbol="format")
    found = [(r["file"], r["line"], r["kind"], r["by"]) for r in answer["references"]]
    assert found == [
        ("app/Main.swift", 1, "use", "word"),
        ("src/dates.py", 1, "definition", "parser"),
        ("src/dates.py", 5, "use", "parser"),
        ("src/use.py", 1, "import", "parser"),
        ("web/B.vue", 1, "use", "word"),
        ("web/B.vue", 3, "use", "parser"),
        ("web/a.ts", 1, "definition", "parser"),
        ("web/a.ts", 3, "use", "parser"),
        ("web/a.ts", 4, "use", "parser"),
        ("tests/test_dates.py", 1, "use", "parser"),
        ("notes.md", 1, "use", "word"),
    ]
    assert (answer["total"], answer["byParser"], answer["byWord"], answer["files"]) == (11, 8, 3, 7)
    assert answer["references"][2]["text"] == "format(1); format(2)"


def test_uses_are_found_within_a_folder(bench: CodeBench) -> None:
    answer = bench.call("find_references", symbol="format", path="web")
    assert {r["file"] for r in answer["references"]} == {"web/a.ts", "web/B.vue"}
    assert bench.call("find_references", symbol="no_such_name")["total"] == 0
    refused = bench.call("find_references", symbol="x", path="nowhere")
    assert refused["error_type"] == "path_validation"


def test_what_has_no_index_is_said_and_never_counted_as_nothing(bench: CodeBench) -> None:
    answer = bench.call("find_definition", symbol="View")
    assert (answer["definitions"], answer["total"]) == ([], None)
    assert answer["note"] == "1 file without an index contains the name: use search_files."
    assert answer["notIndexed"] == ["no index for .swift files (1)"]
    assert bench.call("find_definition", symbol="no_such_name")["total"] == 0
    assert bench.call("find_importers", modulePath="app/Main.swift")["total"] is None
    assert bench.call("find_importers", modulePath="src/dates.py")["total"] == 1


def test_a_repository_with_an_index_for_everything_says_nothing_of_it(tmp_path: Path) -> None:
    files = {"a.kt": "class A\n", "b.md": "A\n"}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    answer = bench.call("find_definition", symbol="A")
    assert answer["total"] == 1
    assert "notIndexed" not in answer


def test_a_class_comes_before_the_variable_that_holds_it(tmp_path: Path) -> None:
    files = {
        "a.ts": "export const Shop = create();\n",
        "b.ts": "const made = (() => { class Shop {} return Shop; })();\n",
        "tests/c.ts": "function Shop() {}\n",
    }
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    answer = bench.call("find_definition", symbol="Shop")
    assert [d["kind"] for d in answer["definitions"]] == ["class", "function", "variable"]


def test_the_import_of_a_package_is_an_import(tmp_path: Path) -> None:
    files = {"a.js": "const fs = require('fs');\n"}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    (found,) = bench.call("find_definition", symbol="fs")["definitions"]
    assert (found["kind"], found["line"]) == ("import", 1)
    assert bench.call("find_definition", symbol="fs", type="variable")["total"] == 0


def test_uses_in_templates_macros_and_keys_are_found(tmp_path: Path) -> None:
    files = {
        "a.vue": "<template><p @click='brew'/></template>\n<script>\n// brew\nbrew()\n</script>\n",
        "b.c": "#define TWICE(x) brew(x); \\\n  brew(x)\n/* brew */\nint brew(int x);\n",
        "c.rb": "cup(brew: 1)\n# brew\n",
    }
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    answer = bench.call("find_references", symbol="brew")
    assert [(r["file"], r["line"], r["by"]) for r in answer["references"]] == [
        ("a.vue", 1, "word"),
        ("a.vue", 4, "parser"),
        ("b.c", 1, "word"),
        ("b.c", 2, "word"),
        ("b.c", 4, "parser"),
        ("c.rb", 1, "parser"),
    ]
