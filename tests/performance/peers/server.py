"""Claude and GitHub on this machine, for all peers: `python -m tests.performance.peers.server`.

Standard library only, and every response is rendered before the first request, so that the server costs
little beside the client that is measured. It says its port in one line of JSON.

    POST /v1/messages     JSON, or server-sent events where the body asks for them
    GET  /repos/…         GitHub's contents and git data, as much as reading takes
    POST /__configure     {"model_ms": 0, "github_ms": 0, "scenario": "common", "strict": false}
    GET  /__counts        what was asked for since it was configured

The answer is chosen by the number of requests so far with the same name EXP-<16 hexadecimal digits>, which
the runners write into their prompt.
"""

import asyncio
import gc
import io
import json
import tarfile
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.performance.peers.script import (
    ANSWERS,
    FILES,
    READS,
    Block,
    answers,
    render_file,
    render_message,
    render_stream,
)

NAME_LENGTH = len("EXP-") + 16
EVENT_STREAM = "text/event-stream; charset=utf-8"
# a response to a method, a path and a body, and after how many seconds it is sent
Respond: TypeAlias = Callable[[str, str, bytes], tuple[bytes, float]]
COMMIT, TREE = "a" * 40, "b" * 40


def render(
    status: str, body: str, content_type: str = "application/json", *, chunked: bool = False
) -> bytes:
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nrequest-id: req_peer\r\n"
    if chunked:
        length = f"transfer-encoding: chunked\r\n\r\n{len(data):x}\r\n"
        return f"{head}{length}".encode() + data + b"\r\n0\r\n\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


