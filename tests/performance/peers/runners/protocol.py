"""What all runners in Python share. It loads as little as possible: its time counts as the peer's.

A runner passes `run` a function that prepares a client for a base URL and returns what explores one idea. It
is started with `--base URL --mode cold|warm|conc [--scenario common|pause]` and prints one line of JSON:

    cold    when it was ready, and when its first exploration was done
    warm    also the CPU time of `--count` explorations, one after the other, after `--warmup` others
    conc    also the time of `--rounds` rounds of `--width` explorations at once, after one such round
"""

import sys
import time
from collections.abc import Awaitable, Callable
from resource import RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

MODEL = "claude-sonnet-4-5"
MAX_TOKENS = 8_192
MAX_STEPS = 5
SYSTEM = (
    "You are a careful research assistant. Read the files, search the web when needed, and answer in"
    " markdown with sources. "
) * 100  # about 3,000 tokens
READ_DESCRIPTION = "Read one research file from the repository and return its text."
READ_TOOL: dict[str, Any] = {
    "name": "read_research",
    "description": READ_DESCRIPTION,
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
}
WEB_SEARCH: dict[str, Any] = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
TOOLS = [WEB_SEARCH, READ_TOOL]
CONTENTS = "/repos/acme/lab/contents/"
INVALID_PATH = "invalid argument: path must be a string"
REPORT_LENGTH = 6_144
TOTALS = {"common": (126_000, 2_080), "pause": (126_000, 2_050)}  # tokens in and out


class Explored(NamedTuple):
    text: str
    tokens_in: int
    tokens_out: int
    steps: int


Explore = Callable[[str], Explored]
AsyncExplore = Callable[[str], Awaitable[Explored]]


def prompt(name: str) -> str:
    return f"Exploration {name}: summarise what research/ says about canopy density."


def new_name() -> str:
    import os

    return f"EXP-{os.urandom(8).hex()}"


def cpu_seconds() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_kilobytes() -> int:
    with open("/proc/self/status") as status:  # noqa: PTH123  pathlib takes time to load
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class _Run:
    def __init__(self) -> None:
        given = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
        self.base, self.mode = given["--base"], given["--mode"]
        self.warmup, self.count = int(given.get("--warmup", 0)), int(given.get("--count", 0))
        self.rounds, self.width = int(given.get("--rounds", 0)), int(given.get("--width", 0))
        self._scenario = given.get("--scenario", "common")
        self.values: dict[str, Any] = {}

    def mark(self, name: str) -> None:
        self.values |= {f"{name}_mono": time.monotonic(), f"{name}_cpu": cpu_seconds()}
        if name == "first":
            self.values["first_hwm_kb"] = peak_kilobytes()

    def check(self, explored: Explored) -> None:
        """Some loops resume a paused answer within one step, so only the others count five."""
        assert len(explored.text) == REPORT_LENGTH, len(explored.text)
        assert explored[1:3] == TOTALS[self._scenario], explored[1:]
        assert explored.steps == MAX_STEPS or self._scenario == "pause", explored.steps

    def print(self) -> None:
        import json

        self.values |= {"hwm_kb": peak_kilobytes(), "modules": len(sys.modules)}
        sys.stdout.write(json.dumps(self.values) + "\n")
        sys.stdout.flush()


def run(prepare: Callable[[str], Explore]) -> None:
    measured = _Run()
    explore = prepare(measured.base)

    def one_after_the_other(count: int) -> None:
        for _ in range(count):
            measured.check(explore(new_name()))

    measured.mark("ready")
    one_after_the_other(1)
    measured.mark("first")
    if measured.mode == "warm":
        one_after_the_other(measured.warmup)
        measured.mark("w0")
        one_after_the_other(measured.count)
        measured.mark("w1")
    elif measured.mode == "conc":
        from concurrent.futures import ThreadPoolExecutor

        took = []
        with ThreadPoolExecutor(measured.width) as pool:
            for _ in range(measured.rounds + 1):
                began, used = time.monotonic(), cpu_seconds()
                for explored in pool.map(explore, [new_name() for _ in range(measured.width)]):
                    measured.check(explored)
                took.append((time.monotonic() - began, cpu_seconds() - used))
        measured.values["conc"] = took[1:]
    measured.print()


def run_async(prepare: Callable[[str], AsyncExplore]) -> None:
    import asyncio

    asyncio.run(_run_async(prepare))


async def _run_async(prepare: Callable[[str], AsyncExplore]) -> None:
    import asyncio

    measured = _Run()
    explore = prepare(measured.base)

    async def one_after_the_other(count: int) -> None:
        for _ in range(count):
            measured.check(await explore(new_name()))

    measured.mark("ready")
    await one_after_the_other(1)
    measured.mark("first")
    if measured.mode == "warm":
        await one_after_the_other(measured.warmup)
        measured.mark("w0")
        await one_after_the_other(measured.count)
        measured.mark("w1")
    elif measured.mode == "conc":
        took = []
        for _ in range(measured.rounds + 1):
            began, used = time.monotonic(), cpu_seconds()
            names = [new_name() for _ in range(measured.width)]
            for explored in await asyncio.gather(*map(explore, names)):
                measured.check(explored)
            took.append((time.monotonic() - began, cpu_seconds() - used))
        measured.values["conc"] = took[1:]
    measured.print()
