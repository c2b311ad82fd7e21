"""Becomes a check: a program of its own, which sandbox.py starts with the standard library alone.

With namespaces of Linux, the check sees a copy of the work tree in memory at the tree's own path, the files
of the system read-only, empty folders in place of all others, no process but its own, and no network but its
own loopback. When the first process of the namespace ends, all others are killed.
Without namespaces, the copy is in a temporary folder, and only the limits of a process hold.

argv[1] is the plan, as JSON; the archive of the files comes on standard input; what happened is written to
the plan's `status`, as one line of JSON.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NEWNS, NEWUTS, NEWIPC, NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000
NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MOUNT_SETATTR, RECURSIVE, AT_FDCWD, READ_ONLY = (
    442,
    0x8000,
    -100,
    1,
)  # the same on all architectures
SET_PDEATHSIG, SET_DUMPABLE, NO_NEW_PRIVS = 1, 4, 38
SET_FLAGS, UP = 0x8914, 1
LOOK_SECONDS = 0.1
NOBODY = 65_534

Plan = dict[str, Any]


class Libc:
    """The calls of the system that Python has no functions for."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)

    def call(self, name: str, *arguments: object) -> None:
        if getattr(self._library, name)(*arguments) < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")

    def mount(self, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        self.call(
            *("mount", source.encode(), os.fsencode(target), kind.encode()),
            *(ctypes.c_ulong(flags), data.encode()),
        )

    def make_read_only(self, path: str) -> None:
        """With everything that is mounted below it; Linux 5.12 and later."""
        attributes = struct.pack("QQQQ", READ_ONLY, 0, 0, 0)
        self.call(
            *("syscall", ctypes.c_long(MOUNT_SETATTR), ctypes.c_int(AT_FDCWD), os.fsencode(path)),
            *(ctypes.c_uint(RECURSIVE), attributes, ctypes.c_size_t(len(attributes))),
        )


def map_user(inside: int, uid: int, gid: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside} {uid} 1"),
        ("gid_map", f"{inside} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123  a file of the kernel
            file.write(text)


def unpack(folder: str) -> None:
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
        # Python has had filters since 3.11.4
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(folder)  # noqa: S202  our own archive  # nosec B202


def limit_process(plan: Plan) -> None:
    for name, value in (
        (resource.RLIMIT_DATA, plan["memory"]),
        (resource.RLIMIT_NPROC, plan["processes"]),
        (resource.RLIMIT_FSIZE, plan["disk"]),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(
            ValueError, OSError
        ):  # where the person's own limit is lower, or there is none
            resource.setrlimit(name, (value, value))


def run(plan: Plan) -> None:
    """Become the command."""
    limit_process(plan)
    if plan["isolated"]:
        os.setsid()  # elsewhere it stays in the group that is killed when its time is up
    os.umask(0o022)
    os.chdir(plan["root"])
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    shell = ["sh", "-c", plan["command"]]
    os.execve("/bin/sh", shell, plan["environment"])  # noqa: S606  it is isolated by now  # nosec B606


def build_view(libc: Libc, plan: Plan, *, as_root: bool) -> None:
    """What the check sees of the file system."""
    libc.mount("none", "/", "", REC | PRIVATE)
    # open before they are hidden
    opened = [(os.open(path, os.O_PATH | os.O_DIRECTORY), path) for path in plan["readable"]]
    libc.make_read_only("/")
    libc.mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    for path in plan["empty"]:
        libc.mount("tmpfs", path, "tmpfs", NOSUID | NODEV, "size=1m,mode=0755")
    for path in plan["hidden"]:
        Path(path).mkdir(parents=True, exist_ok=True)
        libc.mount("tmpfs", path, "tmpfs", NOSUID | NODEV, "size=256m,mode=0777")
    Path(plan["root"]).mkdir(parents=True, exist_ok=True)
    size = plan["disk"]
    libc.mount("tmpfs", plan["root"], "tmpfs", NOSUID | NODEV, f"size={size},mode=0755")
    unpack(plan["root"])
    Path(plan["environment"]["HOME"]).mkdir(parents=True, exist_ok=True)
    if as_root:
        give_away(plan["root"], plan["environment"]["HOME"])
    for descriptor, path in opened:
        Path(path).mkdir(parents=True, exist_ok=True)
        libc.mount(f"/proc/self/fd/{descriptor}", path, "", BIND | REC)
        os.close(descriptor)
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


def run_isolated(plan: Plan) -> None:
    """Root needs no user namespace for this, and gives up its rights before the command: no limit on
    processes would hold for it."""
    libc = Libc()
    uid, gid = os.getuid(), os.getgid()
    kinds = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
    libc.call("unshare", kinds if uid == 0 else kinds | NEWUSER)
    if uid:
        map_user(0, uid, gid)
    first = os.fork()
    if first:
        os.close(plan["status"])
        os.waitpid(first, 0)
        return
    libc.call("prctl", SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    build_view(libc, plan, as_root=uid == 0)
    child = os.fork()
    if child:
        libc.call("prctl", SET_DUMPABLE, 0, 0, 0, 0)  # the command may not look into this process
        report(plan, **watch(plan, child))
        os._exit(0)  # and with this one, every process that is left
    if uid:
        # a namespace of its own, in which it has no rights over the mounts that hide things
        libc.call("unshare", NEWUSER)
        map_user(uid, 0, 0)
    else:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    libc.call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
    run(plan)


def give_away(*folders: str) -> None:
    """The copy belongs to the user that the command runs as."""
    for top in folders:
        os.chown(top, NOBODY, NOBODY)
        for folder, folders_below, files in os.walk(top):
            for name in [*folders_below, *files]:
                os.lchown(Path(folder, name), NOBODY, NOBODY)


def watch(plan: Plan, child: int) -> dict[str, object]:
    """How the command ended. Stops it if all its processes together use too much."""
    while True:
        ended, status = wait_for_any()
        if ended == child:
            return {"exit": os.waitstatus_to_exitcode(status)}
        if ended:
            continue
        count, memory = measure()
        if count > plan["processes"]:
            return {"stopped": "processes"}
        if memory > plan["memory"]:
            return {"stopped": "memory"}
        time.sleep(LOOK_SECONDS)


def wait_for_any() -> tuple[int, int]:
    """As the first process, also those whose own parents have ended."""
    return os.waitpid(-1, os.WNOHANG)


def measure() -> tuple[int, int]:
    """How many processes there are in this namespace, and what they use together, in bytes."""
    count = used = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            count += 1
            with suppress(OSError):  # it has ended
                used += measure_process(f"/proc/{name}")
    return count, used


def measure_process(folder: str) -> int:
    """What it uses, in bytes: its share of what it shares with others, without the files that it maps, which
    the system can read again. All that is resident, if the system does not tell so much."""
    with suppress(OSError), open(f"{folder}/smaps_rollup") as file:  # noqa: PTH123
        fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        if "Pss_Anon" in fields and "Pss_Shmem" in fields:
            parts = (fields["Pss_Anon"], fields["Pss_Shmem"])
            return sum(int(part.split()[0]) for part in parts) * 1024
    with open(f"{folder}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def report(plan: Plan, **what: object) -> None:
    os.write(plan["status"], json.dumps(what).encode() + b"\n")


def main() -> None:
    plan: Plan = json.loads(sys.argv[1])
    os.set_inheritable(plan["status"], False)
    try:
        if plan["isolated"]:
            run_isolated(plan)
        else:
            unpack(plan["root"])
            child = os.fork()
            if not child:
                run(plan)
            _, status = os.waitpid(child, 0)
            report(plan, exit=os.waitstatus_to_exitcode(status))
    except Exception as error:  # noqa: BLE001  the caller is told, whatever it is
        report(plan, failed=f"{type(error).__name__}: {error}")
        os._exit(1)


if __name__ == "__main__":
    main()
