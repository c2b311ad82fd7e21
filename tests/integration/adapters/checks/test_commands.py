"""Which commands are run, over which files, and that a person is asked first."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.checks import commands
from idea_explorer.adapters.checks.commands import LocalChecks
from idea_explorer.adapters.checks.confirmations import Confirmations, ConfirmingWriter
from idea_explorer.adapters.checks.sandbox import SandboxLimits, can_isolate
from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.domain.approvals import Approval, Proposal
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.limits import CodeLimits
from tests.fakes.explorations import an_exploration

LIMITS = SandboxLimits(seconds=20.0)
needs_namespaces = pytest.mark.skipif(not can_isolate(), reason="no user namespaces here")


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


class Project:
    """A folder under git whose last commit names a command."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.confirmations = Confirmations(folder / "settings")
        git(self.root, "init", "--quiet")
        self.write("a.txt", "one\n")

    def write(self, name: str, content: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(content)

    def commit(self, settings: str) -> None:
        self.write(".idea-explorer.toml", settings)
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "x")

    def checks(self, limits: SandboxLimits = LIMITS) -> LocalChecks:
        return LocalChecks(self.root, self.confirmations, limits, CodeLimits())

    def allow(self) -> None:
        asked = self.checks().ask_first()
        assert asked is not None
        self.confirmations.add(self.root, asked.content_hash)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def asked_of(checks: LocalChecks) -> Proposal:
    asked = checks.ask_first()
    assert asked is not None
    return asked


def test_checks_are_off_unless_the_last_commit_names_them(project: Project) -> None:
    assert not project.checks().is_configured

    project.write(".idea-explorer.toml", '[checks]\ntest = "make test"\n')
    assert not project.checks().is_configured

    project.commit('[checks]\ntest = "make test"\n')
    assert project.checks().is_configured


def test_a_folder_without_git_has_no_checks(tmp_path: Path) -> None:
    (tmp_path / ".idea-explorer.toml").write_text('[checks]\ntest = "make test"\n')
    checks = LocalChecks(tmp_path, Confirmations(tmp_path / "s"), LIMITS, CodeLimits())

    assert not checks.is_configured


@needs_namespaces
def test_a_person_is_asked_once_for_a_folder_and_its_commands(project: Project) -> None:
    project.commit('[checks]\ntest = "make test"\nlint = "make lint"\nuse = [".venv"]\n')
    asked = asked_of(project.checks())

    assert asked.kind == "checks"
    assert asked.content == "test: make test\nlint: make lint\nwith the folder .venv, to read\n"
    assert "no network" in asked.description
    with pytest.raises(ConfigurationError, match="A person has to allow"):
        project.checks().run(None)

    project.allow()
    assert project.checks().ask_first() is None

    project.commit('[checks]\ntest = "make test; curl example.com"\n')
    assert "curl" in asked_of(project.checks()).content
    with pytest.raises(ConfigurationError, match="A person has to allow"):
        project.checks().run(None)


@needs_namespaces
def test_another_folder_with_the_same_commands_asks_too(project: Project, tmp_path: Path) -> None:
    project.commit('[checks]\ntest = "true"\n')
    project.allow()
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other")
    other.commit('[checks]\ntest = "true"\n')
    other.confirmations = project.confirmations

    assert other.checks().ask_first() is not None


@needs_namespaces
def test_what_is_not_committed_says_nothing_about_the_commands(project: Project) -> None:
    project.commit('[checks]\ntest = "echo committed"\n')
    project.allow()
    project.write(".idea-explorer.toml", '[checks]\ntest = "echo proposed"\n')

    (result,) = project.checks().run(None)

    assert result.output == "committed\n"


