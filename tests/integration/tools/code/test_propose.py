"""Changes to a repository, proposed, and what the tools see of them once approved."""

import os
from pathlib import Path

import pytest

from idea_explorer.domain.approvals import content_hash
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.paths import RepositoryPath
from tests.fakes.code_repository import PROJECT, CodeBench, fill, garden_kit


@pytest.fixture
def bench(tmp_path: Path) -> CodeBench:
    return garden_kit(tmp_path)


# edit_file and create_file with whole contents


def test_an_edit_becomes_a_proposal(bench: CodeBench) -> None:
    before = PROJECT["src/plots.py"]
    assert isinstance(before, str)
    new = before.replace("3", "4")
    given = {"path": "docs/code/plots.py", "content": new, "description": "One more row"}
    answer = bench.call("edit_file", **given)
    (proposal,) = bench.proposals
    assert answer == {
        "ok": True,
        "path": "src/plots.py",
        "decision": "pending",
        "diff": proposal.diff,
    }
    assert (proposal.kind, proposal.path, proposal.content) == ("edit", "src/plots.py", new)
    assert proposal.base_sha == blob_sha(before.encode())
    assert "-    rows = 3\n+    rows = 4\n" in proposal.diff


def test_line_ends_of_an_edited_file_are_kept(bench: CodeBench) -> None:
    bench.call("edit_file", path="src/windows.txt", content="first\nlast\n", description="Rename")
    assert bench.proposals[0].content == "first\r\nlast\r\n"
    assert bench.proposals[0].diff.count("\n-") == 1


def test_a_new_file_becomes_a_proposal(bench: CodeBench) -> None:
    bench.call("create_file", path="src/new/deep.py", content="x = 1\n", description="Start it")
    (proposal,) = bench.proposals
    assert (proposal.kind, proposal.path, proposal.base_sha) == ("create", "src/new/deep.py", None)


def test_a_new_file_in_a_linked_folder_lands_where_the_link_leads(bench: CodeBench) -> None:
    bench.call("create_file", path="docs/code/new.py", content="x = 1\n", description="Start it")
    assert bench.proposals[0].path == "src/new.py"


@pytest.mark.parametrize(
    ("tool", "given", "error_type"),
    [
        ("edit_file", {"path": "missing.py"}, "file_not_found"),
        ("edit_file", {"path": "src"}, "not_a_file"),
        ("edit_file", {"path": "src/logo.png"}, "binary_file"),
        ("edit_file", {"path": "src/latin.txt"}, "binary_file"),
        ("edit_file", {"path": "src/large.csv"}, "file_too_large"),
        ("edit_file", {"path": "../x"}, "path_validation"),
        ("edit_file", {"path": "README.md", "content": "x" * 1_048_577}, "file_too_large"),
        ("edit_file", {"path": "README.md", "content": "é" * 524_289}, "file_too_large"),
        ("edit_file", {"path": "README.md", "content": "a\x00b"}, "invalid_arguments"),
        ("edit_file", {"path": "README.md", "content": "a\ud800"}, "invalid_arguments"),
        ("edit_file", {"path": "package.json", "content": '{"name": "garden-kit"}\n'}, "invalid_arguments"),
        ("create_file", {"path": "README.md"}, "file_exists"),
        ("create_file", {"path": "docs/latest"}, "file_exists"),
        ("create_file", {"path": "src/logo.png"}, "file_exists"),
        ("create_file", {"path": "src"}, "path_validation"),
        ("create_file", {"path": "README.md/x"}, "path_validation"),
        ("create_file", {"path": ".git/hooks/pre-commit"}, "path_validation"),
        ("create_file", {"path": "/etc/cron.d/x"}, "path_validation"),
        ("create_file", {"path": "x.txt", "content": "x" * 1_048_577}, "file_too_large"),
    ],
)  # fmt: skip
def test_what_cannot_be_proposed_says_why(
    bench: CodeBench, tool: str, given: dict[str, str], error_type: str
) -> None:
    answer = bench.call(tool, **{"content": "new\n", "description": "Change it", **given})
    assert answer["error_type"] == error_type
    assert bench.proposals == []


def test_the_other_tool_is_named_where_it_fits(bench: CodeBench) -> None:
    given = {"content": "x", "description": "Change it"}
    assert "create_file" in bench.call("edit_file", path="missing.py", **given)["message"]
    assert "edit_file" in bench.call("create_file", path="README.md", **given)["message"]


def test_a_file_whose_name_cannot_be_written_is_not_edited(tmp_path: Path) -> None:
    files = {os.fsdecode(b"caf\xe9.txt"): "x\n"}
    bench = CodeBench(tmp_path / "c").over_folder(fill(tmp_path / "p", files))
    assert bench.call("read_file", path="caf%E9.txt")["ok"]
    answer = bench.call("edit_file", path="caf%E9.txt", content="y\n", description="Change it")
    assert answer["error_type"] == "path_validation"


# replacements, deleting and moving


