"""Trees that the test GitHub writes by itself are those that git writes."""

import random
from pathlib import Path

import pytest

from tests.fakes.github_git import GitError, GitStore
from tests.fakes.github_trees import Change, change_tree

NAMES = ["a", "b", "a.b", "a-b", "a b", "B", "notes"]
MODES = ["100644", "100755", "120000"]
MISSING = "1" * 40


@pytest.fixture
def store(tmp_path: Path) -> GitStore:
    return GitStore.create(tmp_path / "repo.git", "main")


def test_a_new_repository_is_what_git_makes(store: GitStore, tmp_path: Path) -> None:
    made = GitStore(tmp_path / "made.git")
    made.run("init", "--bare", "--quiet", "--template=", "--initial-branch=main")

    def content(folder: Path) -> dict[str, str]:
        paths = {path.relative_to(folder): path for path in folder.rglob("*")}
        return {
            str(name): path.read_text() if path.is_file() else "" for name, path in paths.items()
        }

    assert content(store.folder) == content(made.folder)


def test_any_changes_lead_to_the_same_tree(store: GitStore) -> None:
    chance = random.Random(7)
    blobs = store.write_blobs([bytes([number]) for number in range(5)])

    def change() -> Change:
        path = "/".join(chance.choices(NAMES, k=chance.randint(1, 3)))
        is_kept = chance.random() < 0.7
        return Change(path, chance.choice(MODES), chance.choice(blobs) if is_kept else None)

    base, written = None, 0
    for _ in range(25):
        changes = [change() for _ in range(chance.randint(1, 4))]
        tree = change_tree(store, base, changes)
        written += tree is not None
        expected = store.write_tree_by_git(base, changes)
        assert tree in (None, expected), changes
        base = expected
    assert written > 12


@pytest.mark.parametrize(
    "path", [".git/config", "a/../b", "a//b", "/a", "a/", "git~1", "a\\b", ".GIT/x", "é"]
)
def test_names_that_git_may_refuse_are_left_to_git(path: str, store: GitStore) -> None:
    (blob,) = store.write_blobs([b"x"])
    assert change_tree(store, None, [Change(path, "100644", blob)]) is None


def test_a_blob_that_is_missing_is_refused(store: GitStore) -> None:
    with pytest.raises(GitError, match="invalid object"):
        store.write_tree(None, [Change("a", "100644", MISSING)])


def test_a_folder_is_gone_with_its_last_file(store: GitStore) -> None:
    (blob,) = store.write_blobs([b"x"])
    full = store.write_tree(None, [Change("a/b/c", "100644", blob), Change("d", "100644", blob)])
    less = store.write_tree(full, [Change("a/b/c", "0", None)])
    assert [*store.rows_of(less)] == ["d"]
    nothing = store.write_tree(less, [Change("d", "0", None)])
    assert nothing == store.run("mktree").decode().strip()