@needs_namespaces
def test_the_files_are_those_of_the_work_tree_without_keys_and_links_out(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret of the machine\n")
    project.write(".gitignore", "ignored/\n")
    project.write("ignored/big.bin", "x")
    project.write(".env", "PASSWORD=1\n")
    project.write("tests/allowed.key", "for tests\n")
    project.write("run.sh", "echo ran\n")
    (project.root / "run.sh").chmod(0o755)
    (project.root / "inside").symlink_to("a.txt")
    (project.root / "up").symlink_to("../secret.txt")
    (project.root / "absolute").symlink_to(tmp_path / "secret.txt")
    project.commit(
        '[checks]\ntest = "find . -not -type d | sort; cat a.txt inside; ./run.sh"\n'
        '[files]\nallow = ["tests/allowed.key"]\n'
    )
    project.allow()
    project.write("a.txt", "approved\n")

    (result,) = project.checks().run(None)

    assert result.outcome == "passed"
    assert result.output.splitlines() == [
        *("./.gitignore", "./.idea-explorer.toml", "./a.txt", "./inside", "./run.sh"),
        *("./tests/allowed.key", "approved", "approved", "ran"),
    ]


@needs_namespaces
def test_each_check_has_a_copy_and_a_result_of_its_own(project: Project) -> None:
    project.commit('[checks]\ntest = "echo x > made; exit 2"\nlint = "ls made"\n')
    project.allow()

    test, lint = project.checks().run(None)
    (alone,) = project.checks().run("test")

    assert (test.name, test.outcome, test.detail) == ("test", "failed", "Exit code 2.")
    assert (lint.outcome, lint.command) == ("failed", "ls made")
    assert alone.name == "test"


@needs_namespaces
def test_a_check_that_is_not_named_is_not_run(project: Project) -> None:
    project.commit('[checks]\ntest = "true"\n')
    project.allow()

    with pytest.raises(ConfigurationError, match="names no command 'lint'"):
        project.checks().run("lint")


@needs_namespaces
def test_keys_and_controls_in_the_output_are_not_shown(project: Project) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    project.commit(f"""[checks]\ntest = "printf '\\\\033[2J{key}\\\\n'"\n""")
    project.allow()

    (result,) = project.checks().run(None)

    assert key not in result.output
    assert "\x1b" not in result.output


@needs_namespaces
def test_of_a_long_output_the_end_is_kept(project: Project) -> None:
    project.commit('[checks]\ntest = "seq 100000; echo last line"\n')
    project.allow()

    (result,) = project.checks().run(None)

    assert result.output.endswith("100000\nlast line\n")
    assert len(result.output) == 8_000
    assert result.output_cut


def test_settings_that_cannot_be_used_are_reported(project: Project) -> None:
    project.commit("[checks]\ntest = 1\n")

    assert project.checks().is_configured
    with pytest.raises(ConfigurationError, match=r"cannot be used: checks: must be text"):
        project.checks().ask_first()


def test_huge_settings_are_not_even_read(project: Project) -> None:
    project.commit("#" * 1_000_000)

    with pytest.raises(ConfigurationError, match="more than 16,384 bytes"):
        project.checks().ask_first()


def test_a_link_in_place_of_the_settings_is_no_settings(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text('[checks]\ntest = "true"\n')
    (project.root / ".idea-explorer.toml").symlink_to(tmp_path / "elsewhere.toml")
    git(project.root, "add", "--all")
    git(project.root, "commit", "--quiet", "--message", "x")

    with pytest.raises(ConfigurationError, match="it is not TOML"):
        project.checks().ask_first()


def test_a_folder_to_use_may_not_lead_elsewhere(project: Project, tmp_path: Path) -> None:
    if not can_isolate():
        pytest.skip("no user namespaces here")
    (project.root / ".venv").symlink_to(tmp_path)
    project.commit('[checks]\ntest = "true"\nuse = [".venv"]\n')
    project.allow()

    with pytest.raises(ConfigurationError, match=r"no folder \.venv in the work tree"):
        project.checks().run(None)


def test_a_system_that_cannot_isolate_refuses_unless_the_person_allows_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "can_isolate", lambda: False)
    project.commit('[checks]\ntest = "cat a.txt"\n')

    with pytest.raises(ConfigurationError, match="IDEA_CHECKS_WITHOUT_ISOLATION=true"):
        project.checks().ask_first()

    open_limits = replace(LIMITS, may_run_open=True)
    asked = asked_of(project.checks(open_limits))
    assert "they can use the network" in asked.description
    project.confirmations.add(project.root, asked.content_hash)
    (result,) = project.checks(open_limits).run(None)
    assert result.output == "one\n"


def test_who_allowed_isolated_commands_is_asked_again_before_others_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "can_isolate", lambda: True)
    project.commit('[checks]\ntest = "cat a.txt"\n')
    project.allow()
    assert project.checks().ask_first() is None

    monkeypatch.setattr(commands, "can_isolate", lambda: False)
    checks = project.checks(replace(LIMITS, may_run_open=True))
    assert "they can use the network" in asked_of(checks).description
    with pytest.raises(ConfigurationError, match="has to allow these commands first"):
        checks.run(None)


def test_approving_the_commands_allows_them_and_writes_no_file(project: Project) -> None:
    proposal = Proposal(
        path=".idea-explorer.toml",
        kind="checks",
        content="test: true\n",
        diff="",
        base_sha=None,
        content_hash="k",
        description="x",
    )
    exploration = an_exploration()
    approval = Approval(
        id="a",
        exploration_id=exploration.id,
        call_id="c",
        proposal=proposal,
        requested_at=exploration.created_at,
    )
    writer = ConfirmingWriter(
        FolderWriter(project.root, project.root.parent / "lock"),
        project.confirmations,
        project.root,
    )

    writer.write_change(exploration, approval)

    assert project.confirmations.has(project.root, "k")
    assert not (project.root / ".idea-explorer.toml").exists()


def test_a_damaged_list_of_confirmations_allows_nothing(project: Project, tmp_path: Path) -> None:
    project.confirmations.add(project.root, "k")
    file = tmp_path / "settings" / "allowed-checks.json"
    assert file.stat().st_mode & 0o777 == 0o600

    for damaged in ("", "[]", "{", '{"x": 1}'):
        file.write_text(damaged)
        assert not project.confirmations.has(project.root, "k")
