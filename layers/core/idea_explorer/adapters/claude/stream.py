"""Claude's stream: read while the deadline and a cancel are watched.

While Claude thinks, nothing may arrive but pings. So a thread reads the stream, and the caller checks several
times a second whether to go on. The caller also decodes what was read, so that no event is handed from one
thread to another by itself.
"""

import contextlib
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic

from idea_explorer.adapters.claude.sse import decode_events
from idea_explorer.domain.json import parse_json
from idea_explorer.domain.threads import run_in_thread

CHECK_SECONDS = 0.2
_SKIPPED = (None, "", "ping")  # names of events

Stream = anthropic.Stream[Any]


@dataclass(frozen=True, slots=True)
class UnstreamedMessage:
    """Some gateways answer a streaming request with the whole message."""

    message: Any


class StreamReader:
    """A context manager that opens a stream and yields its events in order; leaving it ends the call.

    `check` is called several times a second, whatever arrives, and may raise. A call that has sent no event
    yet then gets a grace period, in which its first one may still say what it costs. `catch_up` is called
    when all that has arrived was yielded, before waiting for more, and `after_read` when what was read at
    once was.
    """

    def __init__(
        self,
        connect: Callable[[], Stream],
        check: Callable[[], None],
        catch_up: Callable[[], None],
        *,
        grace_seconds: float,
        after_read: Callable[[], None] = lambda: None,
    ) -> None:
        self._connect = connect
        self._check = check
        self._catch_up = catch_up
        self._after_read = after_read
        self._grace_seconds = grace_seconds
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stream: Stream | None = None
        self._whole: UnstreamedMessage | None = None
        self._begun = False
        self._check_at = time.monotonic() + CHECK_SECONDS
        self._grace_until: float | None = None
        self._ended = threading.Event()
        self._given_up = threading.Event()

    def __enter__(self) -> Iterator[Any]:
        run_in_thread(self._read, name="claude-stream")
        return self._events()

    def __exit__(self, *_: object) -> None:
        self._given_up.set()
        if self._stream is not None and not self._ended.is_set():
            _disconnect(self._stream)

    def _events(self) -> Iterator[Any]:
        """Raises what the connection or `check` raises."""
        for name, data in decode_events(self._pieces()):
            if name == "error":
                raise self._describe_error(data)
            if name in _SKIPPED or not data:
                continue
            self._begun = True
            yield parse_json(data)
        if self._whole is not None:
            yield self._whole

    def _pieces(self) -> Iterator[bytes]:
        while (item := self._next()) is not _END:
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, UnstreamedMessage):
                self._whole = item
                continue
            yield item
            if self._received.empty():
                self._catch_up()
            if (
                self._begun
            ):  # else the grace period says how long what has been asked is worth waiting for
                self._after_read()

    def _describe_error(self, data: bytes) -> anthropic.APIStatusError:
        assert self._stream is not None
        try:
            body = parse_json(data)
        except ValueError:
            body = data.decode(errors="replace")
        return anthropic.APIStatusError(str(body), response=self._stream.response, body=body)

    def _next(self) -> Any:
        """What was read, in order. A check that is due waits for what has arrived, but not for more: also
        pings arrive, of which no event comes."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._received.get(timeout=max(0.0, self._check_at - time.monotonic()))
            self._check_at = time.monotonic() + CHECK_SECONDS
            try:
                self._check()
            except Exception:
                with contextlib.suppress(queue.Empty):
                    return self._received.get(timeout=self._grace_left())
                raise

    def _grace_left(self) -> float:
        if self._begun:
            return 0.0
        self._grace_until = self._grace_until or time.monotonic() + self._grace_seconds
        return max(0.0, self._grace_until - time.monotonic())

    def _read(self) -> None:
        try:
            self._stream = stream = self._connect()
            with stream:
                if self._given_up.is_set():
                    return
                if "json" in stream.response.headers.get("content-type", ""):
                    self._received.put(UnstreamedMessage(json.loads(stream.response.read())))
                else:
                    for read in stream.response.iter_bytes():
                        self._received.put(read)
            self._ended.set()
            self._received.put(_END)
        except BaseException as error:  # noqa: BLE001  the caller raises it
            self._ended.set()
            self._received.put(error)


_END = object()


def _disconnect(stream: Stream) -> None:
    """Shut the socket down: merely closing it does not wake the thread that reads from it."""
    with contextlib.suppress(Exception):
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        connection.shutdown(socket.SHUT_RDWR)
