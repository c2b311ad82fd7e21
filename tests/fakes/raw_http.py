"""HTTP as bytes over a socket, for what no client library would send."""

import json
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx


@dataclass(frozen=True)
class Answer:
    status: int
    head: str
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


class RawConnection:
    def __init__(self, url: str, timeout: float = 10, source: str | None = None) -> None:
        """`source`: the address that the server sees as the peer."""
        parsed = httpx.URL(url)
        assert parsed.port is not None
        self.host = parsed.netloc.decode()
        self.socket = socket.create_connection(
            (parsed.host, parsed.port), timeout, (source, 0) if source else None
        )
        self._received = b""

    def send(self, text: str | bytes) -> None:
        self.socket.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))

    def request(
        self, method: str, target: str, *lines: str, body: str = "", host: str | None = None
    ) -> None:
        head = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", *lines]
        self.send("\r\n".join([*head, "", body]))

    def answer(self) -> Answer:
        """The next response."""
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        lines = [line.lower() for line in text.split("\r\n")]
        length = next(
            (int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0
        )
        while len(self._received) < length:
            self._receive()
        body, self._received = self._received[:length], self._received[length:]
        return Answer(int(text.split()[1]), text, body)

    def seconds_to_close(self) -> float:
        """How long until the server closes the connection; what it still sends is ignored."""
        began = time.monotonic()
        with suppress(ConnectionError):
            while self.socket.recv(65_536):
                pass
        return time.monotonic() - began

    def is_closed(self) -> bool:
        """Whether the server has closed it by now, without a further response."""
        self.socket.settimeout(2)
        try:
            return not self._received and self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def _receive(self) -> None:
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError(
                "the server closed the connection before its response was complete"
            )
        self._received += data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
