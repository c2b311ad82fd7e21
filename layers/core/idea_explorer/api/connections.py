"""Connections to the API on this machine: how many there may be, and how long a request may take to arrive.

Uvicorn speaks HTTP through h11. What is added here is what neither has: a limit on connections in all and
per peer, a deadline for a request's head, and a stricter reading of the head, so that no proxy in front
of this server can understand a request differently than we do (docs/adr/0016).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import field
from http import HTTPStatus
from typing import Any, cast

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from idea_explorer.api.heads import HeadCheck
from idea_explorer.api.http import JSON, SECURITY_HEADERS, RequestError
from idea_explorer.domain.dataclass import dataclass

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class ConnectionLimits:
    """Deadlines are for the whole of a head, body or response, not for each byte."""

    connections: int = 512
    connections_per_peer: int = 384  # so that one peer cannot shut out the others
    head_bytes: int = 16_384  # API Gateway takes 10 KB; browsers send every cookie of localhost
    headers: int = 100
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    body_bytes_per_second: int = 65_536  # what a slow link needs for an upload is added
    idle_seconds: int = 65
    response_seconds: float = 60.0
    discard_seconds: float = 1.0  # what a refused peer goes on sending is read this long

    @classmethod
    def for_open_files(cls, number: int) -> "ConnectionLimits":
        """Half of the files that the process may have open. 4,000 idle connections need about 24 MB."""
        connections = min(number // 2, 4_000)
        return cls(connections=connections, connections_per_peer=connections * 3 // 4)


@dataclass
class Connections:
    """The open connections. At the limit, a new one takes the place of an idle one: of the oldest that never
    sent a request, or else of the one that is idle for the longest time. If all are busy, the new one is
    refused. Peers in `proxies` have only the common limit."""

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    proxies: frozenset[str] = frozenset()
    _open: "dict[str, set[Connection]]" = field(default_factory=dict)
    _idle: "dict[str, dict[Connection, None]]" = field(default_factory=dict)  # longest wait first

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def admit(self, connection: "Connection") -> bool:
        peer = connection.peer
        if peer not in self.proxies and self._count(peer) >= self.limits.connections_per_peer:
            admitted = self._make_room([peer])
        elif len(self) >= self.limits.connections:
            admitted = self._make_room(sorted(self._open, key=self._count, reverse=True))
        else:
            admitted = True
        if admitted:
            self._open.setdefault(peer, set()).add(connection)
            self.set_idle(connection, idle=True)
        return admitted

    def set_idle(self, connection: "Connection", *, idle: bool) -> None:
        if idle and connection in self._open.get(connection.peer, ()):
            self._idle.setdefault(connection.peer, {})[connection] = None
        else:
            self._idle.get(connection.peer, {}).pop(connection, None)

    def remove(self, connection: "Connection") -> None:
        self.set_idle(connection, idle=False)
        here = self._open.get(connection.peer, set())
        here.discard(connection)
        if not here:
            self._open.pop(connection.peer, None)
            self._idle.pop(connection.peer, None)

    def _count(self, peer: str) -> int:
        return len(self._open.get(peer, ()))

    def _make_room(self, peers: Iterable[str]) -> bool:
        for peer in peers:
            if idle := self._idle.get(peer):
                connection = next((c for c in idle if c.exchange is None), next(iter(idle)))
                self.remove(connection)
                connection.drop()
                return True
        return False


class JoinedWrites:
    """A transport that sends at once what is written in one turn of the event loop. Uvicorn writes the head
    and the body of a response one after the other, and each would be a packet of its own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if data and not self._parts:
            self._loop.call_soon(self.flush)
        if data:
            self._parts.append(data)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._parts.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._parts))

    def flush(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """One connection. Everything that a peer sends is untrusted."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.peer = ""
        self._registry = connections
        self._limits = connections.limits
        self._head = HeadCheck(self._limits.head_bytes, self._limits.headers)
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    @property
    def exchange(self) -> RequestResponseCycle | None:
        """The last request and its response; None before the first."""
        return cast("RequestResponseCycle | None", self.cycle)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._writes = JoinedWrites(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", self._writes))
        self.peer = self.client[0] if self.client else ""
        if self._registry.admit(self):
            self._expect_head()
        else:
            self.refuse(RequestError(503, TOO_MANY))

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.remove(self)
        self._stop_head_timer()
        self._stop_stall_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The peer reads more slowly than it is sent to, or not at all: a response in parts waits for it."""
        super().pause_writing()
        seconds = self._limits.response_seconds
        self._stall_timer = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_stall_timer()
        super().resume_writing()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio looks at the result
        """A peer that has sent a whole request and then closed its side still gets the response."""
        self._writes.flush()  # what follows may close the connection
        exchange = self.exchange
        if exchange is None or exchange.response_complete or exchange.more_body:
            return False
        exchange.keep_alive = False
        return True

    def handle_events(self) -> None:
        if self.conn.their_state is h11.IDLE:
            received, _ = self.conn.trailing_data
            try:
                self._head.check(received)
            except RequestError as error:
                self.refuse(error)
                return
        super().handle_events()
        self._update()

    def on_response_complete(self) -> None:
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            # a peer that does not read what it was sent keeps its connection no longer than this
            self.loop.call_later(self._limits.response_seconds, self.transport.abort)
        super().on_response_complete()
        self._update()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        self.refuse(RequestError(400, "The request is not valid HTTP."))

    def drop(self) -> None:
        """Close an idle connection in favour of another."""
        if self.exchange is None:
            self.refuse(RequestError(503, TOO_MANY))
        else:
            self.transport.abort()  # between two requests nobody waits for an answer

    def refuse(self, error: RequestError) -> None:
        """Answer outside of any request, and close."""
        self._stop_head_timer()
        if self.transport.is_closing():
            return
        if self.exchange is not None:
            self.exchange.disconnected = True  # its call has nobody to answer
            self.exchange.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers, body = render_error(error)
            reason = HTTPStatus(error.status).phrase.encode()
            head = h11.Response(status_code=error.status, headers=headers, reason=reason)
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _update(self) -> None:
        is_idle = self.conn.their_state is h11.IDLE
        self._registry.set_idle(self, idle=is_idle)
        if not is_idle:
            self._stop_head_timer()
        elif self.conn.trailing_data[0]:
            self._expect_head()

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._end_late_head)

    def _end_late_head(self) -> None:
        self._head_timer = None
        if self.conn.trailing_data[0]:
            self.refuse(RequestError(408, "The request took too long to arrive."))
        else:
            self.transport.close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


TOO_MANY = "Too many connections. Try again in a moment."


def render_error(error: RequestError) -> tuple[Headers, bytes]:
    """The response to a request that is refused. The connection is closed: its body was not read."""
    body = error.to_response().model_dump_json(exclude_none=True).encode()
    headers = {
        **SECURITY_HEADERS,
        "Content-Type": JSON,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    return encode_headers(headers), body


def encode_headers(headers: dict[str, str]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
