"""The API, the server and the command line."""

import contextlib
import io
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from idea_explorer.api.server import ApiServer
from tests.fakes.api import Api
from tests.hostile.surfaces.base import (
    CONTROL,
    SECRET,
    Check,
    expect_no_secret,
    fill,
    surface,
)


@surface("API bodies", "json", "unicode", "paths", "refs", "urls", share=0.5)
def api_bodies(folder: Path) -> Iterator[Check]:
    api = Api(folder)
    foreign = api.submitted("eve", idea=SECRET).id

    def check(text: str) -> None:
        body = text.encode("utf-8", "surrogatepass")
        fields: dict[str, object] = dict.fromkeys(
            ("repository", "ref", "continue_from", "webhook_url", "mode"), text
        )
        for route in ("/explorations", "/similar", f"/explorations/{foreign}/cancel"):
            _expect_answer(api, api.post(route, body))
        _expect_answer(api, api.post("/explorations", {"idea": text}))
        for name, value in fields.items():
            toolset = "code" if name in {"repository", "ref"} else "research"
            request = {"idea": "bees", "toolset": toolset, name: value}
            _expect_answer(api, api.post("/explorations", request))

    yield check


@surface("API addresses", "paths", "unicode", "refs", "urls", share=0.5)
def api_addresses(folder: Path) -> Iterator[Check]:
    api = Api(folder)
    foreign = api.submitted("eve", idea=SECRET).id

    def check(text: str) -> None:
        percent = quote(text.encode("utf-8", "surrogatepass"), safe="")
        for target in (
            f"/explorations/{percent}",
            f"/explorations/{foreign}/../{percent}",
            f"/explorations/{foreign}/events?after={percent}",
            f"/explorations?status={percent}&limit={percent}&cursor={percent}",
            f"/{percent}",
        ):
            _expect_answer(api, api.get(target))
        headers = {"Idempotency-Key": text, "Accept": text, "Last-Event-ID": text}
        _expect_answer(api, api.get(f"/explorations/{foreign}/events", headers=headers))
        _expect_answer(api, api.post("/explorations", {"idea": "bees"}, headers=headers))

    yield check


def _expect_answer(api: Api, reply: Any) -> None:
    assert reply.status < 500, f"{reply.status}: {reply.text[:200]}"
    assert SECRET not in reply.text, "another owner's exploration"
    api.log.lines.clear()


@surface("HTTP", "unicode", "json", "paths", "terminal", share=0.1)
def http_bytes(folder: Path) -> Iterator[Check]:
    """Raw bytes on the wire; the server answers, or closes, and goes on serving."""
    api = Api(folder)
    server = ApiServer(("127.0.0.1", 0), api.handle, lambda: "{}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    port = urlsplit(server.url).port
    assert port is not None

    def send(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            with contextlib.suppress(ConnectionError):
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while part := peer.recv(65_536):
                    answer += part
            return answer

    def check(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")[:100_000]
        line = data.replace(b"\n", b"").replace(b"\r", b"")
        for request in (
            data,
            b"GET /" + line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: " + line + b"\r\n\r\n",
            b"POST /similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + line + b"\r\n\r\n{}",
            b"POST /similar HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            + data,
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + data + b"\r\n\r\n",
        ):
            status = send(request)[9:12]
            assert not status.startswith(b"5"), f"{status!r} to {request[:100]!r}"
        alive = send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert alive.startswith(b"HTTP/1.1 200"), f"/health answers {alive[:80]!r}"

    try:
        yield check
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@surface("command line", "unicode", "paths", "terminal", "refs", "json", share=0.05)
def command_line(folder: Path) -> Iterator[Check]:
    from idea_explorer.cli import main

    root = fill(folder)
    real = {name: os.environ.get(name) for name in ("IDEA_STATE_DIR", "IDEA_RESEARCH_DIR")}
    os.environ |= {"IDEA_STATE_DIR": str(folder / "state"), "IDEA_RESEARCH_DIR": str(root)}

    def check(text: str) -> None:
        argument = text.replace("\x00", "")[:10_000]
        for words in (
            ["status", argument],
            ["report", argument],
            ["similar", argument],
            ["tool", "read_research", json.dumps({"path": argument})],
            ["tool", argument],
            [argument],
        ):
            _expect_safe_output(*_run(main, words))

    try:
        yield check
    finally:
        for name, value in real.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _run(main: Callable[[Sequence[str]], int], words: Sequence[str]) -> tuple[int, str]:
    out, error = _Stream(), _Stream()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue() + error.getvalue()


class _Stream(io.StringIO):
    """Takes lone surrogates, and can be reconfigured as a real stream can."""

    encoding = "utf-8"

    def reconfigure(self, **_: object) -> None:
        """Nothing to change."""


def _expect_safe_output(code: int, printed: str) -> None:
    assert "Traceback" not in printed, printed[-500:]
    assert code in range(10), f"exit code {code}"
    found = CONTROL.search(printed)
    assert found is None, f"printed {found[0]!r}: {printed[:200]!r}"
    expect_no_secret(printed)
