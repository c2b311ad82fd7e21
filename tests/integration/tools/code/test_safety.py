"""Nothing outside of the repository is ever read or written, whatever a path, a link or an archive says."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.paths import check_repository_path
from tests.fakes.code_repository import CodeBench, Files, Link, fill, tarball
from tests.fakes.hostile_paths import hostile_paths
from tests.fakes.link_layouts import ARCHIVE_LAYOUTS, LAYOUTS, Layout, placed

SECRET = "correct-horse-battery-staple"
OWN = {"src/app.py": "import os\n\n\ndef main(): pass\n", "src/data.txt": "data\n"}


def outside(tmp_path: Path) -> Path:
    return fill(
        tmp_path / "outside",
        {
            "secret.txt": f"def {SECRET.replace('-', '_')}(): pass\n# {SECRET}\n",
            "more/a.py": SECRET,
        },
    )


def calls(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool, at one path."""
    yield "read_file", {"path": path}
    yield "list_files", {"path": path, "recursive": True}
    yield "search_files", {"pattern": ".", "path": path, "filePattern": "**"}
    yield "find_files", {"pattern": "**", "path": path}
    yield "find_definition", {"symbol": path}
    yield "find_importers", {"modulePath": path}
    yield "edit_file", {"path": path, "content": "changed\n", "description": "Change it"}
    yield "create_file", {"path": path, "content": "created\n", "description": "Create it"}


def leaked(answer: Any) -> bool:
    text = json.dumps(answer)
    return any(sign in text for sign in ("battery", "root:x:", "PATH=", "correct_horse"))


def asked_paths(layout: Layout, *, few: bool) -> list[str]:
    """The links (of a long chain its ends) by every spelling of their names, and ways on through them."""
    raw = [os.fsencode(name) for name in [*layout][:3] + [*layout][3:][-1:]]
    names = {name.decode("utf-8", "replace") for name in raw} | {quote(name) for name in raw}
    further = ["", "/secret.txt", "/more/a.py", "/../outside/secret.txt", "/l/secret.txt"]
    further += ["/etc/passwd", "/outside/secret.txt", "/new.txt", "/out/secret.txt"]
    return [name + more for name in sorted(names) for more in (further[:4] if few else further)]


def state(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def assert_safe(bench: CodeBench, layout: Layout, out: Path, *, few: bool = False) -> None:
    before = state(out)
    for path in asked_paths(layout, few=few):
        for tool, given_arguments in calls(path):
            answer = bench.call(tool, **given_arguments)
            assert isinstance(answer["ok"], bool)
            assert not leaked(answer), (tool, path)
    assert not leaked(bench.call("search_files", pattern="."))
    for proposal in bench.proposals:
        # a proposal's path is the file's own: no part of it is a link
        assert check_repository_path(proposal.path) == proposal.path
        parts = proposal.path.split("/")
        opened = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        kinds = {entry.path: entry.kind for entry in bench.workspace.tree.entries_below("")}
        assert all(kinds.get(part) != "symlink" for part in opened), proposal.path
    assert not [line for line in bench.log.lines if "unexpected" in line[1]]
    assert state(out) == before


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_link_in_a_folder_leads_out(tmp_path: Path, name: str) -> None:
    out = outside(tmp_path)
    layout = placed(LAYOUTS[name], str(out))
    root = fill(tmp_path / "project", {**OWN, **layout})
    bench = CodeBench(tmp_path / "cache").over_folder(root)
    assert bench.call("read_file", path="src/data.txt")["content"] == "1\tdata"
    assert_safe(bench, layout, out)


@pytest.mark.parametrize("name", [*LAYOUTS, *ARCHIVE_LAYOUTS])
def test_no_link_in_an_archive_leads_out(tmp_path: Path, name: str) -> None:
    out = outside(tmp_path)
    layout = placed({**LAYOUTS, **ARCHIVE_LAYOUTS}[name], str(out))
    bench = CodeBench(tmp_path / "cache").over_tarball(tarball({**OWN, **layout}))
    assert_safe(bench, layout, out, few=True)  # once packed, all is read as from a folder
    kept = {file.suffix for file in (tmp_path / "cache").rglob("*") if file.is_file()}
    assert kept <= {".pack", ".db", ".db-wal", ".db-shm"}


def test_links_that_git_tracks_lead_nowhere_else(tmp_path: Path) -> None:
    out = outside(tmp_path)
    layout: Layout = {"l": Link(str(out)), "d/l": Link("../../outside/secret.txt")}
    root = fill(tmp_path / "project", {**OWN, **layout})
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=root, check=True)
    assert_safe(CodeBench(tmp_path / "cache").over_folder(root), layout, out)


def test_a_folder_that_becomes_a_link_after_it_was_listed_is_not_entered(tmp_path: Path) -> None:
    out = outside(tmp_path)
    root = fill(tmp_path / "project", {**OWN, "sub/secret.txt": "own\n", "more/a.py": "own\n"})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    # git still lists sub/secret.txt and more/a.py from its index
    for name, target in (("sub", out), ("more", out / "more")):
        for file in (root / name).iterdir():
            file.unlink()
        (root / name).rmdir()
        (root / name).symlink_to(target)
    bench = CodeBench(tmp_path / "cache").over_folder(root)
    assert_safe(bench, {"sub": Link(""), "more": Link("")}, out)
    assert bench.call("read_file", path="sub/secret.txt")["error_type"] == "path_validation"


@pytest.mark.parametrize(
    ("name", "error_type"),
    [
        ("a file, absolute", "path_validation"),
        ("a file, relative", "path_validation"),
        ("the root through /proc", "path_validation"),
        ("a chain of three", "path_validation"),
        ("itself", "path_validation"),
        ("a circle of three", "path_validation"),
        ("nothing", "file_not_found"),
        ("its own folder", "not_a_file"),
    ],
)
def test_a_link_that_cannot_be_read_says_why(tmp_path: Path, name: str, error_type: str) -> None:
    layout = placed(LAYOUTS[name], str(outside(tmp_path)))
    bench = CodeBench(tmp_path / "cache").over_folder(fill(tmp_path / "project", layout))
    assert bench.call("read_file", path="l")["error_type"] == error_type


HOSTILE: Files = {
    **OWN,
    "link": Link("../outside"),
    "loop": Link("loop"),
    "README.md": Link("../outside/secret.txt"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[CodeBench, Path]:
    folder = tmp_path_factory.mktemp("hostile")
    out = outside(folder)
    return CodeBench(folder / "cache").over_folder(fill(folder / "project", HOSTILE)), out


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(path=hostile_paths())
def test_no_path_leads_out_by_any_tool(hostile: tuple[CodeBench, Path], path: str) -> None:
    bench, _ = hostile
    bench.proposals.clear()
    try:
        expected = check_repository_path(path)
    except ToolError:
        expected = None
    by_pattern = [
        ("find_files", {"pattern": path}),
        ("search_files", {"pattern": ".", "filePattern": path}),
    ]
    for tool, given_arguments in [*calls(path), *by_pattern]:
        answer = bench.call(tool, **given_arguments)
        assert not leaked(answer), tool
        if expected is None and tool in {"read_file", "list_files", "edit_file", "create_file"}:
            assert answer["error_type"] in {"path_validation", "invalid_arguments"}
    for proposal in bench.proposals:
        assert proposal.path == expected
        assert ".." not in proposal.path.split("/")
    assert not [line for line in bench.log.lines if "unexpected" in line[1]]
