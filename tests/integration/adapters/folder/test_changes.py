"""Approved changes in a folder that is a git work tree: one commit for each, and nothing of anybody else."""

import os
import subprocess
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.domain.approvals import Approval, propose, propose_delete, propose_move
from idea_explorer.domain.errors import BaseMovedError
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.ports import WrittenAt
from tests.fakes.explorations import an_approval, an_exploration

EXPLORATION = an_exploration()


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "code"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Somebody")
    git(root, "config", "user.email", "somebody@example.com")
    (root / "a.py").write_text("a\n")
    (root / "b.py").write_text("b\n")
    (root / ".gitignore").write_text("build/\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "First")
    return root


def write(folder: Path, approval: Approval) -> WrittenAt:
    writer = FolderWriter(folder, folder.parent / "lock", GitFolder(folder))
    return writer.write_change(EXPLORATION, approval)


def edit(path: str = "a.py", content: str = "new\n", base: bytes | None = b"a\n") -> Approval:
    return an_approval(EXPLORATION, path, content, base)


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def test_each_change_is_a_commit_with_the_trailers_of_its_exploration(folder: Path) -> None:
    (folder / "b.py").write_text("somebody's own work\n")
    git(folder, "add", "b.py")
    approval = edit()

    at = write(folder, approval)
    write(folder, edit("new.py", "x\n", None))

    assert at.commit
    body = git(folder, "log", "-1", "--format=%B", at.commit).strip()
    assert body == (f"Change a.py\n\nExploration-Id: {EXPLORATION.id}\nApproval-Id: {approval.id}")
    assert git(folder, "show", "--name-only", "--format=", at.commit).split() == ["a.py"]
    assert subjects(folder) == ["Change new.py", "Change a.py", "First"]
    assert git(folder, "status", "--porcelain") == "M  b.py\n"


def test_the_subject_says_where_not_all_of_the_proposal_was_approved(folder: Path) -> None:
    in_part = edit().model_copy(update={"content": "half\n", "hunks": (1,)})
    edited = edit("b.py", base=b"b\n").model_copy(update={"content": "other\n"})
    long = edited.proposal.model_copy(update={"description": "Many words " * 20})

    write(folder, in_part)
    write(folder, edited.model_copy(update={"proposal": long}))

    last, before, _ = subjects(folder)
    assert before == "Change a.py (in part)"
    assert (len(last) <= 72, last.endswith("… (edited)")) == (True, True)


def test_a_change_that_is_tried_again_is_committed_once(folder: Path) -> None:
    assert write(folder, edit()).commit == write(folder, edit()).commit
    assert subjects(folder) == ["Change a.py", "First"]


def test_a_change_that_was_written_and_not_committed_is_committed_later(folder: Path) -> None:
    FolderWriter(folder, folder.parent / "lock").write_change(EXPLORATION, edit())

    assert write(folder, edit()).commit
    assert git(folder, "status", "--porcelain") == ""


def test_a_file_with_work_that_is_not_committed_is_written_and_left_to_its_owner(
    folder: Path,
) -> None:
    (folder / "a.py").write_text("work\n")

    at = write(folder, edit(base=b"work\n"))

    assert (at.commit, (folder / "a.py").read_text()) == (None, "new\n")
    assert at.notice == "Not committed: a.py has other changes that are not committed."
    assert subjects(folder) == ["First"]


def test_a_file_that_git_ignores_is_written_alone(folder: Path) -> None:
    at = write(folder, edit("build/x.py", "x\n", None))

    assert (at.commit, at.notice) == (None, "Not committed: git ignores build/x.py.")
    assert (folder / "build/x.py").read_text() == "x\n"


def test_a_git_that_does_not_commit_keeps_the_change_and_says_why(folder: Path) -> None:
    (folder / ".git/refs/heads/main.lock").write_text("")

    at = write(folder, edit())

    assert (at.commit, (folder / "a.py").read_text()) == (None, "new\n")
    assert "git did not commit" in at.notice


def test_deleting_and_moving_are_commits_too(folder: Path) -> None:
    (folder / "b.py").chmod(0o755)
    git(folder, "commit", "--quiet", "--all", "--message", "Second")
    deleted = propose_delete(RepositoryPath("a.py"), "Delete it", b"a\n")
    moved = propose_move(RepositoryPath("b.py"), RepositoryPath("lib/b.py"), "Move it", b"b\n")
    for call, proposal in enumerate((deleted, moved)):
        approval = edit().model_copy(update={"id": f"approval-{call}", "proposal": proposal})
        assert write(folder, approval).commit
        assert write(folder, approval).commit == git(folder, "rev-parse", "HEAD").strip()

    assert subjects(folder) == ["Move it", "Delete it", "Second", "First"]
    assert git(folder, "ls-tree", "-r", "HEAD").split("\n")[1].startswith("100755")
    assert git(folder, "ls-files").split() == [".gitignore", "lib/b.py"]
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("new", ["A.py", "Lib/c.py"])
def test_a_name_that_differs_only_in_case_loses_no_file_where_case_is_ignored(
    folder: Path, monkeypatch: pytest.MonkeyPatch, new: str
) -> None:
    (folder / "lib").mkdir()
    (folder / "Lib").mkdir()
    (folder / "lib/c.py").write_text("a\n")
    # the same file by a second name, which no listing has
    (folder / new).hardlink_to(folder / new.lower())
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda at: [n for n in listed(at) if n == n.lower()])
    path, target = RepositoryPath(new.lower()), RepositoryPath(new)
    for proposal in (propose_move(path, target, "Move", b"a\n"), propose(target, "a\n", "", None)):
        with pytest.raises(BaseMovedError, match=f"{new} is another name of a file that exists"):
            write(folder, edit().model_copy(update={"proposal": proposal}))

    assert (folder / path).read_text() == "a\n"
    assert subjects(folder) == ["First"]


def test_a_move_that_was_killed_before_the_removal_is_committed_later(folder: Path) -> None:
    proposal = propose_move(RepositoryPath("a.py"), RepositoryPath("lib/a.py"), "Move", b"a\n")
    (folder / "lib").mkdir()
    (folder / "lib/a.py").write_text("a\n")

    assert write(folder, edit().model_copy(update={"proposal": proposal})).commit

    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "ls-files").split() == [".gitignore", "b.py", "lib/a.py"]


def test_a_new_file_in_the_place_of_one_that_git_ignores_is_refused_with_the_reason(
    folder: Path,
) -> None:
    (folder / "build").mkdir()
    (folder / "build/x.py").write_text("mine\n")

    with pytest.raises(BaseMovedError, match=r"build/x\.py exists already, and git ignores it"):
        write(folder, edit("build/x.py", "x\n", None))

    assert (folder / "build/x.py").read_text() == "mine\n"
