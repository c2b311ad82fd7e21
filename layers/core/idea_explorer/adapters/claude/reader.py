"""Reading a stream that may be silent for minutes, while the clock and a cancel are watched beside it.

While Claude thinks, nothing but pings may arrive, and the SDK swallows those. So the stream is read in a
thread of its own, and whoever waits for it asks several times a second whether to go on.
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

ASK_SECONDS = 0.2

Stream = anthropic.Stream[Any]


@dataclass(frozen=True, slots=True)
class WholeMessage:
    """Some gateways answer a streaming request with the whole message."""

    message: Any


class StreamReader:
    """Opens a stream and hands its events on, in order. A context manager: leaving it ends the call.

    `ask` is called while nothing arrives, and may raise. A call of which nothing is known yet is then
    given a time of grace, in which its first event may still tell what it costs.
    """

    def __init__(
        self, connect: Callable[[], Stream], ask: Callable[[], None], *, grace_seconds: float
    ) -> None:
        self._connect = connect
        self._ask = ask
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
        """Raises what the connection raises, or what `ask` does."""
        begun = False
        while (item := self._next(self._grace_seconds if not begun else 0.0)) is not _END:
            if isinstance(item, BaseException):
                raise item
            begun = True
            yield item

    def _next(self, grace_seconds: float) -> Any:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._received.get(timeout=ASK_SECONDS)
            try:
                self._ask()
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
                self._hand_on(stream)
            self._ended.set()
            self._received.put(_END)
        except BaseException as error:  # noqa: BLE001  whoever waits raises it
            self._ended.set()
            self._received.put(error)

    def _hand_on(self, stream: Stream) -> None:
        if "json" in stream.response.headers.get("content-type", ""):
            self._received.put(WholeMessage(json.loads(stream.response.read())))
            return
        for event in stream:
            self._received.put(event)


_END = object()


def _disconnect(stream: Stream) -> None:
    """A socket that is only closed does not wake the thread that reads from it."""
    with contextlib.suppress(Exception):
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        connection.shutdown(socket.SHUT_RDWR)
