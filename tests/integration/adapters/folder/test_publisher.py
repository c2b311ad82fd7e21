"""Publishing into a folder: plain files, and commits where its git is used."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.git import GitFolder, is_git_folder
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.exploration import Exploration
from tests.fakes.clock import ManualClock
from tests.fakes.desk import DOCUMENT, FOLDER, LOG, SLUG, Desk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "team"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(root: Path, tmp_path: Path) -> Desk:
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, FolderPublisher(root, tmp_path / "lock"), ManualClock())


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def git_desk(desk: Desk, root: Path, tmp_path: Path) -> Desk:
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Somebody")
    git(root, "config", "user.email", "somebody@example.com")
    (root / "README.md").write_text("hello\n")
    git(root, "add", "README.md")
    git(root, "commit", "--quiet", "--message", "First")
    desk.publisher = FolderPublisher(root, tmp_path / "lock", GitFolder(root))
    return desk


def test_a_folder_gets_both_files(desk: Desk, root: Path) -> None:
    final = desk.publish(desk.finished())

    assert (final.publication.path, final.publication.document) == (str(root / DOCUMENT), DOCUMENT)
    assert "They want them." in (root / DOCUMENT).read_text()
    assert len(json.loads((root / LOG).read_text())) == 1
    assert sorted(path.name for path in (root / FOLDER).iterdir()) == [
        "exploration-log.json",
        "research.md",
    ]


@pytest.mark.parametrize("left", ["log only", "both"])
def test_a_run_cut_off_while_writing_finds_its_own_again(desk: Desk, root: Path, left: str) -> None:
    exploration = desk.finished()
    desk.publish(exploration)
    if left == "log only":
        (root / DOCUMENT).unlink()
    desk.store.take_over(exploration.id, lambda e: e.replace(status="running"))
    final = desk.publish(exploration)

    assert final.publication.document == DOCUMENT
    assert len(json.loads((root / LOG).read_text())) == 1
    assert len(list((root / "ideas").iterdir())) == 1


def test_a_resumed_run_rewrites_its_own_and_steps_around_an_edited_one(
    desk: Desk, root: Path
) -> None:
    exploration = desk.finished(outcome="partial")
    desk.publish(exploration)
    rewritten = desk.publish(desk.again(exploration.id, "# Whole"))
    (root / DOCUMENT).write_text("Mine now.\n")
    beside = desk.publish(desk.again(exploration.id, "# Third"))

    assert rewritten.publication.document == DOCUMENT
    assert (root / DOCUMENT).read_text() == "Mine now.\n"
    assert beside.publication.document == f"{FOLDER}-2/research.md"
    assert beside.publication.notice is not None


def test_nothing_is_written_through_a_link(desk: Desk, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "ideas").symlink_to(outside)
    final = desk.publish(desk.finished())

    assert final.status == "failed"
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_clear_failure(desk: Desk, root: Path) -> None:
    root.chmod(0o500)
    final = desk.publish(desk.finished())
    root.chmod(0o700)

    assert final.run.receipt is not None
    assert "permissions" in final.run.receipt.message


def test_many_at_once_into_one_folder_stand_side_by_side(desk: Desk, root: Path) -> None:
    explorations = [desk.finished() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        finals = list(pool.map(desk.publish, explorations))

    assert len({final.publication.document for final in finals}) == 8
    for final in finals:
        assert final.id in (root / str(final.publication.document)).read_text()


def test_a_commit_holds_the_two_files_and_nothing_else(git_desk: Desk, root: Path) -> None:
    (root / "README.md").write_text("changed, not committed\n")
    (root / "staged.md").write_text("staged\n")
    git(root, "add", "staged.md")
    exploration = git_desk.finished()
    final = git_desk.publish(exploration)

    assert final.publication.commit == git(root, "rev-parse", "HEAD")
    assert git(root, "show", "--name-only", "--format=", "HEAD").splitlines() == [LOG, DOCUMENT]
    assert git(root, "log", "-1", "--format=%s") == f"idea: {SLUG} - research complete"
    trailers = git(root, "log", "-1", "--format=%(trailers:only)").splitlines()
    assert trailers[:2] == [f"Exploration-Id: {exploration.id}", "Exploration-Run: 1"]
    status = git(root, "status", "--short").splitlines()
    assert [line.split()[-1] for line in status] == ["README.md", "staged.md"]


def committed(root: Path, exploration: Exploration) -> int:
    return len(git(root, "log", "--format=%H", f"--grep={exploration.id}").splitlines())


def test_a_run_is_committed_once_and_what_people_did_to_it_stays(
    git_desk: Desk, root: Path
) -> None:
    exploration = git_desk.finished()
    git_desk.publish(exploration)
    (root / DOCUMENT).write_text("Mine now.\n")
    git_desk.store.take_over(exploration.id, lambda e: e.replace(status="running"))
    final = git_desk.publish(exploration)

    assert committed(root, exploration) == 1
    assert final.publication.document == DOCUMENT
    assert (root / DOCUMENT).read_text() == "Mine now.\n"


def test_files_without_their_commit_are_committed_by_the_next_try(
    git_desk: Desk, root: Path
) -> None:
    lock = root / ".git" / "index.lock"
    lock.touch()
    exploration = git_desk.finished()
    refused = git_desk.publish(exploration)
    lock.unlink()
    git_desk.store.take_over(exploration.id, lambda e: e.replace(status="running"))
    final = git_desk.publish(exploration)

    assert refused.run.receipt is not None
    assert "index.lock" in refused.run.receipt.message
    assert final.status == "completed"
    assert committed(root, exploration) == 1


def test_what_git_ignores_is_a_clear_failure_without_the_hints_of_git(
    git_desk: Desk, root: Path
) -> None:
    (root / ".gitignore").write_text("ideas/\n")

    final = git_desk.publish(git_desk.finished())

    assert final.run.receipt is not None
    assert "ignored by one of your .gitignore files: ideas" in final.run.receipt.message
    assert "hint" not in final.run.receipt.message
    assert (root / DOCUMENT).is_file()


def test_a_repository_without_a_commit_gets_its_first(
    desk: Desk, root: Path, tmp_path: Path
) -> None:
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "Somebody")
    git(root, "config", "user.email", "somebody@example.com")
    desk.publisher = FolderPublisher(root, tmp_path / "lock", GitFolder(root))
    final = desk.publish(desk.finished())

    assert final.publication.commit == git(root, "rev-parse", "HEAD")


def test_a_folder_within_a_repository_is_one_too(
    git_desk: Desk, root: Path, tmp_path: Path
) -> None:
    inner = root / "docs"
    inner.mkdir()
    git_desk.publisher = FolderPublisher(inner, tmp_path / "lock", GitFolder(inner))
    exploration = git_desk.finished()
    git_desk.publish(exploration)
    git_desk.store.take_over(exploration.id, lambda e: e.replace(status="running"))
    again = git_desk.publish(exploration)

    assert is_git_folder(inner)
    assert not is_git_folder(tmp_path)
    assert again.publication.document == DOCUMENT
    assert (
        git(root, "show", "--name-only", "--format=", "HEAD").splitlines()[1] == f"docs/{DOCUMENT}"
    )
