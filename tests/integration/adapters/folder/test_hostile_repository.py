"""A folder whose git repository was made to run programs: nothing of it runs."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.git import GitFolder, is_git_folder
from idea_explorer.adapters.snapshots.worktrees import read_folder
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.limits import CodeLimits

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


def filter_in_work_tree(root: Path, program: Path) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "filter.evil.clean", str(program))
    (root / ".gitattributes").write_text("* filter=evil\n")


def sign_in_work_tree(root: Path, program: Path) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "gpg.program", str(program))
    git(root, "config", "--worktree", "commit.gpgSign", "true")


def name_filter(driver: bytes) -> Callable[[Path, Path], None]:
    def configure(root: Path, program: Path) -> None:
        with (root / ".git" / "config").open("ab") as config:
            config.write(b'[filter "%s"]\n\tclean = %s\n' % (driver, bytes(program)))
        (root / ".gitattributes").write_bytes(b"* filter=%s\n" % driver)

    return configure


TRAPS: dict[str, Callable[[Path, Path], None]] = {
    "hooks": add_hooks,
    "hooks elsewhere": lambda root, program: git(  # type: ignore[dict-item]
        root, "config", "core.hooksPath", str(program.parent)
    ),
    "monitor": set_config("core.fsmonitor"),
    "filter": add_filter,
    "included filter": include_config,
    "filter of the work tree": filter_in_work_tree,
    "signature of the work tree": sign_in_work_tree,
    "filter with an equals sign": name_filter(b"a=b"),
    "filter with dots": name_filter(b"a.b.c"),
    "filter that is not UTF-8": name_filter(b"\xff\xfe"),
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


def test_a_missing_object_is_not_fetched_by_a_program_of_the_folder(
    root: Path, proof: Path
) -> None:
    (root / "inner").mkdir()
    (root / "inner" / "a.md").write_text("a\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Second")
    tree = git(root, "rev-parse", "HEAD:inner")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "other")
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.url", "ssh://host/x")
    git(root, "config", "core.sshCommand", f"touch {proof};false")

    with suppress(ConfigurationError):  # some versions of git fail, others leave the folder out
        list(read_folder(root, CodeLimits()))

    assert not proof.exists()


def test_a_hook_of_the_configuration_is_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer versions of git run such hooks, whatever `core.hooksPath` is."""
    git(root, "config", "hook.a=b.command", "false")
    git(root, "config", "hook.a=b.event", "pre-commit")
    (root / "report.md").write_text("# Tea\n")
    trace = root.parent / "trace"
    mine = root.parent / "gitconfig"
    mine.write_text(f"[trace2]\n\tnormalTarget = {trace}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))

    GitFolder(root).commit("Add a report", ["report.md"])

    (commit,) = [line for line in trace.read_text().splitlines() if " commit --quiet" in line]
    assert "--config-env=hook.a=b.enabled=IDEA_GIT_FALSE" in commit


def test_the_users_own_filter_is_used(
    root: Path, program: Path, proof: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = root.parent / "gitconfig"
    mine.write_text(f'[filter "mine"]\n\tclean = {program}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    (root / ".gitattributes").write_text("* filter=mine\n")
    (root / "report.md").write_text("# Tea\n")

    GitFolder(root).commit("Add a report", ["report.md"])

    assert proof.exists()


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
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", str(bare))
    inner = bare / "objects"

    assert not is_git_folder(inner)
    with pytest.raises(ConfigurationError, match="git cannot list"):
        list(read_folder(inner, CodeLimits()))
    assert os.path.lexists(bare / "HEAD")
