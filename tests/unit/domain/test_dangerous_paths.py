"""Files that act by themselves are told from ordinary ones."""

import pytest

from idea_explorer.domain.dangerous_paths import find_danger

DANGEROUS = {
    "runs in CI": (
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/x.yaml",
        ".github/actions/a/action.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        "ci/Jenkinsfile.release",
        ".circleci/config.yml",
        "azure-pipelines.yml",
        "buildspec.yml",
        ".github/dependabot.yml",
        "CODEOWNERS",
    ),
    "is a lock file, which decides what is installed": (
        "package-lock.json",
        "web/yarn.lock",
        "poetry.lock",
        "uv.lock",
        "Cargo.lock",
        "go.sum",
        "pnpm-lock.yaml",
        "requirements.txt",
        "requirements-dev.lock",
    ),
    "is a hook, which runs by itself": (
        ".husky/pre-commit",
        ".githooks/post-merge",
        "hooks/pre-push",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".envrc",
        ".gitattributes",
        ".vscode/tasks.json",
        ".devcontainer/devcontainer.json",
    ),
    "runs when somebody builds or installs": (
        "package.json",
        "setup.py",
        "Makefile",
        "Dockerfile",
        "docker-compose.yml",
        "build.gradle.kts",
    ),
    "instructs assistants that read the repository": (
        "CLAUDE.md",
        "docs/AGENTS.md",
        ".cursor/rules/a.mdc",
        ".cursorrules",
        ".github/copilot-instructions.md",
        ".claude/settings.json",
        ".mcp.json",
        ".github/instructions/x.md",
    ),
}
ORDINARY = [
    "src/app.py",
    "README.md",
    "docs/actions.md",
    "src/hooks/use_state.ts",
    "tests/lock_test.py",
    "a/workflows/b.md",
]


@pytest.mark.parametrize(
    ("path", "danger"), [(path, danger) for danger, paths in DANGEROUS.items() for path in paths]
)
def test_a_dangerous_file_is_known_by_its_path(path: str, danger: str) -> None:
    assert find_danger(path) == danger


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_file_is_not(path: str) -> None:
    assert find_danger(path) is None
