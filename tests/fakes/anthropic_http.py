"""The HTTP side of the fake: reads requests, sends answers, breaks them where a fault says so."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from tests.fakes.anthropic_answers import Answer
from tests.fakes.anthropic_faults import ApiError, Fault, FaultKind
from tests.fakes.anthropic_sse import PING, Event, stream_events, usage_sent
from tests.fakes.anthropic_turns import Usage
from tests.fakes.anthropic_wire import JsonObject

HTML_413 = "<html><head><title>413 Request Entity Too Large</title></head><body></body></html>"


@dataclass(frozen=True)
class Failure:
    """An error status instead of an answer."""

    error: ApiError
    headers: dict[str, str] = field(default_factory=dict)


Reply = Answer | Failure | JsonObject


class Api(Protocol):
    """What the handler asks: the answer to a request, and where to put what was sent."""

    def reply_to(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[str, Reply]: ...

    def bill(self, request_id: str, usage: Usage) -> None: ...

    @property
    def ping_seconds(self) -> float: ...


class Listener(socketserver.ThreadingTCPServer):
    """Serves until stopped; stopping ends every open connection, also those that hang."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: Api, port: int, host: str) -> None:
        self.api = api
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        super().__init__((host, port), Handler)

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        self._thread.join()
        for connection in list(self._open):
            self._break_off(connection)
        self.server_close()

    def process_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: object) -> None:
        assert isinstance(request, socket.socket)
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is its own affair."""

    @staticmethod
    def _break_off(connection: socket.socket) -> None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


class Handler(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"
    server_version = "FakeAnthropic"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("content-length", 0))))

    def log_message(self, *_: object) -> None:
        """Nothing: standard error belongs to the tests."""

    def _serve(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._request_id, reply = self.server.api.reply_to(self.command, self.path, headers, body)
        if isinstance(reply, Failure):
            self._send_error(reply)
        elif isinstance(reply, Answer):
            self._send_answer(reply)
        else:
            self._send_body(HTTPStatus.OK, json.dumps(reply).encode())

    def _send_error(self, failure: Failure) -> None:
        error = failure.error
        if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            self._send_body(error.status, HTML_413.encode(), failure.headers, "text/html")
            return
        self._send_body(error.status, self._error_body(error), failure.headers)

    def _error_body(self, error: ApiError) -> bytes:
        detail = {"type": error.type, "message": error.message}
        body = {"type": "error", "error": detail, "request_id": self._request_id}
        return json.dumps(body).encode()

    def _send_answer(self, answer: Answer) -> None:
        fault = answer.turn.fault
        self.server.stopping.wait(answer.turn.delay)
        if fault is not None and fault.kind is FaultKind.HTTP_ERROR:
            retry = {} if fault.retry_after is None else {"retry-after": fault.retry_after}
            self._send_error(Failure(fault.error, retry))
        elif fault is not None and fault.before_status_line:
            self._break(fault)
        elif answer.streamed:
            self._send_stream(answer)
        else:
            self._send_whole(answer)

    def _send_stream(self, answer: Answer) -> None:
        events = stream_events(answer.message, answer.silences)
        self._send_head(HTTPStatus.OK, "text/event-stream; charset=utf-8", None)
        for sent, event in enumerate(events):
            if answer.turn.fault is not None and sent == answer.turn.fault.after:
                self._strike(answer.turn.fault, event)
                return
            if sent:
                self.server.stopping.wait(answer.turn.drip)
            self._think(event.silence)
            # Billed first, so that whoever has read an answer finds it billed.
            self._bill(usage_sent(answer.usage, events, sent + 1))
            self._write_chunk(event.encode())
        self._write_chunk(b"")

    def _think(self, seconds: float) -> None:
        """Nothing but pings, as far apart as the service sends them."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.server.stopping.is_set():
            self.server.stopping.wait(min(left, self.server.api.ping_seconds))
            if time.monotonic() < until:
                self._write_chunk(PING)

    def _strike(self, fault: Fault, event: Event) -> None:
        """Do in the stream what the fault says, in place of the event that was due."""
        whole = event.encode()
        broken: dict[FaultKind, tuple[bytes, ...]] = {
            FaultKind.ERROR_EVENT: (self._error_event(fault.error), b""),
            FaultKind.MALFORMED: (whole.removesuffix(b"}\n\n") + b"\n\n", b""),
            FaultKind.CUT_IN_EVENT: (whole[: len(whole) // 2],),
            FaultKind.END_EARLY: (b"",),
        }
        for chunk in broken.get(fault.kind, ()):
            self._write_chunk(chunk)
        self._break(fault)

    @staticmethod
    def _error_event(error: ApiError) -> bytes:
        detail = {"type": error.type, "message": error.message}
        return Event("error", {"type": "error", "error": detail}).encode()

    def _break(self, fault: Fault) -> None:
        """Leave the connection as the fault wants it; it is not used again."""
        self.close_connection = True
        if fault.kind is FaultKind.HANG:
            self.server.stopping.wait()
        if fault.kind is FaultKind.RESET:
            no_linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)
            self.connection.close()

    def _send_whole(self, answer: Answer) -> None:
        """The answer in one JSON body; a fault meant for a stream breaks the body instead."""
        body = json.dumps(answer.message).encode()
        fault = answer.turn.fault
        if fault is not None and fault.kind is FaultKind.ERROR_EVENT:
            self._send_error(Failure(fault.error))
            return
        self._bill(answer.usage)
        if fault is None:
            self._send_body(HTTPStatus.OK, body)
        elif fault.kind is FaultKind.MALFORMED:
            self._send_body(HTTPStatus.OK, body[: len(body) // 2])
        else:
            self._send_head(HTTPStatus.OK, "application/json", len(body))
            self.wfile.write(body[: len(body) // 2])
            self._break(fault)

    def _bill(self, usage: Usage) -> None:
        self.server.api.bill(self._request_id, usage)

    def _send_body(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> None:
        self._send_head(status, content_type, len(body), headers)
        self.wfile.write(body)

    def _send_head(
        self,
        status: int,
        content_type: str,
        length: int | None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Status line and headers; without a length the body comes in chunks."""
        framing = ("transfer-encoding", "chunked") if length is None else ("content-length", length)
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("request-id", self._request_id)
        self.send_header(framing[0], str(framing[1]))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _write_chunk(self, payload: bytes) -> None:
        """One chunk, at once; an empty one ends the body."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(payload), payload))
