"""How many explorations `idea serve` does in a second, and what each costs.

    python -m tests.performance.throughput [--count N] [--workers N] [--rate N] [--documents N]

A real `idea serve`, over a folder of documents, and a model that answers at once. Explorations are submitted
at a fixed rate, about as fast as they are done, so that a submission meets a busy machine; with `--rate 40`
there are always more than the workers can do. Prints explorations per second, the CPU time of each for the
server and its workers, by tenths of the whole, and how long submissions took. Before that, some are done that
are not counted: they load what the processes need, and those that waited meanwhile would be done faster than
any other. Ends with 1 if a limit is missed. The model and the client use the same cores. Needs Linux.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import httpx

from idea_explorer.settings import Settings
from tests.performance.serve_program import ROOT, ServeProgram

MIN_PER_SECOND = 15.0
MAX_SUBMIT_SECONDS = 0.1
# the last tenth may take this much more CPU time than the second
MAX_GROWTH = 1.25
UNCOUNTED = 40
SUBMITTERS = 8
TIMEOUT_SECONDS = 900
PARTS = 10


@dataclass(frozen=True)
class Sample:
    at: float
    done: int
    server_cpu: float
    worker_cpu: float


@contextmanager
def fast_model() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.performance.fast_model"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def write_documents(folder: Path, count: int) -> None:
    """The examples, and as many others as are missing."""
    shutil.copytree(ROOT / "examples" / "ideas", folder / "ideas")
    have = sum(1 for _ in folder.rglob("*.md"))
    for number in range(count - have):
        file = folder / "ideas" / f"2025-01-01-note-{number}" / "research.md"
        file.parent.mkdir()
        words = " ".join(f"word{(number * 31 + place) % 5_000}" for place in range(1_200))
        file.write_text(f"# Note {number}\n\n{words}\n")


def submit_all(served: ServeProgram, numbers: range, rate: float) -> list[float]:
    """How long each submission took. One waits for its turn, not for those before it. The clients are made
    before: each loads certificates, and those who wait for that would all submit at the same moment."""
    clients: SimpleQueue[httpx.Client] = SimpleQueue()
    for _ in range(SUBMITTERS):
        clients.put(served.client())
    began = time.monotonic()

    def submit(number: int) -> float:
        api = clients.get()
        time.sleep(max(0.0, began + (number - numbers[0]) / rate - time.monotonic()))
        sent = time.monotonic()
        api.post(
            "/explorations", json={"idea": f"A box of tools for beekeepers, variant {number}"}
        ).raise_for_status()
        took = time.monotonic() - sent
        clients.put(api)
        return took

    with ThreadPoolExecutor(SUBMITTERS) as pool:
        return sorted(pool.map(submit, numbers))


def count_done(store: Path) -> dict[str, int]:
    """By status; read in the store, which costs the server nothing."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as db:
        return dict(db.execute("SELECT status, count(*) FROM explorations GROUP BY status"))


def watch(served: ServeProgram, store: Path, count: int) -> tuple[list[Sample], dict[str, int]]:
    """A sample at the beginning and each time another tenth is done, and the final statuses."""
    samples: list[Sample] = []
    until = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < until:
        statuses = count_done(store)
        ended = sum(statuses.values()) - statuses.get("queued", 0) - statuses.get("running", 0)
        done = ended - UNCOUNTED
        if done >= len(samples) * count // PARTS:
            samples.append(Sample(time.monotonic(), done, *served.cpu_seconds()))
        if done >= count:
            return samples, statuses
        time.sleep(0.1)
    raise TimeoutError(f"{count_done(store)} after {TIMEOUT_SECONDS} s")


def measure(count: int, workers: int, rate: float, documents: int) -> bool:
    with tempfile.TemporaryDirectory() as name, fast_model() as url:
        folder = Path(name)
        write_documents(folder, documents)
        variables = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
        with ServeProgram(folder, variables, workers=workers) as served:
            store = Settings(research_dir=folder).store
            submit_all(served, range(UNCOUNTED), rate)
            watch(served, store, 0)
            with ThreadPoolExecutor(1) as watching:
                watched = watching.submit(watch, served, store, count)
                took = submit_all(served, range(UNCOUNTED, UNCOUNTED + count), rate)
                samples, statuses = watched.result()
    return report(samples, took, statuses, count, rate)


def report(
    samples: list[Sample], took: list[float], statuses: dict[str, int], count: int, rate: float
) -> bool:
    print(f"{'done':>6} {'per second':>11} {'CPU ms each: server':>20} {'workers':>9} {'all':>7}")
    each, workers = [], []
    for before, after in pairwise(samples):
        done = after.done - before.done
        server, own = (
            (b - a) / done * 1_000
            for a, b in (
                (before.server_cpu, after.server_cpu),
                (before.worker_cpu, after.worker_cpu),
            )
        )
        each.append(server + own)
        workers.append(own)
        per_second = done / (after.at - before.at)
        print(f"{after.done:6} {per_second:11.1f} {server:20.1f} {own:9.1f} {server + own:7.1f}")
    per_second = count / (samples[-1].at - samples[0].at)
    # where all were submitted long before the end, the server has no part in the last tenth
    growth, of_workers = each[-1] / each[1], workers[-1] / workers[1]
    p50, p99 = (took[int(len(took) * share)] for share in (0.5, 0.99))
    load = os.getloadavg()[0]
    print(f"ended: {', '.join(f'{number} {status}' for status, number in statuses.items())}")
    print(f"per second: {per_second:.1f} (at least {MIN_PER_SECOND:.0f})")
    print(
        f"CPU of the last tenth to the second: {growth:.2f}, of the workers {of_workers:.2f}"
        f" (at most {MAX_GROWTH})"
    )
    print(
        f"submit: p50 {p50 * 1_000:.0f} ms, p99 {p99 * 1_000:.0f} ms"
        f" (at most {MAX_SUBMIT_SECONDS * 1_000:.0f} ms)"
    )
    print(f"{os.cpu_count()} cores, load {load:.1f} at the end")
    times = f"{p50 * 1_000:.0f} ms | {p99 * 1_000:.0f} ms"
    print(f"| {rate:g} | {per_second:.1f} | {growth:.2f} | {of_workers:.2f} | {times} |")
    return (
        statuses == {"completed": UNCOUNTED + count}
        and per_second >= MIN_PER_SECOND
        and max(growth, of_workers) <= MAX_GROWTH
        and p99 <= MAX_SUBMIT_SECONDS
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rate", type=float, default=25.0, help="submissions per second")
    parser.add_argument("--documents", type=int, default=6)
    given = parser.parse_args()
    good = measure(given.count, given.workers, given.rate, given.documents)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
