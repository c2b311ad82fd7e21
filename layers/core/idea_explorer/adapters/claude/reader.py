"""Reads a stream that may be silent for minutes, and still notices the deadline or a cancel.

While Claude thinks, nothing may arrive but pings, which the SDK swallows. So a thread reads the stream,
and the caller checks several times a second whether to go on.
"""

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic

CHECK_SECONDS = 0.2

Stream = anthropic.Stream[Any]


@dataclass(frozen=True, slots=True)
class UnstreamedMessage:
    """Some gateways answer a streaming request with the whole message."""

    message: Any


class StreamReader:
    """A context manager that opens a stream and yields its events in order; leaving it ends the call.

    `check` is called while nothing arrives, and may raise. A call that has sent nothing yet then gets a
    grace period, in which its first event may still say what it costs.
    """

    def __init__(
        self, connect: Callable[[], Stream], check: Callable[[], None], *, grace_seconds: float
    ) -> None:
        self._connect = connect
        self._check = check
        self._grace_seconds = grace_seconds
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stream: Stream | None = None
        self._ended = threading.Event()
        self._given_up = threading.Event()

    def __enter__(self) -> Iterator[Any]:
        threading.Thread(target=self._read, name="claude-stream", daemon=True).start()
        return self._events()

    def __exit__(self, *_: object) -> None:
        self._given_up.set()
        if self._stream is not None and not self._ended.is_set():
            _disconnect(self._stream)

    def _events(self) -> Iterator[Any]:
        """Raises what the connection or `check` raises."""
        begun = False
        while (item := self._next(self._grace_seconds if not begun else 0.0)) is not _END:
            if isinstance(item, BaseException):
                raise item
            begun = True
            yield item

    def _next(self, grace_seconds: float) -> Any:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._received.get(timeout=CHECK_SECONDS)
            try:
                self._check()
            except Exception:
                with contextlib.suppress(queue.Empty):
                    return self._received.get(timeout=grace_seconds)
                raise

    def _read(self) -> None:
        try:
            self._stream = stream = self._connect()
            with stream:
                if self._given_up.is_set():
                    return
                self._forward(stream)
            self._ended.set()
            self._received.put(_END)
        except BaseException as error:  # noqa: BLE001  the caller raises it
            self._ended.set()
            self._received.put(error)

    def _forward(self, stream: Stream) -> None:
        if "json" in stream.response.headers.get("content-type", ""):
            self._received.put(UnstreamedMessage(json.loads(stream.response.read())))
            return
        for event in stream:
            self._received.put(event)


_END = object()


def _disconnect(stream: Stream) -> None:
    """Shut the socket down: merely closing it does not wake the thread that reads from it."""
    with contextlib.suppress(Exception):
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        connection.shutdown(socket.SHUT_RDWR)
