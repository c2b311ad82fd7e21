"""search_files beside ripgrep, over Django's source: the same counts, and how long each takes.

    python -m tests.performance.code_search [--folder FOLDER]

Cold means that nothing of the files is in memory: for ripgrep the tree, for search_files the snapshot, which
is opened anew. How long it takes to make the snapshot is printed as well: that is paid once for a commit.
Ends with 1 if a count differs or search_files takes longer than ripgrep, both cold.
"""

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from idea_explorer.domain.limits import CodeLimits
from tests.fakes.code_repository import CodeBench
from tests.performance.code_sources import DJANGO, Sources

PATTERNS = [
    "QuerySet", "TODO|FIXME", "(?i)todo", r"def \w+_related\b", r"^class \w+\(.*Mixin", r"\bself\.\w+$",
    r"\d{4}-\d{2}-\d{2}", "import (os|sys)$", r"\w+Error\(", r"^\s*@\w+", "[A-Z]{3,}_[A-Z]+", "assert.*Equal",
    r"\s+$", "é|ü|ñ", r"\w{25,}", r"\bcafé\b", "https?://", r"lambda \w+:", r"__\w+__", "no_such_text_at_all",
]  # fmt: skip
ROUNDS = 1


def drop(files: Iterable[Path]) -> None:
    """Let the system forget the content of files."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = call()
    return (time.perf_counter() - began) * 1_000, result


def search(bench: Callable[[], CodeBench], pattern: str) -> Any:
    return bench().call("search_files", pattern=pattern)


def median(times: list[float]) -> float:
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("artifacts/code-benchmark"))
    sources = Sources(parser.parse_args().folder)
    root = sources.from_python(DJANGO)
    ripgrep = sources.program("ripgrep") / "usr/bin/rg"
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    good = True
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        limits = CodeLimits(max_counted=1_000_000)
        first = CodeBench(cache, limits).over_folder(root)
        taken, _ = timed(lambda: first.workspace.tree)
        print(f"{len(files):,} files; the snapshot takes {taken / 1_000:.1f} s, once for a commit")
        # what is mapped into memory cannot be forgotten, so the cold one is a copy
        (pack,) = (cache / "snapshots").glob("*.pack")
        cold = Path(shutil.copy(pack, cache / "cold.pack"))
        os.sync()

        def grep(pattern: str) -> int:
            options = ["--no-config", "--no-ignore", "--hidden", "--max-filesize=1M", "--count"]
            options.append("--glob=!.git")
            ran = subprocess.run(
                [ripgrep, *options, "--no-filename", "-e", pattern, str(root)],
                capture_output=True,
                text=True,
                check=False,
            )
            return sum(map(int, ran.stdout.split()))

        def reopened() -> CodeBench:
            return CodeBench(cache, limits).over_pack(cold)

        print(
            f"{'':24}{'lines':>9}{'ours':>9}  {'ripgrep cold':>14}{'ours cold':>11}{'warm':>9}{'ours':>9}"
        )
        totals = [0.0, 0.0, 0.0, 0.0]
        for pattern in PATTERNS:
            times: list[list[float]] = [[], [], [], []]
            counts = (0, 0)
            for _ in range(ROUNDS):
                drop(files)
                times[0].append(timed(partial(grep, pattern))[0])
                gc.collect()
                drop([cold])
                times[1].append(timed(partial(search, reopened, pattern))[0])
                warm, lines = timed(partial(grep, pattern))
                ours, answer = timed(partial(search, lambda: first, pattern))
                times[2].append(warm)
                times[3].append(ours)
                counts = (lines, answer["totalMatches"])
            middles = [median(one) for one in times]
            totals = [total + one for total, one in zip(totals, middles, strict=True)]
            equal = counts[0] == counts[1]
            good &= equal
            row = f"{pattern:24}{counts[0]:>9,}{counts[1]:>9,}{'  ' if equal else ' !'}"
            print(
                row
                + f"{middles[0]:>11.0f} ms{middles[1]:>8.0f} ms{middles[2]:>6.0f} ms{middles[3]:>6.0f} ms",
                flush=True,
            )
        print(
            f"{'all':44}"
            + f"{totals[0]:>11.0f} ms{totals[1]:>8.0f} ms{totals[2]:>6.0f} ms{totals[3]:>6.0f} ms"
        )
    return 0 if good and totals[1] <= totals[0] else 1


if __name__ == "__main__":
    sys.exit(main())
