"""Runs a peer against the scripted server, and checks that it did the same work as the others."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

from tests.performance.peers.environments import ROOT, Peer
from tests.performance.peers.script import ANSWERS, READS

WARMUP, COUNT = 20, 30  # explorations one after the other
WIDTH, ROUNDS = 20, 4  # explorations at once
SLOW = {"model_ms": 50, "github_ms": 20}  # while many run at once, as services answer at their best
TIMEOUT_SECONDS = 600


class WrongWorkError(Exception):
    """A peer failed, or asked for something else than the others did."""


@dataclass(frozen=True)
class Mode:
    name: str
    explorations: int
    options: Mapping[str, int]
    server: Mapping[str, int]


COLD = Mode("cold", 1, {}, {})
WARM = Mode("warm", 1 + WARMUP + COUNT, {"warmup": WARMUP, "count": COUNT}, {})
AT_ONCE = Mode("conc", 1 + (ROUNDS + 1) * WIDTH, {"width": WIDTH, "rounds": ROUNDS}, SLOW)


class Server:
    """Claude and GitHub in a process of their own, on the last core; this process and the peers that it
    starts stay on the first, as a function of Lambda that has one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.performance.peers.server"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        port = json.loads(self._process.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{port}"
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(self._process.pid, {cores[-1]})
        os.sched_setaffinity(0, {cores[0]})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def configure(self, **options: object) -> None:
        self._call("/__configure", options)

    def counts(self) -> dict[str, Any]:
        return self._call("/__counts")

    def _call(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data)) as response:
            found: dict[str, Any] = json.loads(response.read())
            return found


def run_peer(
    peer: Peer, mode: Mode, server: Server, *, scenario: str = "common", strict: bool = False
) -> dict[str, float]:
    """The figures of one run; raises WrongWorkError."""
    server.configure(scenario=scenario, strict=strict, **mode.server)
    options = {"base": server.url, "mode": mode.name, "scenario": scenario, **mode.options}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    began = time.monotonic()
    ended = subprocess.run(
        [*peer.command, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=peer.variables,
        timeout=TIMEOUT_SECONDS,
    )
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        raise WrongWorkError(f"{peer.label}: {reason}")
    counts = server.counts()
    wanted = (ANSWERS * mode.explorations, READS[scenario] * mode.explorations, 0)
    asked = (counts["messages"], counts["reads"], counts["errors"])
    if asked != wanted:
        raise WrongWorkError(f"{peer.label}: {asked} requests, reads and errors, not {wanted}")
    values = json.loads(ended.stdout.strip().splitlines()[-1])
    return _figures(values, mode, began, counts["message_bytes"] / mode.explorations)


def _figures(
    values: Mapping[str, Any], mode: Mode, began: float, request_bytes: float
) -> dict[str, float]:
    if mode is COLD:
        return {
            "ready": (values["ready_mono"] - began) * 1_000,
            "ready CPU": values["ready_cpu"] * 1_000,
            "first": (values["first_mono"] - began) * 1_000,
        }
    if mode is WARM:
        return {
            "warm CPU": (values["w1_cpu"] - values["w0_cpu"]) / COUNT * 1_000,
            "warm": (values["w1_mono"] - values["w0_mono"]) / COUNT * 1_000,
            "RSS": values["hwm_kb"] / 1_024,
            "sent": request_bytes / 1_000,
        }
    wall, cpu = zip(*values["conc"], strict=True)
    return {"20 at once": median(wall) * 1_000, "20 at once CPU": median(cpu) * 1_000}
