"""The same exploration by our engine and by the loops of others, in turns on one core.

    python -m tests.performance.peers [--peers ai_sdk,c,cs,ours] [--rounds N] [--check]

Each peer gets an environment of its own in artifacts/peers, with the versions in environments.py. In each
round every peer starts, explores one idea after the other, and explores twenty at once; the order is drawn
anew. Only ratios within one run mean something: machines differ, and so does what else they do. `--check`
measures nothing, and shows what each peer asks for instead. Needs Linux, a package index and npm.
"""

import argparse
import os
import platform
import random
import sys
from collections import defaultdict
from datetime import UTC, datetime

from tests.performance.peers.environments import PEERS, MissingProgramError
from tests.performance.peers.measure import (
    AT_ONCE,
    COLD,
    WARM,
    Server,
    WrongWorkError,
    run_peer,
)
from tests.performance.peers.report import render_goals, render_table
from tests.performance.peers.script import READS

# a start is short and its time varies most
MODES = (COLD, COLD, COLD, WARM, AT_ONCE)


def main() -> int:
    arguments = _parse()
    names = arguments.peers.split(",") if arguments.peers else list(PEERS)
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        print(f"Unknown peer: {', '.join(unknown)}. There are: {', '.join(PEERS)}.")
        return 2
    if not hasattr(os, "sched_setaffinity"):
        print("This needs Linux: peers are tied to one core, and their memory is read in /proc.")
        return 2
    try:
        for name in names:
            PEERS[name].install()
        with Server() as server:
            if arguments.check:
                return check(names, server)
            measure(names, arguments.rounds, server)
    except (MissingProgramError, WrongWorkError) as error:
        print(error)
        return 1
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help=f"by comma, of: {', '.join(PEERS)}; all if not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="show what each peer asks for")
    return parser.parse_args()


def check(names: list[str], server: Server) -> int:
    """Whether each of them does all of the work. Not every loop resumes an answer that paused."""
    head = ("peer", "scenario", "requests", "reads", "streamed", "tools answered", "errors told")
    print(f"| {' | '.join(head)} | server blocks sent back | cache marks | |")
    print("|---" * (len(head) + 3) + "|")
    complete = True
    for scenario in READS:
        for name in names:
            try:
                run_peer(PEERS[name], COLD, server, scenario=scenario, strict=True)
                verdict = "the same work"
            except WrongWorkError as error:
                verdict = str(error)
                complete &= scenario != "common"
            counts = server.counts()
            last = counts["requests"][-1] if counts["requests"] else {}
            seen = [last.get(key) for key in ("all_answered", "errors", "server_blocks")]
            cells = [counts["messages"], counts["reads"], counts["streams"], *seen]
            row = [PEERS[name].label, scenario, *cells, last.get("cache_marks"), verdict]
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    return 0 if complete else 1


def measure(names: list[str], rounds: int, server: Server) -> None:
    results: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in names}
    for name in names:  # once for nothing: bytecode is compiled and files are in memory afterwards
        run_peer(PEERS[name], COLD, server)
    shuffled = random.Random(7)
    for number in range(rounds):
        for mode in MODES:
            for name in shuffled.sample(names, len(names)):
                for figure, value in run_peer(PEERS[name], mode, server).items():
                    results[name][figure].append(value)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    load = os.getloadavg()[0]
    print(f"\n{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores {platform.machine()},", end=" ")
    print(f"Python {platform.python_version()}, {rounds} rounds, load {load:.1f} at the end:\n")
    print(render_table(results))
    print(f"\n{render_goals(results)}")


if __name__ == "__main__":
    sys.exit(main())
