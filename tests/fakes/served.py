"""`idea serve` as a program of its own, to be called, killed and started again."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import httpx

from tests.fakes.command import start
from tests.fakes.forked import Program

TOKEN = "a-token-for-tests"


class Served:
    """The API and its workers on a free port, over a folder of research."""

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str] | None = None,
        *,
        keep_port: bool = False,
        waits: bool = True,
        stderr: int = 2,
    ) -> None:
        """`keep_port`: started again, it is where it was before. Unless it `waits`, its pauses between
        attempts are over at once. `stderr` is the file that its messages go to."""
        self._stderr = stderr
        self._keep_port = keep_port
        self._waits = waits
        (folder / "ideas").mkdir(parents=True, exist_ok=True)
        self.env = {
            "IDEA_RESEARCH_DIR": str(folder),
            "IDEA_API_TOKEN": TOKEN,
            "IDEA_MIN_DEADLINE_SECONDS": "1",
            "IDEA_EVENTS_WAIT_SECONDS": "2",
            **(env or {}),
        }
        self.url = ""
        self._process: Program | None = None

    def start(self) -> Self:
        port = self.url.rpartition(":")[2] if self._keep_port and self.url else "0"
        reading, writing = os.pipe()
        command = ["serve", "--port", port]
        self._process = start(command, [0, writing, self._stderr], env=self.env, waits=self._waits)
        os.close(writing)
        self._output = os.fdopen(reading)
        self.url = self._output.readline().rpartition("=")[2].strip()
        assert self.url.startswith("http://127.0.0.1:"), "it did not start"
        return self

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process and waits for it; gives its exit code."""
        assert self._process is not None
        self._process.send_signal(with_signal)
        code = self._process.wait()
        self._output.close()
        self._process = None
        return code

    def workers(self) -> list[int]:
        """The processes in which it explores."""
        assert self._process is not None
        started = Path(f"/proc/{self._process.pid}/task").glob("*/children")  # each by a thread
        return [int(pid) for children in started for pid in children.read_text("ascii").split()]

    def client(self, token: str = TOKEN) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.end()
