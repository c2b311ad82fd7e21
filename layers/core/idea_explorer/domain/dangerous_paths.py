"""Files that run, or steer what runs, without anybody opening them.

A change to code is read in review and runs when somebody runs it. These act as soon as they are pushed,
checked out, installed, or read by an assistant. So a change to one needs its own confirmation.
"""

import re
from functools import cache
from typing import NamedTuple


class _Rule(NamedTuple):
    danger: str
    patterns: tuple[str, ...]


def _rule(danger: str, *patterns: str) -> _Rule:
    return _Rule(danger, patterns)


@cache
def _compile(rule: _Rule) -> re.Pattern[str]:
    """Not before a change is looked at: it takes a twentieth of the time of a whole offline run."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in rule.patterns))


# Paths are in lower case: some file systems do not tell the cases apart.
_RULES = (
    _rule(
        "runs in CI",
        r"\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*",
        r"(?:.*/)?action\.ya?ml",
        r"(?:.*/)?\.gitlab-ci(?:[.-].*)?\.ya?ml",
        r"\.gitlab/.*\.ya?ml",
        r"(?:.*/)?jenkinsfile(?:\..*)?",
        r"(?:.*/)?\.(?:travis|drone|appveyor|cirrus|woodpecker)\.ya?ml",
        r"(?:.*/)?(?:appveyor|azure-pipelines|bitbucket-pipelines|buildspec|cloudbuild)[^/]*\.ya?ml",
        r"\.(?:circleci|buildkite|teamcity|woodpecker|semaphore|tekton|azure-pipelines|azuredevops|ci)/.*",
        r"(?:.*/)?\.github/(?:dependabot\.ya?ml|codeowners)",
        r"(?:docs/)?codeowners",
        r"(?:.*/)?renovate\.json5?",
    ),
    _rule(
        "is a lock file, which decides what is installed",
        r"(?:.*/)?(?:package-lock|npm-shrinkwrap|deno|composer|flake|packages)\.(?:lock\.)?(?:json|lock)",
        r"(?:.*/)?(?:yarn|poetry|pdm|uv|cargo|gemfile|pipfile|mix|podfile|pubspec|gradle|bun|flake|deno)\.lockb?",
        r"(?:.*/)?pnpm-lock\.ya?ml",
        r"(?:.*/)?(?:go\.sum|go\.work\.sum|package\.resolved|conda-lock\.yml|pylock[^/]*\.toml)",
        r"(?:.*/)?(?:requirements|constraints)[^/]*\.(?:txt|in|lock)",
        r"(?:.*/)?(?:requirements|constraints)/[^/]+\.(?:txt|in|lock)",
        r"(?:.*/)?[^/]+\.lock(?:\.[^/]+)?",
    ),
    _rule(
        "is a hook, which runs by itself",
        r"(?:.*/)?\.(?:husky|githooks|git-hooks)/.*",
        r"(?:.*/)?(?:hooks|githooks)/(?:pre|post|commit|prepare|update|applypatch|push|fsmonitor)[^/]*",
        r"(?:.*/)?\.pre-commit-(?:config|hooks)\.ya?ml",
        r"(?:.*/)?\.?lefthook[^/]*\.(?:ya?ml|toml|json)",
        r"(?:.*/)?\.(?:lintstagedrc|huskyrc|overcommit|simple-git-hooks)[^/]*",
        r"(?:.*/)?\.(?:envrc|gitattributes|gitmodules|npmrc|yarnrc(?:\.yml)?|pnpmfile\.cjs)",
        r"(?:.*/)?\.(?:vscode|zed)/(?:tasks|settings|launch|debug)\.json",
        r"(?:.*/)?\.(?:idea|run)/.*",
        r"(?:.*/)?\.(?:devcontainer/.*|devcontainer\.json|gitpod\.yml)",
        r"(?:.*/)?(?:sitecustomize|usercustomize)\.py",
        r"(?:.*/)?[^/]+\.pth",
    ),
    _rule(
        "runs when somebody builds or installs",
        r"(?:.*/)?(?:package\.json|setup\.(?:py|cfg)|pyproject\.toml|build\.rs)",
        r"(?:.*/)?(?:gnu)?makefile(?:\..*)?",
        r"(?:.*/)?(?:[^/]+\.mk|justfile|taskfile\.ya?ml|rakefile|dockerfile(?:\..*)?|[^/]+\.dockerfile)",
        r"(?:.*/)?(?:docker-)?compose(?:\.[^/]*)?\.ya?ml",
        r"(?:.*/)?(?:pom\.xml|[^/]+\.gemspec|gemfile|pipfile|cargo\.toml|\.cargo/.*|cmakelists\.txt|configure)",
        r"(?:.*/)?(?:gradle/wrapper/.*|gradle/[^/]+\.toml|gradlew(?:\.bat)?|gradle\.properties)",
        r"(?:.*/)?[^/]+\.gradle(?:\.kts)?",
        r"(?:.*/)?(?:mvnw(?:\.cmd)?|\.mvn/.*|\.yarn/.*|\.pnp\.[^/]+|go\.(?:mod|work)|build\.zig(?:\.zon)?)",
        r"(?:.*/)?(?:containerfile(?:\..*)?|[^/]+\.nix|build\.sbt|project/[^/]+\.sbt|meson\.build)",
    ),
    _rule(
        "runs when somebody tests or checks",
        r"(?:.*/)?(?:conftest\.py|noxfile\.py|tox\.(?:ini|toml)|pytest\.(?:ini|toml))",
        r"(?:.*/)?[^/]+\.config\.[cm]?[jt]sx?",
        r"(?:.*/)?\.[^/]+rc\.[cm]?[jt]s",
        r"(?:.*/)?(?:gulpfile|gruntfile)\.[cm]?[jt]s",
    ),
    _rule("names commands that run on people's machines", r"\.idea-explorer\.toml"),
    _rule(
        "instructs assistants that read the repository",
        r"(?:.*/)?(?:claude|agents?|gemini|codex|copilot|qwen|warp|crush)(?:\.local)?\.md",
        r"(?:.*/)?\.(?:claude|cursor|windsurf|codex|gemini|aider|continue|roo|clinerules|kiro|junie|amazonq|opencode)/.*",
        r"(?:.*/)?opencode\.jsonc?",
        r"(?:.*/)?\.(?:cursorrules|windsurfrules|clinerules|roorules|goosehints|aider[^/]*)",
        r"(?:.*/)?\.github/(?:copilot-instructions\.md|(?:instructions|prompts|chatmodes|agents)/.*)",
        r"(?:.*/)?\.?mcp\.json",
        r"(?:.*/)?(?:skill|llms(?:-full)?)\.(?:md|txt)",
    ),
)


def find_danger(path: str) -> str | None:
    """What makes a change to this file dangerous, to complete "this file …"; None for any other file."""
    lower = path.casefold()
    return next((rule.danger for rule in _RULES if _compile(rule).fullmatch(lower)), None)
