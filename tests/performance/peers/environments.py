"""The peers, with the versions that they are compared in, and an environment for each."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.harness.template import template

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENTS = ROOT / "artifacts" / "peers"
LOCK = ROOT / "requirements.lock"
RUNNERS = "tests.performance.peers.runners"
SDK = "anthropic==2.8.0"


class MissingProgramError(Exception):
    pass


@dataclass(frozen=True)
class Peer:
    """`packages` are of PyPI, or of npm where the runner is a script of Node. Ours has none: it is the
    project itself, with the packages of its lock and none of those that develop it."""

    label: str
    runner: str
    environment: str
    packages: tuple[str, ...] = ()

    @property
    def runs_on_node(self) -> bool:
        return self.runner.endswith(".mjs")

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.environment

    @property
    def command(self) -> list[str]:
        if self.runs_on_node:
            return [_find("node"), str(Path(__file__).parent / "runners" / self.runner)]
        return [str(self.folder / "bin" / "python"), "-m", self.runner]

    @property
    def variables(self) -> dict[str, str]:
        """Compiled bytecode is kept, as in a deployment. Ours gets the variables of its functions."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH"}
        }
        given = template()["Globals"]["Function"]["Environment"]["Variables"]
        own = {name: value for name, value in given.items() if isinstance(value, str)}
        return {**kept, "PEER_PACKAGES": str(self.folder), **({} if self.packages else own)}

    def install(self) -> None:
        """Does nothing if these versions are there already."""
        note = ENVIRONMENTS / f"{self.environment}.txt"
        wanted = "\n".join(self.packages) + "\n" if self.packages else LOCK.read_text("utf-8")
        if note.exists() and note.read_text("utf-8") == wanted:
            return
        print(f"Installing {', '.join(self.packages) or LOCK.name}", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.runs_on_node:
            command = [_find("npm"), "install", "--no-audit", "--no-fund", "--save-exact"]
            _run([*command, "--prefix", str(self.folder), *self.packages])
        else:
            _run([sys.executable, "-m", "venv", "--clear", str(self.folder)])
            programs = self.folder / "bin"
            pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
            if self.packages:
                _run([*pip, "--disable-pip-version-check", *self.packages])
            else:
                _run([str(ROOT / "scripts" / "install"), str(programs), str(LOCK), "."])
        note.write_text(wanted, "utf-8")


PEERS = {
    "ai_sdk": Peer(
        "Vercel AI SDK 6",
        "ai_sdk.mjs",
        "ai-sdk",
        ("ai@6.0.326", "@ai-sdk/anthropic@3.0.138", "zod@4.6.7"),
    ),
    "c": Peer("loop on anthropic's SDK (c)", f"{RUNNERS}.sdk", "sdk", (SDK,)),
    "cs": Peer("the same, streamed (cs)", f"{RUNNERS}.sdk_stream", "sdk", (SDK,)),
    "raw": Peer("loop on httpx, streamed", f"{RUNNERS}.raw_stream", "raw", ("httpx==0.28.1",)),
    "pydantic_ai": Peer(
        "pydantic-ai",
        f"{RUNNERS}.pydantic_ai_agent",
        "pydantic-ai",
        ("pydantic-ai-slim[anthropic]==2.66.0", SDK),
    ),
    "langchain": Peer(
        "langchain",
        f"{RUNNERS}.langchain_agent",
        "langchain",
        ("langchain==1.4.7", "langchain-anthropic==1.7.7", "langgraph==1.2.20", SDK),
    ),
    "strands": Peer(
        "strands, streamed",
        f"{RUNNERS}.strands_agent",
        "strands",
        ("strands-agents[anthropic]==1.62.0",),  # needs an SDK below 1.0, and chooses it
    ),
    "ours": Peer("**Idea Explorer**, streamed", "tests.performance.peer_runner", "ours"),
}


def _find(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise MissingProgramError(
            f"{program} is not on the PATH. Install Node 20 or later, or leave ai_sdk out of PEERS."
        )
    return found


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