def render_archive() -> bytes:
    """A tarball with nothing in it but its folder, as the listings of the repository have nothing."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        folder = tarfile.TarInfo(f"acme-lab-{COMMIT}")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    data = packed.getvalue()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/x-gzip\r\ncontent-length: {len(data)}"
    return f"{head}\r\n\r\n".encode() + data


ARCHIVE = render_archive()
NOT_FOUND = render("404 Not Found", '{"message":"Not Found"}')
EXHAUSTED = render(
    "400 Bad Request",
    '{"type":"error","error":{"type":"invalid_request_error","message":"no more answers"}}',
)


class Script:
    """The responses, and what has been asked for."""

    def __init__(self) -> None:
        self._messages, self._streams = {}, {}
        for scenario in READS:
            numbered = list(enumerate(answers(scenario), start=1))
            self._messages[scenario] = [
                render("200 OK", json.dumps(render_message(*answer))) for answer in numbered
            ]
            self._streams[scenario] = [
                render("200 OK", render_stream(*answer), EVENT_STREAM, chunked=True)
                for answer in numbered
            ]
        self._files = {path: render("200 OK", json.dumps(render_file(path))) for path in FILES}
        self.configure({})

    def configure(self, options: dict[str, Any]) -> None:
        self._model_seconds = options.get("model_ms", 0) / 1_000
        self._github_seconds = options.get("github_ms", 0) / 1_000
        self._scenario = options.get("scenario", "common")
        self._is_strict = options.get("strict", False)
        self._answered: dict[bytes, int] = {}
        self._counts: dict[str, Any] = {
            "messages": 0,
            "message_bytes": 0,
            "streams": 0,
            "reads": 0,
            "errors": 0,
            "first_message_at": None,
            "other": {},
            "requests": [],
        }

    def respond(self, method: str, path: str, body: bytes) -> tuple[bytes, float]:
        if path == "/v1/messages":
            return self._answer(body), self._model_seconds
        if path.startswith("/repos/"):
            return self._read(method, path), self._github_seconds
        if path == "/__configure":
            self.configure(json.loads(body))
            return render("200 OK", "{}"), 0.0
        if path == "/__counts":
            return render("200 OK", json.dumps(self._counts)), 0.0
        self._counts["errors"] += 1
        return NOT_FOUND, 0.0

    def _answer(self, body: bytes) -> bytes:
        counts = self._counts
        if counts["first_message_at"] is None:
            counts["first_message_at"] = time.monotonic()
        counts["messages"] += 1
        counts["message_bytes"] += len(body)
        start = body.find(b"EXP-")
        name = body[start : start + NAME_LENGTH]
        number = self._answered.get(name, 0)
        self._answered[name] = number + 1
        if start < 0 or number >= ANSWERS:
            counts["errors"] += 1
            return EXHAUSTED
        if self._is_strict:
            counts["requests"].append(describe_request(json.loads(body)))
        if b'"stream":true' in body or b'"stream": true' in body:
            counts["streams"] += 1
            return self._streams[self._scenario][number]
        return self._messages[self._scenario][number]

    def _read(self, method: str, path: str) -> bytes:
        _, _, wanted = path.partition("/contents/")
        if wanted:
            self._counts["reads"] += 1
            return self._files.get(wanted.removeprefix("ideas/"), NOT_FOUND)
        key = f"{method} {path}"
        self._counts["other"][key] = self._counts["other"].get(key, 0) + 1
        return _git(method, path)


def _git(method: str, path: str) -> bytes:
    """A repository with one commit and nothing in it but the files that the contents API has."""
    _, _, tail = path.removeprefix("/repos/").partition("/")
    _, _, tail = tail.partition("/")
    if method != "GET":
        return NOT_FOUND
    commit = {"message": "m", "tree": {"sha": TREE}, "committer": {"date": "2026-01-01T00:00:00Z"}}
    match tail.split("/"):
        case [""]:
            found: object = {"default_branch": "main"}
        case ["git", "ref", "heads", branch]:
            found = {"ref": f"refs/heads/{branch}", "object": {"sha": COMMIT, "type": "commit"}}
        case ["commits"]:
            url = f"https://github.com/acme/lab/commit/{COMMIT}"
            found = [{"sha": COMMIT, "html_url": url, "parents": [], "commit": commit}]
        case ["tarball", _]:
            return ARCHIVE
        case ["git", "trees", _]:
            found = {"sha": TREE, "tree": [], "truncated": False}
        case _:
            return NOT_FOUND
    return render("200 OK", json.dumps(found))


def describe_request(body: Block) -> Block:
    """What a client sent, for `--check`; never while anything is measured."""
    blocks = [
        (message["role"], block)
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
    ]
    used = sorted(b["id"] for role, b in blocks if role == "assistant" and b["type"] == "tool_use")
    results = [b for role, b in blocks if role == "user" and b["type"] == "tool_result"]
    server_types = ("server_tool_use", "web_search_tool_result")
    return {
        "streams": bool(body.get("stream")),
        "all_answered": sorted(b["tool_use_id"] for b in results) == used,
        "errors": sum(bool(b.get("is_error")) for b in results),
        "server_blocks": sum(b["type"] in server_types for _, b in blocks),
        "cache_marks": json.dumps(body).count('"cache_control": {'),
    }


class Connection(asyncio.Protocol):
    """Requests with a length or in chunks, one after the other; nothing else is sent by any peer."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = bytearray()
        self._needed = 0

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= self._needed:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._received[:end])
            found = self._read_body(head.lower(), end + 4)
            if found is None:
                return
            body, used = found
            del self._received[:used]
            self._needed = 0
            self._send(head, body)

    def _read_body(self, head: bytes, start: int) -> tuple[bytes, int] | None:
        """The body and where it ends; None as long as a part is missing."""
        if b"transfer-encoding: chunked" in head:
            return self._read_chunks(start)
        _, _, length = head.partition(b"content-length:")
        end = start + int(length.partition(b"\r\n")[0] or 0)
        if len(self._received) < end:
            self._needed = end
            return None
        return bytes(self._received[start:end]), end

    def _read_chunks(self, start: int) -> tuple[bytes, int] | None:
        body = bytearray()
        while (line := self._received.find(b"\r\n", start)) >= 0:
            length = int(self._received[start:line], 16)
            start = line + 2 + length + 2
            if len(self._received) < start:
                return None
            body += self._received[line + 2 : line + 2 + length]
            if length == 0:
                return bytes(body), start
        return None

    def _send(self, head: bytes, body: bytes) -> None:
        method, target = head.split(b"\r\n", 1)[0].decode().split(" ")[:2]
        response, delay = self._respond(method, target.partition("?")[0], body)
        if delay:
            asyncio.get_running_loop().call_later(delay, self._transport.write, response)
        else:
            self._transport.write(response)


async def serve(respond: Respond) -> None:
    """Until the process is ended. Says the port on stdout."""
    gc.freeze()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(respond), "127.0.0.1", 0, backlog=256)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Script().respond))
