"""`idea serve` as a program of its own, to be called, killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

TOKEN = "a-token-for-tests"


class Served:
    """The API and its workers on a free port, over a folder of research."""

    def __init__(
        self, folder: Path, env: Mapping[str, str] | None = None, *, keep_port: bool = False
    ) -> None:
        """`keep_port`: started again, it is where it was before."""
        self._keep_port = keep_port
        (folder / "ideas").mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME"} or k.startswith("COV")}
        self.env = {
            **kept,
            "IDEA_RESEARCH_DIR": str(folder),
            "IDEA_API_TOKEN": TOKEN,
            "IDEA_MIN_DEADLINE_SECONDS": "1",
            "IDEA_EVENTS_WAIT_SECONDS": "2",
            **(env or {}),
        }
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        port = self.url.rpartition(":")[2] if self._keep_port and self.url else "0"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "idea_explorer", "serve", "--port", port],
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().rpartition(" ")[2].strip()
        assert self.url.startswith("http://127.0.0.1:"), "it did not start"
        return self

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process and waits for it; gives its exit code."""
        assert self._process is not None
        self._process.send_signal(with_signal)
        code = self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return code

    def client(self, token: str = TOKEN) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.end()
