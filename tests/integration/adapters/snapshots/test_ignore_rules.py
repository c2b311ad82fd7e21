"""Outside git, `.gitignore` means what git takes it for, and folders of tools are skipped."""

import subprocess
from pathlib import Path

import pytest

from idea_explorer.adapters.snapshots.ignore_rules import MAX_RULES_BYTES, IgnoreRules
from idea_explorer.adapters.snapshots.worktrees import read_folder
from idea_explorer.domain.errors import RejectedError
from idea_explorer.domain.limits import CodeLimits
from tests.fakes.code_repository import Files, Link, fill

NAMES = (
    *("a.py", "a.pyc", "b.log", "keep.log", "sub/b.log", "sub/keep.log", "sub/deep/c.tmp"),
    *("out/x.js", "sub/out/y.js", "docs/out/z.md", "docs/a/b/c.md", "docs/a/c.md", "docs/c.md"),
    *("#odd", "!bang", "with space ", "x[1].txt", "x1.txt", "file.Txt", "foo/bar/baz", "bar/baz"),
    *("a/x/b", "a/x/y/b", "a/b", "logs/today", "sub/logs", "é.txt", "data0.csv", "dataZ.csv"),
)
TREE: Files = dict.fromkeys(NAMES, "x\n")
RULES = {
    "names": "*.pyc\n*.log\n!keep.log\n",
    "folders": "out/\nlogs/\n",
    "anchored": "/out\n/sub/deep\ndocs/*.md\n",
    "any depth": "**/c.md\ndocs/**\na/**/b\n**/baz\n",
    "inside": "foo/**\n!foo/bar\nabc/**/x\n",
    "escapes": "\\#odd\n\\!bang\nwith space\\ \n# comment\nx\\[1\\].txt\n\n   \n",
    "classes": "data[0-9].csv\nx[!a-z].txt\nfile.[Tt]xt\n[[:alpha:]].py\n",
    "questions": "?.py\n?1.txt\ndata?.csv\n",
    "included again": "*\n!*/\n!*.py\n!docs/**\n",
    "ends of lines": "*.pyc\r\nb.log   \r\n\ufeffa.py\r\n",
    "byte order mark": "\ufeff*.pyc\n",
    "bytes": "é.txt\n",
}


def names_by_git(root: Path) -> set[bytes]:
    subprocess.run(["git", "-C", str(root), "init", "--quiet"], check=True)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    )
    return set(listed.stdout.split(b"\0")) - {b""}


def names_read(root: Path) -> set[bytes]:
    return {item.name for item in read_folder(root, CodeLimits())}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_a_folder_is_read_as_git_would_read_it(rules: str, tmp_path: Path) -> None:
    root = fill(tmp_path / "r", {**TREE, ".gitignore": rules})
    ours = names_read(root)

    assert ours == names_by_git(root)
    assert b"sub/keep.log" in ours or rules == RULES["included again"]


def test_rules_of_inner_folders_win(tmp_path: Path) -> None:
    files: Files = {
        ".gitignore": "*.log\n/sub/gone/\n",
        "sub/.gitignore": "!keep.log\n/deep\n",
        "sub/gone/.gitignore": "!*\n",
        "sub/gone/x.log": "x",
        "sub/link": Link("deep"),
        "sub/logs.log": Link("../docs"),
    }
    root = fill(tmp_path / "r", {**TREE, **files})
    ours = names_read(root)

    assert ours == names_by_git(root)
    assert b"sub/keep.log" in ours
    assert b"keep.log" not in ours
    assert b"sub/gone/x.log" not in ours


def test_a_link_in_place_of_the_rules_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    root = fill(tmp_path / "r", {"a.py": "x", ".gitignore": Link("../rules")})

    assert names_read(root) == {b"a.py", b".gitignore"}


def test_rules_that_are_too_many_are_refused(tmp_path: Path) -> None:
    root = fill(tmp_path / "r", {".gitignore": "a\n" * MAX_RULES_BYTES})

    with pytest.raises(RejectedError, match="65,536 bytes"):
        names_read(root)


def test_a_rule_that_is_no_pattern_leaves_the_others_in_force(tmp_path: Path) -> None:
    rules = IgnoreRules(b"*.log\n[b-a].txt\n[\n*.pyc\n")

    assert rules.decide(b"x.log", is_folder=False)
    assert rules.decide(b"x.pyc", is_folder=False)
    assert rules.decide(b"c.txt", is_folder=False) is None


def test_hostile_rules_take_no_time(tmp_path: Path) -> None:
    rules = IgnoreRules(b"*a" * 500 + b"b\n" + b"**/" * 500 + b"x\n" + b"[" * 1_000 + b"\n")

    assert rules.decide(b"a" * 255, is_folder=False) is None


def test_folders_of_tools_are_skipped_outside_git(tmp_path: Path) -> None:
    files: Files = {
        "src/a.py": "x",
        "node_modules/left-pad/index.js": "x",
        "web/node_modules/left-pad/index.js": "x",
        ".venv/lib/a.py": "x",
        "my-env/pyvenv.cfg": "x",
        "my-env/lib/a.py": "x",
        "__pycache__/a.pyc": "x",
        ".mypy_cache/a.json": "x",
        "web/package.json": "{}",
        "web/dist/bundle.js": "x",
        "web/build/bundle.js": "x",
        "engine/Cargo.toml": "x",
        "engine/target/debug/x": "x",
        "tools/build/make.go": "a source",
        "pkg.egg-info/PKG-INFO": "x",
        ".git-rewrite/x": "x",
    }
    root = fill(tmp_path / "r", files)

    assert names_read(root) == {
        *(b"src/a.py", b"web/package.json", b"engine/Cargo.toml", b"tools/build/make.go"),
        b".git-rewrite/x",
    }
