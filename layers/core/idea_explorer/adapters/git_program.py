"""Runs the user's git in a folder that may come from anybody.

Whatever the folder's own configuration makes git run stays off: hooks, file system monitors and
downloads here; what only a commit runs, in `folder/git.py`.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import ExternalError

if TYPE_CHECKING:
    import subprocess

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
    "rerere.enabled=false",
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
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_EMPTY, _FALSE = "IDEA_GIT_EMPTY", "IDEA_GIT_FALSE"
_VALUES = {_EMPTY: "", _FALSE: "false"}


def run_git(root: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Raises ExternalError if git cannot be run; that it failed is for the caller to see."""
    import subprocess  # few commands run git

    own = {n: v for n, v in os.environ.items() if n in _VARIABLES or not n.startswith("GIT_")}
    try:
        return subprocess.run(  # noqa: S603  no shell, our own arguments
            ["git", "-C", str(root), *_OPTIONS, *arguments],  # noqa: S607  the user's own git
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            env=own | _ENVIRONMENT | _VALUES,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExternalError(f"git could not be run: {error}") from error


def switch_off(empty: Iterable[str], false: Iterable[str]) -> list[str]:
    """Options that make the named settings empty or false. Unlike `-c`, they take a name with an equals sign,
    and a git that does not know them (before 2.31) fails."""
    values = [*((name, _EMPTY) for name in empty), *((name, _FALSE) for name in false)]
    return [f"--config-env={name}={variable}" for name, variable in sorted(values)]
