"""How long a word of the model takes until somebody sees it.

    python -m tests.performance.latency [--words N] [--slow-words N]

A model that writes the time into each word, with a word every 20 ms or every 2 s, and those who read it: a
client of the event stream of `idea serve`, and a terminal in which `idea explore` runs. Ends with 1 if one of
them sees words later than the limits. Needs Linux.
"""

import argparse
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.performance.serve_program import ServeProgram, environment

P50_SECONDS, P99_SECONDS = 0.06, 0.2
FAST_SECONDS, SLOW_SECONDS = 0.02, 2.0
WORDS_PER_LINE = 12
COLUMNS, LINES = 150, 50
IDEA = "What do bees need in the city?"


class Model(BaseHTTPRequestHandler):
    """Answers each request with so many words, one after the other."""

    protocol_version = "HTTP/1.1"
    words = 0
    pause_seconds = 0.0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        usage = {"input_tokens": 1_000, "output_tokens": 1}
        self._send("message_start", message={"id": "msg_1", "role": "assistant", "usage": usage})
        self._send("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for number in range(self.words):
            end = "\n" if number % WORDS_PER_LINE == WORDS_PER_LINE - 1 else " "
            word = f"<{time.monotonic_ns() // 1_000}>{end}"
            self._send("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
            time.sleep(self.pause_seconds)
        self._send("content_block_stop", index=0)
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        self._send("message_delta", delta=ended, usage={**usage, "output_tokens": self.words})
        self._send("message_stop")
        self.close_connection = True

    def _send(self, name: str, **data: Any) -> None:
        self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name in the base class
        pass


@contextmanager
def model(words: int, pause_seconds: float) -> Iterator[dict[str, str]]:
    """The variables with which a program uses it."""
    kind = type("PacedModel", (Model,), {"words": words, "pause_seconds": pause_seconds})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        yield {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
        server.shutdown()


class Seen:
    """When each word was seen first."""

    def __init__(self) -> None:
        self._words: set[int] = set()
        self.delays: list[float] = []
        self._rest = b""

    def read(self, data: bytes) -> None:
        now = time.monotonic()
        _, *parts = (self._rest + data).split(b"<")
        self._rest = b"<" + parts.pop() if parts and b">" not in parts[-1] else b""
        for part in parts:
            word, _, _ = part.partition(b">")
            if word.isdigit() and int(word) not in self._words:
                self._words.add(int(word))
                self.delays.append(now - int(word) / 1e6)


def read_stream(folder: Path, variables: dict[str, str]) -> Seen:
    seen = Seen()
    with ServeProgram(folder, variables, workers=2) as served, served.client() as api:
        asked = {"idea": IDEA, "toolset": "assistant"}
        reply = api.post("/explorations", json=asked).raise_for_status().json()
        with api.stream("GET", f"/explorations/{reply['id']}/events") as response:
            for data in response.iter_raw():
                seen.read(data)
    return seen


def read_terminal(folder: Path, variables: dict[str, str]) -> Seen:
    seen = Seen()
    person, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "idea_explorer", "explore", "--toolset", "assistant", IDEA]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env={**environment(folder, variables), "TERM": "xterm-256color"},
    ):
        os.close(terminal)
        with suppress(OSError):  # how a terminal says that it is over
            while data := os.read(person, 65_536):
                seen.read(data)
    os.close(person)
    return seen


READERS: dict[str, Callable[[Path, dict[str, str]], Seen]] = {
    "event stream": read_stream,
    "terminal": read_terminal,
}


def measure(paces: Iterable[tuple[str, int, float]]) -> bool:
    print(f"{'':14} {'a word every':>13} {'seen':>9} {'p50':>8} {'p99':>8} {'slowest':>8}")
    good = True
    rows: list[str] = []
    for name, read in READERS.items():
        for pace, words, pause_seconds in paces:
            with tempfile.TemporaryDirectory() as folder, model(words, pause_seconds) as variables:
                delays = sorted(read(Path(folder), variables).delays)
            if len(delays) < words:
                print(f"{name:14} {pace:>13} {len(delays)} of {words} words were seen")
                good = False
                continue
            p50, p99 = (delays[int(len(delays) * share)] for share in (0.5, 0.99))
            shown = " ".join(f"{delay * 1_000:5.0f} ms" for delay in (p50, p99, delays[-1]))
            print(f"{name:14} {pace:>13} {len(delays):9} {shown}", flush=True)
            rows.append(f"| {name} | {pace} | {p50 * 1_000:.0f} ms | {p99 * 1_000:.0f} ms |")
            good &= p50 < P50_SECONDS and p99 < P99_SECONDS
    limits = f"p50 under {P50_SECONDS * 1_000:.0f} ms, p99 under {P99_SECONDS * 1_000:.0f} ms"
    print(f"Limits: {limits}. Load {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores.")
    print(*rows, sep="\n")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=1_000, help="of the fast model")
    parser.add_argument("--slow-words", type=int, default=20)
    given = parser.parse_args()
    paces = [("20 ms", given.words, FAST_SECONDS), ("2 s", given.slow_words, SLOW_SECONDS)]
    return 0 if measure(paces) else 1


if __name__ == "__main__":
    sys.exit(main())
