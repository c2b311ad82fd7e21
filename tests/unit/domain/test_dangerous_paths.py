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
        ".tekton/x.yaml",
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
        "requirements/base.txt",
        "requirements.in",
        "constraints.txt",
        ".terraform.lock.hcl",
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
        ".zed/tasks.json",
        ".idea/runConfigurations/x.xml",
    ),
    "runs when somebody builds or installs": (
        "package.json",
        "setup.py",
        "Makefile",
        "Dockerfile",
        "docker-compose.yml",
        "build.gradle.kts",
        "settings.gradle",
        "gradlew",
        "gradlew.bat",
        "mvnw",
        ".mvn/extensions.xml",
        ".yarn/releases/yarn.cjs",
        ".pnp.cjs",
        "go.mod",
        "Containerfile",
        "flake.nix",
    ),
    "runs when somebody tests or checks": (
        "tests/conftest.py",
        "tox.ini",
        "noxfile.py",
        "web/vite.config.ts",
        "eslint.config.mjs",
        ".eslintrc.js",
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
        "opencode.json",
        ".opencode/x.md",
    ),
}
ORDINARY = [
    "src/app.py",
    "README.md",
    "docs/actions.md",
    "src/hooks/use_state.ts",
    "tests/lock_test.py",
    "a/workflows/b.md",
    "docs/requirements/login.md",
    "src/config.ts",
    "src/lock.py",
    "docs/gradle.md",
    ".markdownlintrc",
    "src/clock.test.ts",
]


@pytest.mark.parametrize(
    ("path", "danger"), [(path, danger) for danger, paths in DANGEROUS.items() for path in paths]
)
def test_a_dangerous_file_is_known_by_its_path(path: str, danger: str) -> None:
    assert find_danger(path) == danger


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_file_is_not(path: str) -> None:
    assert find_danger(path) is None
