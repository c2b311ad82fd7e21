"""The checks of a local folder: the commands that its last commit names, over a copy of its files."""

import io
import os
import re
import stat
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from idea_explorer.adapters.checks.confirmations import Confirmations
from idea_explorer.adapters.checks.sandbox import (
    Ended,
    SandboxLimits,
    can_isolate,
    run_in_sandbox,
)
from idea_explorer.adapters.git_program import run_git
from idea_explorer.adapters.safe_files import open_file
from idea_explorer.adapters.snapshots.worktrees import open_files
from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.checks import MAX_OUTPUT_CHARS, CheckResult
from idea_explorer.domain.errors import ConfigurationError, ExternalError, RejectedError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import encode_name
from idea_explorer.domain.redaction import mask_secrets
from idea_explorer.domain.repository_settings import (
    MAX_SETTINGS_BYTES,
    SETTINGS_FILE,
    Checks,
    RepositorySettings,
    parse_repository_settings,
)
from idea_explorer.domain.secret_files import is_secret_file
from idea_explorer.domain.text import make_printable

_COLOURS = re.compile(rb"\x1b\[[0-?]*+[ -/]*+[@-~]")  # and other wishes to a terminal
ISOLATED = (
    "They see no network, no file outside the copy but the system's own, none of your settings and keys,"
    " and are stopped after {seconds:g} s."
)
OPEN = (
    "This system cannot isolate them: they can use the network and every file that you can, and only"
    " their time, memory and output are limited."
)


class LocalChecks:
    """Commands are those of the last commit: neither a proposed change nor one that is not committed can
    say what runs. A person has to allow them first."""

    def __init__(
        self,
        root: Path,
        confirmations: Confirmations,
        limits: SandboxLimits,
        code_limits: CodeLimits,
    ) -> None:
        self._root = root.resolve()
        self._confirmations = confirmations
        self._limits = limits
        self._code_limits = code_limits

    @property
    def is_configured(self) -> bool:
        """Also true if the settings cannot be used, so that somebody is told."""
        try:
            return bool(self._settings().checks.commands)
        except ConfigurationError:
            return True

    def ask_first(self) -> Proposal | None:
        checks = self._settings().checks
        isolated = self._check_isolation()
        key = checks.key(isolated=isolated)
        if self._confirmations.has(self._root, key):
            return None
        limits = ISOLATED.format(seconds=self._limits.seconds) if isolated else OPEN
        return _propose(checks, key, limits)

    def run(self, only: str | None) -> Sequence[CheckResult]:
        settings = self._settings()
        checks = settings.checks
        isolated = self._check_isolation()
        if not self._confirmations.has(self._root, checks.key(isolated=isolated)):
            raise ConfigurationError("A person has to allow these commands first.")
        wanted = {n: c for n, c in checks.commands.items() if only in {None, n}}
        if not wanted:
            raise ConfigurationError(f"{SETTINGS_FILE} names no command '{only}'.")
        used = [self._locate(path) for path in checks.use]
        with tempfile.TemporaryFile() as archive:
            self._pack(archive, settings)
            return [
                _to_result(
                    *(name, command),
                    run_in_sandbox(
                        command, self._root, archive, used, self._limits, isolated=isolated
                    ),
                )
                for name, command in wanted.items()
            ]

    def _settings(self) -> RepositorySettings:
        try:
            shown = run_git(self._root, "cat-file", "-s", f"HEAD:./{SETTINGS_FILE}")
        except ExternalError:
            return RepositorySettings()  # git is not installed
        if shown.returncode:
            return RepositorySettings()  # no repository, no commit, or no such file in it
        if int(shown.stdout) > MAX_SETTINGS_BYTES:
            return parse_repository_settings(b" " * (MAX_SETTINGS_BYTES + 1))
        shown = run_git(self._root, "cat-file", "blob", f"HEAD:./{SETTINGS_FILE}")
        if shown.returncode:
            raise ConfigurationError(f"{SETTINGS_FILE} is not a file in the last commit.")
        return parse_repository_settings(shown.stdout)

    def _check_isolation(self) -> bool:
        """Whether the commands run isolated; raises ConfigurationError if they may not run."""
        if self._root == Path("/"):
            raise ConfigurationError("Checks do not run over the whole file system.")
        isolated = can_isolate()
        if not isolated and not self._limits.may_run_open:
            raise ConfigurationError(
                "This system cannot isolate checks from the network and from other files: that takes Linux"
                " 5.12 or later with user namespaces.",
                hint="A person can let them run all the same, with IDEA_CHECKS_WITHOUT_ISOLATION=true.",
            )
        return isolated

    def _locate(self, path: str) -> str:
        """A folder of the work tree that git ignores; raises ConfigurationError if a link leads elsewhere."""
        folder = self._root / path
        if folder.resolve() != folder or not folder.is_dir():
            raise ConfigurationError(
                f"{SETTINGS_FILE}: there is no folder {path} in the work tree."
            )
        return str(folder)

    def _pack(self, archive: IO[bytes], settings: RepositorySettings) -> None:
        """The files as they are now, without key files and without links that lead out of the tree."""
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as packed:
            for folder, path in open_files(self._root, self._code_limits):
                if is_secret_file(encode_name(b"/".join(path))[0], settings.files.allow):
                    continue
                with suppress(OSError):  # deleted or replaced since it was listed
                    _add(packed, folder, path)
                if archive.tell() > self._limits.disk_bytes:
                    raise RejectedError(
                        f"The work tree has more than {self._limits.disk_bytes:,} bytes, too many to copy."
                    )


def _propose(checks: Checks, key: str, limits: str) -> Proposal:
    """What a person allows once for a folder and these commands."""
    lines = [f"{name}: {command}" for name, command in checks.commands.items()]
    lines += [f"with the folder {path}, to read" for path in checks.use]
    return Proposal(
        path=SETTINGS_FILE,
        kind="checks",
        content="\n".join(lines) + "\n",
        diff="",
        base_sha=None,
        content_hash=key,
        description=f"Run these commands of the repository on this machine, in a copy of its files. {limits}",
    )


def _add(packed: tarfile.TarFile, folder: int, path: tuple[bytes, ...]) -> None:
    info = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
    member = tarfile.TarInfo(os.fsdecode(b"/".join(path)))
    member.mtime = int(info.st_mtime)
    if stat.S_ISLNK(info.st_mode):
        target = os.readlink(path[-1], dir_fd=folder)
        joined = os.path.normpath(b"/".join([*path[:-1], target]))
        if not target.startswith(b"/") and joined.split(b"/")[0] != b"..":
            member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(target)
            packed.addfile(member)
    elif stat.S_ISREG(info.st_mode):
        with open_file(folder, path[-1]) as file:
            content = file.read()
        member.mode = 0o755 if info.st_mode & 0o100 else 0o644
        member.size = len(content)
        packed.addfile(member, io.BytesIO(content))


def _to_result(name: str, command: str, ended: Ended) -> CheckResult:
    plain = _COLOURS.sub(b"", ended.tail).decode("utf-8", "replace")
    text = make_printable(mask_secrets(plain))
    output = text[-MAX_OUTPUT_CHARS:]
    if ended.exit_code is None:
        detail = f"Stopped because {ended.reason}."
    else:
        detail = f"Exit code {ended.exit_code}."
    return CheckResult(
        name=name,
        outcome="stopped" if ended.exit_code is None else "failed" if ended.exit_code else "passed",
        detail=detail,
        command=command,
        seconds=round(ended.seconds, 1),
        output=output,
        output_cut=len(output) < len(text) or ended.printed > len(ended.tail),
    )
