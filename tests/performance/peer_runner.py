"""Our engine as a runner of the benchmark against other loops, with all that production has switched on.

    python -m tests.performance.peer_runner --base URL --mode cold|warm|conc [--scenario common|full]
        [--warmup N] [--count N] [--rounds N] [--width N]

It says on stdout, in one line of JSON, when it was ready, when its first exploration was done, and the CPU
time and memory of the rest: the protocol of the other runners. The journal, events, the record and the report
go to SQLite, log lines to stderr, metrics to stdout. Nothing is published: no other loop does that.
"""

import atexit
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

MODEL = "claude-sonnet-4-5"
IDEA = "Exploration {}: summarise what research/ says about canopy density."
LENGTH = 6_144  # characters of the last answer
TOTALS = {"common": (126_000, 2_080), "full": (126_000, 2_050)}  # tokens in and out


def prepare(base: str, totals: tuple[int, int]) -> Callable[[str], None]:
    """What explores one idea and checks that the work was the same as everybody's."""
    folder = tempfile.mkdtemp(prefix="idea-peers-")
    atexit.register(shutil.rmtree, folder, True)
    os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "IdeaExplorer")
    os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "idea-explorer")
    from idea_explorer.domain.request import ExploreRequest
    from idea_explorer.observability.metrics import MetricSink
    from idea_explorer.settings import Settings
    from idea_explorer.usecases.explore import explore
    from idea_explorer.usecases.submit import submit
    from idea_explorer.wiring import local
    from idea_explorer.wiring.deps import local_deps

    prices = {"input": 2, "output": 10, "cache_write": 2.5, "cache_read": 0.2}
    settings = Settings.from_environment(
        {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": base,
            "GITHUB_TOKEN": "t",
            "GITHUB_REPOSITORY": "acme/lab",
            "GITHUB_BRANCH": "main",
            "GITHUB_API_URL": base,
            "IDEA_MODELS": json.dumps({"sonnet": MODEL}),
            "IDEA_PRICES": json.dumps({MODEL: prices}),
            "IDEA_RESEARCH_DIR": folder,
        }
    )
    from dataclasses import replace

    made = local_deps(settings, local.cli_log(sys.stderr))
    # the scripted answer has no headings of ours, and would be asked for again
    engine = replace(made.engine(), framework_for=lambda *_: None)
    deps = replace(
        made,
        engine=lambda: engine,
        sinks_for=lambda e: [*made.sinks_for(e), MetricSink(e, made.clock)],
    )

    def run(name: str) -> None:
        request = ExploreRequest(idea=IDEA.format(name), deadline_seconds=840)
        asked = submit(request, local.LOCAL_OWNER, deps, by_command=True)
        ended = explore(asked.id, asked.run.number, deps)
        stats = ended.run.stats
        done = (ended.run.outcome, stats.usage.input_tokens, stats.usage.output_tokens, stats.steps)
        assert done == ("completed", *totals, 5), ended.run
        assert len(deps.reports.load_report(ended.id)) >= LENGTH

    return run


class Measurements:
    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def mark(self, name: str) -> None:
        self.values |= {f"{name}_mono": time.monotonic(), f"{name}_cpu": cpu_seconds()}


def cpu_seconds() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def new_name() -> str:
    return f"EXP-{os.urandom(8).hex()}"


def run_at_once(run: Callable[[str], None], width: int, rounds: int) -> list[tuple[float, float]]:
    """Wall and CPU seconds of each round after the first, which warms up."""
    from concurrent.futures import ThreadPoolExecutor

    took = []
    with ThreadPoolExecutor(width) as pool:
        for _ in range(rounds + 1):
            began, used = time.monotonic(), cpu_seconds()
            list(pool.map(run, [new_name() for _ in range(width)]))
            took.append((time.monotonic() - began, cpu_seconds() - used))
    return took[1:]


def main() -> None:
    given = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    found = Measurements()
    run = prepare(given["--base"], TOTALS[given.get("--scenario", "common")])
    found.mark("ready")
    run(new_name())
    found.mark("first")
    found.values["first_hwm_kb"] = peak_kilobytes()
    if given["--mode"] == "warm":
        for _ in range(int(given["--warmup"])):
            run(new_name())
        found.mark("w0")
        for _ in range(int(given["--count"])):
            run(new_name())
        found.mark("w1")
    elif given["--mode"] == "conc":
        found.values["conc"] = run_at_once(run, int(given["--width"]), int(given["--rounds"]))
    found.values |= {"hwm_kb": peak_kilobytes(), "modules": len(sys.modules)}
    print(json.dumps(found.values), flush=True)


if __name__ == "__main__":
    main()
