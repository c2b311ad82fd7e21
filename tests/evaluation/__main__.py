"""`make eval`: run the recordings, print and store the tables, and say what changed.

    python -m tests.evaluation [--only NAME] [--live --cap DOLLARS [--judge haiku]]

Ends with 1 if the mean of a quality fell below its floor.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.evaluation.chart import draw
from tests.evaluation.live import LiveEvaluation
from tests.evaluation.recordings import Recording, load_all
from tests.evaluation.run import run_recorded
from tests.evaluation.tables import (
    Floors,
    compare,
    describe_prompts,
    find_failures,
    load_floors,
    read_stored,
    render,
    summarize,
    write_stored,
)

DOCS = Path(__file__).parents[2] / "docs"
WORKERS = 4  # they wait for one another's servers more than they compute


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", help="only recordings whose name has this in it")
    parser.add_argument("--live", action="store_true", help="ask the real model and a judge")
    parser.add_argument("--cap", type=float, metavar="DOLLARS", help="the most a live run may cost")
    parser.add_argument("--judge", default="haiku", help="the model that scores a live run")
    options = parser.parse_args(arguments)
    recordings = [r for r in load_all() if not options.only or options.only in r.name]
    if not recordings:
        parser.error(f"no recording has '{options.only}' in its name")
    if options.live:
        if options.cap is None or options.cap <= 0:
            parser.error("--live spends money: say how much it may spend with --cap DOLLARS")
        return LiveEvaluation.from_environment(options.judge, options.cap).run(recordings, docs)
    return evaluate(recordings, None if options.only else docs, load_floors())


def evaluate(recordings: Sequence[Recording], docs: Path | None, floors: Floors) -> int:
    """Run, score and compare. With `docs`, the tables there are compared with and replaced."""
    began = time.monotonic()
    with ThreadPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(run_recorded, recordings))
    scores = [run.score for run in runs]
    tables = render(scores, describe_prompts(recordings, runs))
    print(tables)
    print(f"\n{len(runs)} items in {time.monotonic() - began:.0f} s")
    if docs is None:
        return 0
    page = docs / "evaluation.md"
    changed = compare(read_stored(page), tables)
    print(f"\nChanged since the stored tables:\n{changed}" if changed else "\nNothing changed.")
    write_stored(page, tables)
    (docs / "images" / "evaluation.svg").write_text(draw(scores, "Recorded reports"), "utf-8")
    failures = find_failures(summarize(scores), floors)
    print("\n".join(f"FAILED: {failure}" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
