"""A response whose head is read by the rules of RFC 9112, and whose body `http.client` reads."""

import socket
from http import client

from idea_explorer.domain.patterns import lazy_pattern

MAX_LINE_BYTES = 65_536
MAX_HEADER_LINES = 100  # as `http.client` has both limits
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_VALUE = rb"[\t\x20-\x7e\x80-\xff]*"
TOKEN = lazy_pattern(_TOKEN)  # a method, or the name of a header
TARGET = lazy_pattern(rb"[\x21-\x7e]+")
HEADER_VALUE = lazy_pattern(_VALUE)
_STATUS_LINE = lazy_pattern(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: (%b))?\r?\n" % _VALUE)
# A line that begins with a space continues the one before.
_HEADER_LINE = lazy_pattern(rb"(?:(%b):|[ \t])(%b)\r?\n" % (_TOKEN, _VALUE))
_LENGTH = lazy_pattern(rb"[0-9]{1,20}")

Headers = list[tuple[bytes, bytes]]


class StrictResponse(client.HTTPResponse):
    """Raises HTTPException for a head that is cut off or malformed, of which `http.client` would take what it
    can, and for a body whose length is in doubt. Skips the responses that announce the actual one."""

    fields: Headers

    def __init__(self, connected: socket.socket, method: str) -> None:
        super().__init__(connected, method=method)
        self._answers_head = method == "HEAD"

    def begin(self) -> None:
        minor, status, reason = self._read_status_line()
        fields = self._read_headers()
        while status < 200 and status != 101:
            minor, status, reason = self._read_status_line()
            fields = self._read_headers()
        if status == 101:
            raise client.HTTPException("The server switched to a protocol that nobody asked for.")
        self.version = 11 if minor else 10
        self.status, self.reason, self.fields = status, reason, fields
        self._find_end_of_body()

    def _find_end_of_body(self) -> None:
        encodings = self._values(b"transfer-encoding")
        if encodings and [encoding.lower() for encoding in encodings] != [b"chunked"]:
            raise client.HTTPException("The server uses a transfer encoding that is not supported.")
        lengths = {*self._values(b"content-length")}
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise client.HTTPException("The server sent a content length that is not valid.")
        options = b",".join(self._values(b"connection")).lower().split(b",")
        wishes = {option.strip() for option in options}
        has_body = self.status not in (204, 304) and not self._answers_head
        self.chunked = bool(encodings) and has_body
        self.chunk_left = None
        if not has_body:
            self.length: int | None = 0
        else:
            self.length = int(lengths.pop()) if lengths and not self.chunked else None
        ends_by_closing = not self.chunked and self.length is None
        keeps_open = b"close" not in wishes if self.version == 11 else b"keep-alive" in wishes
        self.will_close = ends_by_closing or not keeps_open

    def _values(self, wanted: bytes) -> list[bytes]:
        return [value for name, value in self.fields if name.lower() == wanted]

    def _read_status_line(self) -> tuple[int, int, str]:
        match = _STATUS_LINE.fullmatch(self._read_line())
        if match is None:
            raise client.HTTPException("The server sent no HTTP/1.1 response.")
        minor, status, reason = match.groups(b"")
        return int(minor), int(status), reason.strip().decode("latin-1")

    def _read_headers(self) -> Headers:
        headers: Headers = []
        for _ in range(MAX_HEADER_LINES + 1):
            line = self._read_line()
            if line in (b"\r\n", b"\n"):
                return headers
            match = _HEADER_LINE.fullmatch(line)
            if match is None or (match[1] is None and not headers):
                raise client.HTTPException("The server sent a header that is not valid.")
            name, value = match[1], match[2].strip()
            if name is None:
                name, begun = headers.pop()
                value = b"%b %b" % (begun, value)
            headers.append((name, value))
        raise client.HTTPException(f"The server sent more than {MAX_HEADER_LINES} headers.")

    def _read_line(self) -> bytes:
        line = self.fp.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise client.LineTooLong("header line")
        if not line.endswith(b"\n"):
            raise client.RemoteDisconnected("The server closed the connection too early.")
        return line
