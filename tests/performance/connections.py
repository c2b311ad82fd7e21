"""Idle connections and slow bodies against `idea serve`, while somebody else uses it.

    python -m tests.performance.connections [--idle 2000] [--slow 100] [--seconds 20]

Prints how long the other's requests take before, during and after, and what the server's process costs. Exits
with 1 if a request fails, if the server takes half a core, or if it does not recover.
"""

import argparse
import multiprocessing
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx

from tests.fakes.raw_http import RawConnection
from tests.fakes.served import TOKEN

MAX_CORES = 0.5
PAUSE_SECONDS = 0.02  # between two requests of the well-behaved client
BODY_BYTES = 100_000


@dataclass
class Measured:
    cores: float = 0.0
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        times = sorted(self.seconds)
        p99 = times[int(len(times) * 0.99)]
        return (
            f"{len(times):5} requests  {len(self.failures)} failed  "
            f"p50 {statistics.median(times) * 1_000:5.1f} ms  p99 {p99 * 1_000:6.1f} ms  "
            f"max {times[-1] * 1_000:6.1f} ms  {self.cores:.2f} cores"
        )


@dataclass
class Server:
    process: "subprocess.Popen[str]"
    url: str

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])


@contextmanager
def idea_serve(folder: Path) -> Iterator[Server]:
    (folder / "ideas").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "IDEA_RESEARCH_DIR": str(folder),
        "IDEA_API_TOKEN": TOKEN,
    }
    command = [str(Path(sys.executable).with_name("idea")), "serve", "--port", "0"]
    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().rpartition("=")[2].strip()
        print(f"ready after {time.monotonic() - began:.2f} s")
        yield Server(process, url)
        process.send_signal(signal.SIGINT)
        code = process.wait(10)
        print(f"Ctrl-C ended it with {code}")
        assert code == 0


def use(server: Server, seconds: float) -> Measured:
    """Half of the requests on one connection, half on new ones."""
    measured, spent = Measured(), server.cpu_seconds()
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as lasting:
        while time.monotonic() - began < seconds:
            for client in (
                lasting,
                httpx.Client(base_url=server.url, headers=headers, trust_env=False),
            ):
                asked = time.monotonic()
                try:
                    reply = client.get("/explorations")
                    if reply.status_code != 200:
                        measured.failures.append(str(reply.status_code))
                except httpx.HTTPError as error:
                    measured.failures.append(repr(error))
                measured.seconds.append(time.monotonic() - asked)
                if client is not lasting:
                    client.close()
                time.sleep(PAUSE_SECONDS)
    measured.cores = (server.cpu_seconds() - spent) / (time.monotonic() - began)
    return measured


def attack(url: str, idle: int, slow: int, opened: Event) -> None:
    """Hold connections that say nothing, and send a byte of each slow body a second, until killed."""
    bodies = []
    for _ in range(slow):
        connection = RawConnection(url)
        token, length = f"Authorization: Bearer {TOKEN}", f"Content-Length: {BODY_BYTES}"
        connection.request("POST", "/explorations", token, length, body="{")
        bodies.append(connection)
    held = [RawConnection(url) for _ in range(idle)]
    opened.set()
    while held:
        for connection in bodies:
            with suppress(OSError):
                connection.send("a")
        time.sleep(1)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--idle", type=int, default=2_000)
    parser.add_argument("--slow", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    with tempfile.TemporaryDirectory() as name, idea_serve(Path(name)) as server:
        before = use(server, 5)
        files = server.open_files()
        print(f"alone:   {before}")
        opened = multiprocessing.Event()
        attacker = multiprocessing.Process(
            target=attack, args=(server.url, arguments.idle, arguments.slow, opened)
        )
        attacker.start()
        burst = use(server, 5)  # while the connections are being opened
        assert opened.wait(60)
        print(f"opening: {burst}  {server.open_files()} files open")
        during = use(server, arguments.seconds)
        print(f"during:  {during}  {server.open_files()} files open")
        attacker.kill()
        attacker.join()
        after = use(server, 5)
        left = server.open_files()
        print(f"after:   {after}  {left} files open, {files} before")
    failed = [f for measured in (before, burst, during, after) for f in measured.failures]
    for failure in failed[:10]:
        print(failure)
    is_cheap = max(burst.cores, during.cores) < MAX_CORES
    has_recovered = left <= files + 2 and statistics.median(after.seconds) < 2 * statistics.median(
        before.seconds
    )
    return 0 if not failed and is_cheap and has_recovered else 1


if __name__ == "__main__":
    sys.exit(main())
