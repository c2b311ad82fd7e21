"""Commits to the folder's own git repository, with the user's git and identity.

The folder may come from anybody. Whatever its own configuration makes git run stays off: hooks, filters,
file system monitors, signing programs and downloads.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from idea_explorer.adapters.git_program import run_git, switch_off
from idea_explorer.domain.errors import ConfigurationError, ExternalError
from idea_explorer.ports import Tree

# By section of the folder's own configuration that names programs for a commit: what to make empty, and what
# to make false.
_EMPTY = {"filter": ("clean", "smudge", "process"), "hook": ()}
_FALSE = {"filter": ("required",), "hook": ("enabled",)}
_USERS_SCOPES = frozenset({"system", "global"})


def is_git_folder(root: Path) -> bool:
    try:
        return _git(root, "rev-parse", "--is-inside-work-tree").stdout.strip() == "true"
    except ExternalError:
        return False


class _Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    paths: Sequence[str]


class GitFolder:
    """Commits the named files only; whatever else is changed or staged stays as it is."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, trailers: str) -> Commit | None:
        """The commit with these trailers."""
        if _git(self._root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
            return None  # no commit yet
        patterns = [f"--grep=^{line}$" for line in trailers.splitlines()]
        sha = self._run("log", "-1", "--all-match", *patterns, "--format=%H", "HEAD", "--").strip()
        if not sha:
            return None
        names = self._run("show", "--name-only", "--relative", "--format=", "-z", sha, "--")
        return Commit(sha, [name for name in names.split("\0") if name.strip()])

    def list_paths(self, trailers: str) -> set[str]:
        """The files that the commits with these trailers changed."""
        patterns = [f"--grep=^{line}$" for line in trailers.splitlines()]
        names = self._run(
            *("log", "--all-match", *patterns, "--name-only", "--no-renames", "--relative"),
            *("--format=", "-z", "HEAD", "--"),
        )
        return {name for name in names.split("\0") if name.strip()}

    def is_changed(self, path: str) -> bool:
        """Whether a file differs from the last commit, or is not part of it."""
        options = self._disable_programs()
        return bool(self._run(*options, "status", "--porcelain", "--no-renames", "--", path))

    def is_ignored(self, path: str) -> bool:
        # it takes no option for literal paths; none begins with magic after the dot
        done = run_git(self._root, "check-ignore", "--quiet", "--", f"./{path}")
        return done.returncode == 0

    def holds(self, path: str, sha: str | None) -> bool:
        """Whether the last commit has this blob at a path; None: no file."""
        done = _git(self._root, "rev-parse", "--verify", "--quiet", f"HEAD:./{path}")
        return (done.stdout.strip() or None) == sha

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
        runs for every file that `.gitattributes` names them for, its hooks, and what it signs with."""
        names = self._own_settings()
        sections = {
            (kind, name.rpartition(".")[0])
            for name in names
            for kind in _EMPTY
            if name.startswith(f"{kind}.")
        }
        empty = [f"{section}.{key}" for kind, section in sections for key in _EMPTY[kind]]
        false = [f"{section}.{key}" for kind, section in sections for key in _FALSE[kind]]
        if any(name.startswith("gpg.") or name == "commit.gpgsign" for name in names):
            false.append("commit.gpgSign")
        return switch_off(empty, false)

    def _own_settings(self) -> set[str]:
        """The names of all settings that are not the user's: those of the folder, of its work tree, and of
        files that these include."""
        done = run_git(
            self._root, "config", "--show-scope", "--includes", "--name-only", "-z", "--list"
        )
        if done.returncode:
            raise ExternalError(f"git cannot list its settings: {_decode(done.stderr)[:500]}")
        fields = os.fsdecode(done.stdout).split("\0")  # a name may hold any bytes
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return {name for scope, name in pairs if scope not in _USERS_SCOPES}

    def _run(self, *arguments: str) -> str:
        done = _git(self._root, *arguments)
        if done.returncode:
            lines = (done.stderr or done.stdout).splitlines()
            # its hints are for people who typed a git command
            output = " ".join(
                " ".join(line for line in lines if not line.startswith("hint:")).split()
            )
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


def _git(root: Path, *arguments: str) -> _Done:
    done = run_git(root, "--literal-pathspecs", *arguments)
    return _Done(done.returncode, _decode(done.stdout), _decode(done.stderr))


def _decode(output: bytes) -> str:
    text = output.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
