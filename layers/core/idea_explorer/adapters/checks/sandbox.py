"""Runs one command over a copy of files, isolated from the machine, within limits of time, memory, processes,
disk and output."""

import json
import os
import pwd
import select
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import is_abandoned
from idea_explorer.domain.errors import ConfigurationError

_LAUNCHER = Path(__file__).with_name("launcher.py")
_TEMPORARY = "/tmp"  # noqa: S108  a new and empty one in the check's own view  # nosec B108
_HIDDEN = (
    *("/home", "/root", "/run", "/var/run", "/mnt", "/media", _TEMPORARY),
    *("/var/tmp", "/dev/shm"),  # noqa: S108  the same  # nosec B108
)
# Folders of the root that belong to the system. All others are empty, whatever they are on this machine; Nix
# and Guix have their programs in folders of their own.
_SYSTEM = frozenset("usr bin sbin etc dev proc sys nix gnu".split())
_PATH = "/usr/local/bin:/usr/bin:/bin"
MAX_TAIL_BYTES = 65_536
MAX_PRINTED_BYTES = 67_108_864  # 64 MB: what prints more has gone wrong
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """`may_run_open`: the person accepts that a system without namespaces limits less."""

    seconds: float = 120.0
    memory_bytes: int = 2_147_483_648
    processes: int = 512  # and threads
    disk_bytes: int = 1_073_741_824
    readable: tuple[
        str, ...
    ] = ()  # folders outside the work tree that checks need, such as ~/.cargo
    may_run_open: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """`exit_code` is None if the command was stopped; then `reason` says why. `tail` is the end of what it
    printed, `printed` how many bytes there were."""

    exit_code: int | None
    reason: str
    seconds: float
    tail: bytes
    printed: int


def can_isolate() -> bool:
    """Whether this system has what isolation needs: tried once, because no setting tells for sure. A trial
    that was stopped tells nothing, and is made again the next time."""
    try:
        return _try_isolation()
    except TimeoutError:
        return False


@cache
def _try_isolation() -> bool:
    if sys.platform != "linux":
        return False
    with tempfile.TemporaryFile() as nothing:
        with tarfile.open(fileobj=nothing, mode="w"):
            pass
        nothing.seek(0)
        limits = SandboxLimits(seconds=10.0)
        try:
            ended = run_in_sandbox("exit 7", Path(_TEMPORARY), nothing, (), limits, isolated=True)
        except ConfigurationError:
            return False
    if ended.exit_code is None:
        raise TimeoutError
    return ended.exit_code == 7


def run_in_sandbox(
    command: str,
    root: Path,
    archive: IO[bytes],
    used: Sequence[str],
    limits: SandboxLimits,
    *,
    isolated: bool,
) -> Ended:
    """`root` is where the command finds the files of the archive; `used` are folders below it that it
    may read. Raises ConfigurationError if the sandbox cannot be made."""
    archive.seek(0)
    with tempfile.TemporaryDirectory(prefix="idea-checks-", ignore_cleanup_errors=True) as folder:
        plan: dict[str, object] = {
            "command": command,
            "isolated": isolated,
            "memory": limits.memory_bytes,
            "processes": limits.processes,
            "disk": limits.disk_bytes,
        }
        if isolated:
            plan |= {
                "root": str(root),
                "empty": _find_empty(),
                "hidden": _find_hidden(),
                "readable": [*filter(os.path.isdir, limits.readable), *used],
                "environment": _clean_environment(f"{_TEMPORARY}/home", _TEMPORARY),
            }
        else:
            home, work = Path(folder, "home"), Path(folder, "work")
            home.mkdir()
            work.mkdir()
            plan |= {"root": str(work), "environment": _clean_environment(str(home), folder)}
        return _run(plan, archive, limits.seconds)


def _clean_environment(home: str, temporary: str) -> Mapping[str, str]:
    """Nothing of the person's own environment but where programs are: keys are often in it."""
    named = os.environ.get("PATH", "").split(os.pathsep)
    return {
        "PATH": os.pathsep.join(path for path in named if path.startswith("/")) or _PATH,
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "true",
    }


def _find_empty() -> list[str]:
    """The folders of the root that are not the system's. A link leads to one of the others."""
    with os.scandir("/") as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.is_dir(follow_symlinks=False)
            and entry.name not in _SYSTEM
            and not entry.name.startswith("lib")
        )


def _find_hidden() -> list[str]:
    """Existing folders that a command may write to, none within another."""
    homes = [str(Path.home()), os.environ.get("XDG_RUNTIME_DIR", "")]
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    found = {Path(path).resolve() for path in (*_HIDDEN, *homes) if path and Path(path).is_dir()}
    found.discard(Path("/"))
    return sorted(str(path) for path in found if found.isdisjoint(path.parents))


def _run(plan: dict[str, object], archive: IO[bytes], seconds: float) -> Ended:
    reading, writing = os.pipe()
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603  our own program
            [
                *(sys.executable, "-I", "-S", "-c", _LAUNCHER.read_text("utf-8")),
                json.dumps({**plan, "status": writing}),
            ],
            stdin=archive,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writing],
            env={"PATH": _PATH},
            start_new_session=True,
        )
    except OSError as error:
        os.close(reading)
        raise _unavailable(str(error)) from error
    finally:
        os.close(writing)
    with process, os.fdopen(reading, "rb") as status:
        try:
            reason, tail, printed = _read_output(process, began + seconds)
            took = time.monotonic() - began
        finally:
            _kill(process)
        if reason:
            return Ended(None, reason, took, tail, printed)
        return _interpret(status.read(10_000), took, tail, printed)


def _read_output(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, bytes, int]:
    """Why the command was stopped, if it was; the end of what it printed, and how much there was."""
    output = process.stdout
    assert output is not None
    tail = b""
    printed = 0
    while True:
        ready, _, _ = select.select([output], [], [], _LOOK_SECONDS)
        if ready:
            part = os.read(output.fileno(), MAX_TAIL_BYTES)
            if not part:
                return "", tail, printed
            printed += len(part)
            tail = (tail + part)[-MAX_TAIL_BYTES:]
        elif process.poll() is not None:
            return "", tail, printed  # what it left running may hold the pipe open
        if printed > MAX_PRINTED_BYTES:
            return f"it printed more than {MAX_PRINTED_BYTES:,} bytes", tail, printed
        if time.monotonic() > deadline or is_abandoned():
            return "its time was up", tail, printed


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With its group; in a namespace, everything in it ends with the first process."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


_STOPPED = {
    "processes": "it had too many processes",
    "memory": "it used too much memory",
}


def _interpret(status: bytes, took: float, tail: bytes, printed: int) -> Ended:
    try:
        said = json.loads(status.splitlines()[0])
    except (ValueError, IndexError):
        raise _unavailable("it ended without a word") from None
    if "failed" in said:
        raise _unavailable(str(said["failed"])[:300])
    if "stopped" in said:
        return Ended(None, _STOPPED[said["stopped"]], took, tail, printed)
    return Ended(int(said["exit"]), "", took, tail, printed)


def _unavailable(reason: str) -> ConfigurationError:
    return ConfigurationError(f"The checks could not be isolated: {reason}.")
