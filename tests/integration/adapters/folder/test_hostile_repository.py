"""A folder whose git repository was made to run programs: nothing of it runs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.git import GitFolder, is_git_folder

TRAILER = "Exploration-Id: 019a8c3e-0000-7000-8000-000000000001"


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    """Where a program that was run leaves its trace."""
    return tmp_path / "was-run"


@pytest.fixture
def program(tmp_path: Path, proof: Path) -> Path:
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\necho run >> {proof}\ncat\n")
    script.chmod(0o755)
    return script


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.com")
    (folder / "README.md").write_text("Tea\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", f"First\n\n{TRAILER}")
    return folder


def add_hooks(root: Path, program: Path) -> None:
    for name in (
        "pre-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "post-index-change",
    ):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(program.read_text())
        hook.chmod(0o755)


def set_config(*names: str) -> Callable[[Path, Path], None]:
    def configure(root: Path, program: Path) -> None:
        for name in names:
            git(root, "config", name, str(program))

    return configure


def add_filter(root: Path, program: Path) -> None:
    git(root, "config", "filter.evil.clean", str(program))
    git(root, "config", "filter.evil.process", str(program))
    git(root, "config", "filter.evil.required", "true")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(root, "config", "diff.evil.textconv", str(program))
    git(root, "config", "diff.evil.command", str(program))


def sign_with(root: Path, program: Path) -> None:
    git(root, "config", "gpg.program", str(program))
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "log.showSignature", "true")


def include_config(root: Path, program: Path) -> None:
    included = root.parent / "included"
    included.write_text(f'[filter "evil"]\n\tclean = {program}\n')
    git(root, "config", "include.path", str(included))
    (root / ".gitattributes").write_text("* filter=evil\n")


TRAPS: dict[str, Callable[[Path, Path], None]] = {
    "hooks": add_hooks,
    "hooks elsewhere": lambda root, program: git(  # type: ignore[dict-item]
        root, "config", "core.hooksPath", str(program.parent)
    ),
    "monitor": set_config("core.fsmonitor"),
    "filter": add_filter,
    "included filter": include_config,
    "signature": sign_with,
    "pager and editor": set_config("core.pager", "core.editor", "sequence.editor"),
    "other programs": set_config("diff.external", "core.sshCommand", "core.askPass", "alias.log"),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_nothing_of_a_hostile_repository_is_run(
    root: Path, program: Path, proof: Path, trap: Callable[[Path, Path], None]
) -> None:
    trap(root, program)
    (root / "report.md").write_text("# Tea\n")
    folder = GitFolder(root)

    assert is_git_folder(root)
    assert folder.find(TRAILER) is not None
    assert folder.tree().read_text("README.md") == "Tea\n"
    assert folder.tree().names("ideas") == []
    sha = folder.commit("Add a report", ["report.md"])

    assert git(root, "show", "--no-ext-diff", "--no-textconv", f"{sha}:report.md") == "# Tea"
    assert not proof.exists()


def test_the_environment_of_a_hook_names_no_other_repository(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    (root / "report.md").write_text("# Tea\n")

    sha = GitFolder(root).commit("Add a report", ["report.md"])
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT"):
        monkeypatch.delenv(name)

    assert git(root, "rev-parse", "HEAD") == sha
    assert git(root, "log", "-1", "--format=%an") == "Ada"


@pytest.mark.parametrize("name", ["--all", "-p", ":(top)README.md", "*.md", "a b"])
def test_a_file_name_is_neither_an_option_nor_a_pattern(root: Path, name: str) -> None:
    (root / name).write_text("mine\n")
    (root / "README.md").write_text("changed\n")
    (root / "other.md").write_text("other\n")

    GitFolder(root).commit("Add one file", [name])

    assert git(root, "show", "--name-only", "--format=", "-z", "HEAD").strip("\0") == name


def test_a_folder_that_looks_like_a_repository_is_none(root: Path, program: Path) -> None:
    bare = root / "documents"
    git(root, "init", "--quiet", "--bare", str(bare))
    git(bare, "config", "core.fsmonitor", str(program))
    inner = bare / "objects"

    assert not is_git_folder(inner)
    assert os.path.lexists(bare / "HEAD")
