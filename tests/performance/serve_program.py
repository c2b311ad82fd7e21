"""`idea serve` as people start it, for benchmarks: nothing is loaded before, and nothing is shared."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import httpx

TOKEN = "a-token-for-benchmarks"
ROOT = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")


def environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "IDEA_RESEARCH_DIR": str(folder), "IDEA_API_TOKEN": TOKEN, **variables}


class ServeProgram:
    def __init__(self, folder: Path, variables: Mapping[str, str], *, workers: int) -> None:
        (folder / "ideas").mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "idea_explorer", "serve", "--port=0", f"--workers={workers}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env=environment(folder, variables),
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().rpartition("=")[2].strip()
        assert self.url, "idea serve did not start"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def cpu_seconds(self) -> tuple[float, float]:
        """Of the server, and of the processes that explore."""
        own = self._process.pid
        children = [
            int(pid)
            for file in Path(f"/proc/{own}/task").glob("*/children")
            for pid in file.read_text("ascii").split()
        ]
        return _cpu_seconds(own), sum(map(_cpu_seconds, children))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
