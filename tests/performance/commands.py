"""The CPU time of commands as people and scripts run them.

    python -m tests.performance.commands [--times N]

`idea --help`, an exploration without a key from start to end, and documents that a program reads one by
one through `idea tool --stdin`. The best of several times: other programs can only make it longer.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.performance.serve_program import ROOT, environment

MAX_EXPLORE_SECONDS = 0.35
MAX_HELP_SECONDS = 0.06  # more than an interpreter that does nothing
MIN_DOCUMENTS_PER_SECOND = 2_000
DOCUMENTS, CALLS = 200, 2_000
DOCUMENT = (
    "The committee reviewed the evidence on soil moisture and canopy density.\n" * 140
)  # 10 KB


def cpu_seconds(folder: Path, arguments: list[str], lines: Iterable[str] = ()) -> float:
    return _cpu_seconds(folder, ["-m", "idea_explorer", *arguments], lines)


def _cpu_seconds(folder: Path, arguments: list[str], lines: Iterable[str] = ()) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        input="".join(f"{line}\n" for line in lines).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment(folder, {}),
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def explore(folder: Path) -> float:
    return cpu_seconds(folder, ["explore", "--if-exists", "run", "A box for beekeepers"])


def read_documents(folder: Path) -> float:
    """Documents in a second of CPU time, without the start of the program."""
    paths = [f"notes/{number % DOCUMENTS}.md" for number in range(CALLS)]
    calls = [json.dumps({"name": "read_research", "input": {"path": path}}) for path in paths]
    start = cpu_seconds(folder, ["tool", "--stdin"], calls[:1])
    return (CALLS - 1) / (cpu_seconds(folder, ["tool", "--stdin"], calls) - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = range(parser.parse_args().times)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples" / "ideas", folder / "ideas")
        (folder / "ideas" / "notes").mkdir()
        for number in range(DOCUMENTS):
            (folder / "ideas" / "notes" / f"{number}.md").write_text(f"# {number}\n\n{DOCUMENT}")
        per_second = max(read_documents(folder) for _ in times)
        shutil.rmtree(folder / "ideas" / "notes")
        explored = min(explore(folder) for _ in times)
        bare = min(_cpu_seconds(folder, ["-c", "pass"]) for _ in times)
        helped = min(cpu_seconds(folder, ["--help"]) for _ in times) - bare
    print(
        f"idea --help: {helped * 1_000:.0f} ms of CPU time (at most {MAX_HELP_SECONDS * 1_000:.0f})"
        f" on top of {bare * 1_000:.0f} for an interpreter that does nothing"
    )
    print(
        f"idea explore, offline: {explored * 1_000:.0f} ms of CPU time"
        f" (at most {MAX_EXPLORE_SECONDS * 1_000:.0f})"
    )
    print(
        f"idea tool --stdin: {per_second:,.0f} documents of 10 KB in a second of CPU time"
        f" (at least {MIN_DOCUMENTS_PER_SECOND:,})"
    )
    good = explored <= MAX_EXPLORE_SECONDS and helped <= MAX_HELP_SECONDS
    return 0 if good and per_second >= MIN_DOCUMENTS_PER_SECOND else 1


if __name__ == "__main__":
    sys.exit(main())