def test_replacements_become_a_proposal_of_the_result(bench: CodeBench) -> None:
    change = [{"old": "rows = 3", "new": "rows = 4"}]
    answer = bench.call("edit_file", path="src/plots.py", replacements=change, description="More")
    assert answer["ok"]
    before = PROJECT["src/plots.py"]
    assert isinstance(before, str)
    (proposal,) = bench.proposals
    assert proposal.content == before.replace("3", "4")
    assert proposal.content_hash == content_hash(proposal.content)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either 'replacements'"),
        ({"content": "x\n", "replacements": [{"old": "a", "new": "b"}]}, "and not both"),
        ({"replacements": []}, "requires 'replacements' parameter (a list of {old, new}"),
        ({"replacements": [{"old": "", "new": "b"}]}, "requires 'replacements' parameter"),
        ({"replacements": [{"old": "rows = 5", "new": ""}]}, "The nearest lines are:\n1\tclass Plot"),
        ({"replacements": [{"old": "litres", "new": ""}]}, "more than once, at lines 4, 5"),
        ({"replacements": [{"old": "rows", "new": "rows"}]}, "there is nothing to change"),
    ],
)  # fmt: skip
def test_replacements_that_do_not_fit_say_why(
    bench: CodeBench, given: dict[str, object], said: str
) -> None:
    answer = bench.call("edit_file", path="src/plots.py", description="Change it", **given)
    assert answer["error_type"] == "invalid_arguments"
    assert said in answer["message"]
    assert bench.proposals == []


def test_a_file_is_proposed_to_be_deleted_or_moved(bench: CodeBench) -> None:
    bench.call("delete_file", path="docs/code/plots.py", description="Not used")
    bench.call("move_file", path="README.md", new_path="docs/start.md", description="Tidy up")
    deleted, moved = bench.proposals
    assert (deleted.kind, deleted.path) == ("delete", "src/plots.py")
    assert (moved.kind, moved.path, moved.new_path) == ("move", "README.md", "docs/start.md")
    assert moved.content == PROJECT["README.md"]


@pytest.mark.parametrize(
    ("tool", "given", "error_type"),
    [
        ("delete_file", {"path": "missing.py"}, "file_not_found"),
        ("delete_file", {"path": "src"}, "not_a_file"),
        ("delete_file", {"path": "src/logo.png"}, "binary_file"),
        ("delete_file", {"path": "docs/latest"}, "path_validation"),
        ("move_file", {"path": "docs/latest", "new_path": "x.md"}, "path_validation"),
        ("move_file", {"path": "README.md", "new_path": "package.json"}, "file_exists"),
        ("move_file", {"path": "README.md", "new_path": "README.md"}, "file_exists"),
        ("move_file", {"path": "README.md", "new_path": ".git/hooks/x"}, "path_validation"),
        ("move_file", {"path": "README.md", "new_path": "../x.md"}, "path_validation"),
        ("move_file", {"path": "README.md"}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_deleted_or_moved_says_why(
    bench: CodeBench, tool: str, given: dict[str, str], error_type: str
) -> None:
    answer = bench.call(tool, description="Change it", **given)
    assert answer["error_type"] == error_type
    assert bench.proposals == []


# after an approval


def test_no_tool_sees_a_file_that_is_gone(bench: CodeBench) -> None:
    bench.workspace.approve(RepositoryPath("src/plots.py"), None)
    assert bench.call("read_file", path="src/plots.py")["error_type"] == "file_not_found"
    assert bench.call("find_definition", symbol="Plot", type="class")["total"] == 0
    assert bench.call("find_files", pattern="src/plots.py")["total"] == 0


def test_every_tool_sees_what_was_approved(bench: CodeBench) -> None:
    bench.call("find_definition", symbol="Plot")
    bench.workspace.approve(RepositoryPath("src/plots.py"), "class Bed:\n    pass  # TODO: water")
    bench.workspace.approve(RepositoryPath("src/beds.py"), "import plots\n")
    assert "class Bed" in bench.call("read_file", path="src/plots.py")["content"]
    listed = bench.call("list_files", path="src")["entries"]
    assert {"src/beds.py", "src/plots.py"} <= {entry["path"] for entry in listed}
    assert {entry["modified"] for entry in listed} == {"2023-11-14T22:13:20Z"}
    todos = bench.call("search_files", pattern="TODO")["matches"]
    assert ("src/plots.py", 2) in [(match["file"], match["line"]) for match in todos]
    assert bench.call("search_files", pattern="rows")["totalMatches"] == 0
    assert bench.call("find_files", pattern="src/beds.py")["total"] == 1
    assert bench.call("find_definition", symbol="Plot", type="class")["total"] == 0
    assert bench.call("find_definition", symbol="Bed")["total"] == 1
    importers = bench.call("find_importers", modulePath="plots")["importers"]
    assert [importer["file"] for importer in importers] == ["src/app.py", "src/beds.py"]
    given = {"content": "x = 1\n", "description": "Change it"}
    assert bench.call("create_file", path="src/beds.py", **given)["error_type"] == "file_exists"
    bench.call("edit_file", path="src/beds.py", **given)
    assert bench.proposals[0].base_sha == blob_sha(b"import plots\n")
