"""What a hostile check can do to the machine: nothing. It sees a copy, and is stopped in time.

Needs Linux with user namespaces, as the checks do.
"""

import io
import json
import os
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.checks import sandbox
from idea_explorer.adapters.checks.sandbox import (
    MAX_TAIL_BYTES,
    Ended,
    SandboxLimits,
    can_isolate,
    run_in_sandbox,
)

needs_namespaces = pytest.mark.skipif(not can_isolate(), reason="no user namespaces here")
PYTHON = "/usr/bin/python3"
LIMITS = SandboxLimits(seconds=20.0, memory_bytes=512 * 1_048_576)


def pack(files: dict[str, str]) -> io.BufferedRandom:
    archive = os.fdopen(os.memfd_create("archive"), "w+b")
    with tarfile.open(fileobj=archive, mode="w") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755
            packed.addfile(member, io.BytesIO(content.encode()))
    return archive


class Box:
    """A work tree with files that the check finds a copy of."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {"a.txt": "hello\n"}

    def run(
        self,
        command: str,
        limits: SandboxLimits = LIMITS,
        used: tuple[str, ...] = (),
        *,
        isolated: bool = True,
    ) -> Ended:
        with pack(self.files) as archive:
            return run_in_sandbox(command, self.root, archive, used, limits, isolated=isolated)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("the original\n")
    yield Box(root)
    assert (root / "a.txt").read_text() == "the original\n"


@needs_namespaces
def test_a_command_finds_the_copy_at_the_place_of_the_original(box: Box) -> None:
    ended = box.run("pwd; cat a.txt; echo changed > a.txt; cat a.txt; exit 3")

    assert ended.exit_code == 3
    assert ended.tail.decode().splitlines() == [str(box.root), "hello", "changed"]


@needs_namespaces
def test_nothing_of_the_persons_environment_and_home_is_there(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-person")
    names = ", ".join(path.name for path in Path.home().iterdir())
    ended = box.run(f"env; echo home: $(ls -A {Path.home()}); id -u")

    *environment, home, user = ended.tail.decode().splitlines()
    assert "key-of-the-person" not in "".join(environment)
    assert {line.partition("=")[0] for line in environment} <= {
        *("PATH", "HOME", "TMPDIR", "LANG", "TERM", "CI", "PWD"),
    }
    assert home == "home:", names
    assert user != "0"


@needs_namespaces
def test_of_the_machine_only_the_folders_of_the_system_are_there(box: Box) -> None:
    ended = box.run(
        'for d in /*; do test -d "$d" -a ! -L "$d" && test "$(find "$d" -maxdepth 3 -type f 2>&1 |'
        ' head -1)" && echo "$d"; done; echo x > /var/tmp/x && cat /var/tmp/x'
    )

    *filled, written = ended.tail.decode().splitlines()
    copy = f"/{box.root.parts[1]}"
    system = {"/usr", "/bin", "/sbin", "/etc", "/dev", "/proc", "/sys", "/nix", "/gnu", copy}
    assert {path for path in filled if not path.startswith("/lib")} <= system
    assert written == "x"


@needs_namespaces
def test_a_person_opens_a_folder_of_another_place(box: Box) -> None:
    closed = box.run("ls /var/lib")
    opened = box.run("ls /var/lib", replace(LIMITS, readable=("/var/lib",)))

    assert (closed.exit_code == 0, opened.exit_code) == (False, 0)


@needs_namespaces
def test_nothing_is_written_outside_the_copy(box: Box, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    targets = [str(outside / "x"), "/etc/x", "/usr/x", "/var/lib/x", "/x"]
    ended = box.run("; ".join(f"echo x > {target}" for target in targets))

    assert ended.exit_code != 0
    assert not any(Path(target).exists() for target in targets)


@needs_namespaces
def test_the_way_out_of_the_read_only_view_is_closed(box: Box, tmp_path: Path) -> None:
    ended = box.run(
        "mount -o remount,rw,bind / ; umount /tmp; unshare -Urm sh -c 'mount -o remount,rw,bind /';"
        " echo x > /etc/idea-was-here; echo x > /proc/1/oom_score_adj; cat /proc/1/environ; kill -9 1;"
        " test -e /etc/idea-was-here && echo ESCAPED; true"
    )

    assert ended.exit_code == 0
    assert b"ESCAPED" not in ended.tail
    assert not Path("/etc/idea-was-here").exists()


@needs_namespaces
def test_there_is_no_network_but_a_loopback_of_its_own(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        box.files["net.py"] = (
            "import socket, threading\n"
            "own = socket.create_server(('127.0.0.1', 0))\n"
            "socket.create_connection(own.getsockname(), 2)\n"
            "print('own loopback')\n"
            f"for address in [('127.0.0.1', {port}), ('1.1.1.1', 80)]:\n"
            "    try:\n"
            "        socket.create_connection(address, 2)\n"
            "        print('REACHED', address)\n"
            "    except OSError as error:\n"
            "        print('closed')\n"
        )
        ended = box.run("python3 net.py")

    assert ended.tail.decode().split("\n")[:3] == ["own loopback", "closed", "closed"]


@needs_namespaces
def test_no_other_process_is_seen(box: Box) -> None:
    ended = box.run("ls /proc | grep -c '^[0-9]'")

    assert int(ended.tail) < 10


@needs_namespaces
def test_a_listener_in_the_background_ends_with_the_command(box: Box) -> None:
    box.files["listen.py"] = (
        "import os, socket, time\n"
        "if os.fork(): raise SystemExit\n"
        "os.setsid()\n"
        "s = socket.create_server(('127.0.0.1', 7777))\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    ended = box.run("python3 listen.py; setsid sleep 600 & echo started")

    assert ended.exit_code == 0
    assert time.monotonic() - began < 10


@needs_namespaces
def test_what_sleeps_for_ever_is_stopped_in_time(box: Box) -> None:
    began = time.monotonic()
    for seconds in (0.7, 5.0, 50.0):  # a busy machine may need more to begin at all
        ended = box.run("echo begun; trap '' TERM; sleep 600", replace(LIMITS, seconds=seconds))
        assert (ended.exit_code, ended.reason) == (None, "its time was up")
        if ended.tail:
            break

    assert ended.tail == b"begun\n"
    assert time.monotonic() - began < 600


@pytest.mark.slow
@needs_namespaces
def test_what_prints_without_end_is_stopped_and_its_tail_is_kept(box: Box) -> None:
    ended = box.run("yes 0123456789abcdef | head -c 1000000000")

    assert ended.exit_code is None
    assert ended.reason == "it printed more than 67,108,864 bytes"
    assert len(ended.tail) == MAX_TAIL_BYTES
    assert ended.printed < 70_000_000


@pytest.mark.slow
@needs_namespaces
def test_what_forks_is_stopped(box: Box) -> None:
    box.files["fork.py"] = (
        "import os, time\n"
        "for number in range(200):\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(600)\n"
        "    except OSError:\n"
        "        print('no more at', number, flush=True)\n"
        "        break\n"
        "time.sleep(600)\n"
    )
    ended = box.run("python3 fork.py", replace(LIMITS, processes=40, seconds=10.0))

    refused = ended.reason == "its time was up" and b"no more at" in ended.tail
    assert refused or ended.reason == "it had too many processes"


@pytest.mark.slow
@needs_namespaces
def test_memory_that_processes_share_counts_once(box: Box) -> None:
    box.files["share.py"] = (
        "import mmap, os, sys, time\n"
        "size = int(sys.argv[1]) * 1_048_576\n"
        "shared = mmap.mmap(-1, size)\n"
        "for at in range(0, size, 4096):\n"
        "    shared[at] = 1\n"
        "for _ in range(3):\n"
        "    if not os.fork():\n"
        "        sum(shared[at] for at in range(0, size, 4096))\n"
        "        break\n"
        "time.sleep(2)\n"
    )
    small = replace(LIMITS, memory_bytes=100 * 1_048_576)

    much = box.run(f"{PYTHON} share.py 400", small)
    little = box.run(f"{PYTHON} share.py 50; sleep 1", small)

    assert much.reason == "it used too much memory"
    assert (little.exit_code, little.reason) == (0, "")


@pytest.mark.slow
@needs_namespaces
def test_what_takes_memory_is_stopped(box: Box) -> None:
    small = replace(LIMITS, memory_bytes=128 * 1_048_576)
    box.files["one.py"] = "x = bytearray(300_000_000)\nprint('GOT IT')\n"
    box.files["many.py"] = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(60_000_000)\n"
        "        time.sleep(600)\n"
        "time.sleep(600)\n"
    )

    one, many = box.run("python3 one.py", small), box.run("python3 many.py", small)

    assert one.exit_code == 1
    assert b"MemoryError" in one.tail
    assert many.reason == "it used too much memory"


@pytest.mark.slow
@needs_namespaces
def test_what_fills_the_disk_finds_it_full(box: Box) -> None:
    small = replace(LIMITS, disk_bytes=20_000_000)
    ended = box.run(
        "for n in 1 2 3 4 5; do head -c 9000000 /dev/zero > $n || echo full; done", small
    )

    assert b"full" in ended.tail


@needs_namespaces
def test_folders_that_the_check_uses_are_there_to_read(box: Box, tmp_path: Path) -> None:
    tools = box.root / ".venv"
    tools.mkdir()
    (tools / "tool").write_text("a tool\n")
    more = tmp_path / "more"
    more.mkdir()
    (more / "lib").write_text("a library\n")
    limits = replace(LIMITS, readable=(str(more),))
    ended = box.run(f"cat .venv/tool {more}/lib; echo x > .venv/tool", limits, (str(tools),))

    assert ended.tail.startswith(b"a tool\na library\n")
    assert ended.exit_code != 0
    assert (tools / "tool").read_text() == "a tool\n"


@pytest.mark.slow
def test_without_namespaces_the_limits_of_a_process_still_hold(box: Box) -> None:
    ended = box.run(
        "cat a.txt; echo $HOME; echo $$; sleep 600", replace(LIMITS, seconds=1.0), isolated=False
    )

    text, home, process = ended.tail.decode().splitlines()
    assert text == "hello"
    assert ended.reason == "its time was up"
    assert home != str(Path.home())
    assert not Path(home).exists()
    deadline = time.monotonic() + 60
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(process)


def is_alive(process: str) -> bool:
    """A process that has ended may not have been waited for yet."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_without_namespaces_what_is_left_running_does_not_hold_the_result(box: Box) -> None:
    began = time.monotonic()
    ended = box.run("sleep 30 & echo done; exit 4", isolated=False)

    assert (ended.exit_code, ended.tail) == (4, b"done\n")
    assert time.monotonic() - began < 10


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="every other test runs as an ordinary user here")
@pytest.mark.skipif(not Path(PYTHON).exists(), reason="no Python that every user may run")
def test_an_ordinary_user_is_isolated_by_a_user_namespace() -> None:
    """Root does without; this is what people have."""
    plan = {
        "command": "id -u; cat a.txt; echo x > /etc/x; mount -o remount,rw,bind / ; exit 5",
        "isolated": True,
        "memory": LIMITS.memory_bytes,
        "processes": 64,
        "disk": 10_000_000,
        "root": "/tmp",
        "hidden": ["/tmp"],
        "readable": [],
        "empty": [],
        "environment": {"PATH": os.environ["PATH"], "HOME": "/tmp/home"},
        "status": 2,
    }
    launcher = Path(sandbox.__file__).with_name("launcher.py").read_text()
    with pack({"a.txt": "hello\n"}) as archive:
        archive.seek(0)
        done = subprocess.run(
            [PYTHON, "-I", "-S", "-c", launcher, json.dumps(plan)],
            stdin=archive,
            capture_output=True,
            user=1000,
            group=1000,
            extra_groups=[],
            cwd="/",
            check=False,
        )

    assert done.stdout == b"1000\nhello\n"
    assert done.stderr.splitlines()[-1] == b'{"exit": 5}'
    assert not Path("/etc/x").exists()


@needs_namespaces
def test_a_trial_that_ran_out_of_time_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._try_isolation.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(sandbox, "is_abandoned", lambda: True)
        patched.setattr(sandbox, "_LOOK_SECONDS", 0.0)
        assert not can_isolate()

    assert can_isolate()
