"""Commits to the folder's own git repository, with the user's git and identity.

The folder may come from anybody. Whatever its own configuration makes git run stays off: hooks, filters,
file system monitors, signing programs and downloads.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.domain.errors import ConfigurationError, ExternalError
from idea_explorer.ports import Tree

GIT_SECONDS = 60.0
# As an option of the command, each wins over the folder's configuration. `safe.bareRepository` keeps git
# from a folder of documents that only looks like a repository.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.bareRepository=explicit",
)
_OPTIONS = [option for setting in _SETTINGS for option in ("-c", setting)]
# who commits, and where the user's own configuration is; other variables may point to another repository,
# as they do in a hook
_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        *(
            f"{role}_{what}"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL", "DATE")
        ),
        *("CONFIG_GLOBAL", "CONFIG_SYSTEM", "CONFIG_NOSYSTEM"),
    )
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object is not fetched, by any program
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}


def is_git_folder(root: Path) -> bool:
    try:
        return _git(root, "rev-parse", "--is-inside-work-tree").stdout.strip() == "true"
    except ExternalError:
        return False


@dataclass(frozen=True, slots=True)
class Committed:
    sha: str
    paths: Sequence[str]


class GitFolder:
    """Commits the named files only; whatever else is changed or staged stays as it is."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, trailers: str) -> Committed | None:
        """The commit with these trailers."""
        if _git(self._root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
            return None  # no commit yet
        patterns = [f"--grep=^{line}$" for line in trailers.splitlines()]
        sha = self._run("log", "-1", "--all-match", *patterns, "--format=%H", "HEAD", "--").strip()
        if not sha:
            return None
        names = self._run("show", "--name-only", "--relative", "--format=", "-z", sha, "--")
        return Committed(sha, [name for name in names.split("\0") if name.strip()])

    def commit(self, message: str, paths: Sequence[str]) -> str:
        # a deleted file needs no `git add`, and cannot be added if its deletion is staged already
        existing = [path for path in paths if os.path.lexists(self._root / path)]
        try:
            options = self._disable_programs()
            if existing:
                self._run(*options, "add", "--", *existing)
            self._run(
                *(*options, "commit", "--quiet", "--no-verify", "--cleanup=whitespace"),
                *("--message", message, "--only", "--", *paths),
            )
        except ExternalError as error:
            raise ConfigurationError(
                f"The files are written, but git did not commit them: {error.message}",
                hint="Commit them by hand, or run again without --commit.",
            ) from error
        return self._run("rev-parse", "HEAD").strip()

    def tree(self) -> Tree:
        return _LastCommit(self._root)

    def _disable_programs(self) -> list[str]:
        """Options that take away the programs of the folder's own configuration: its filters, which git
        runs for every file that `.gitattributes` names them for, and what it signs with."""
        listed = self._run("config", "--local", "--includes", "--name-only", "-z", "--list")
        names = listed.split("\0")
        drivers = {name.rpartition(".")[0] for name in names if name.startswith("filter.")}
        values = [f"{driver}.{key}" for driver in drivers for key in ("clean=", "process=")]
        values += [f"{driver}.required=false" for driver in drivers]
        if any(name.startswith("gpg.") for name in names):
            values.append("commit.gpgSign=false")
        return [option for value in sorted(values) for option in ("-c", value)]

    def _run(self, *arguments: str) -> str:
        done = _git(self._root, *arguments)
        if done.returncode:
            output = " ".join((done.stderr or done.stdout).split())
            raise ExternalError(output[:500] or "git failed")
        return done.stdout


class _LastCommit:
    """The folder's files in the last commit, with LF line endings."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_text(self, path: str) -> str | None:
        done = _git(self._root, "show", f"HEAD:./{path}")
        return None if done.returncode else done.stdout

    def names(self, path: str) -> Sequence[str]:
        done = _git(self._root, "ls-tree", "--name-only", "-z", "HEAD", f"{path}/")
        return [name.removeprefix(f"{path}/") for name in done.stdout.split("\0") if name]


def _git(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    own = {n: v for n, v in os.environ.items() if n in _VARIABLES or not n.startswith("GIT_")}
    try:
        return subprocess.run(  # noqa: S603  no shell, our own arguments
            ["git", "-C", str(root), *_OPTIONS, *arguments],  # noqa: S607  the user's own git
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            env=own | _ENVIRONMENT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExternalError(f"git could not be run: {error}") from error
