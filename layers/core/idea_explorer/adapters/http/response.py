"""A response of HTTP/1.1, read by the rules of RFC 9112: one that contradicts itself, or ends before its
own framing says so, is an error."""

import socket
from collections.abc import Iterator

import httpx2

from idea_explorer.domain.patterns import lazy_pattern

READ_BYTES = 65_536
# Far more than Claude or GitHub send; a hostile server cannot make us hold or read more.
MAX_LINE_BYTES = 65_536
MAX_HEADER_LINES = 200
MAX_INTERIM_RESPONSES = 10  # such as 103 Early Hints
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_VALUE = rb"[\t\x20-\x7e\x80-\xff]*"
TOKEN = lazy_pattern(_TOKEN)  # a method, or the name of a header
HEADER_VALUE = lazy_pattern(_VALUE)
_STATUS_LINE = lazy_pattern(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: (%b))?\r?\n" % _VALUE)
# A line that begins with a space continues the one before.
_HEADER_LINE = lazy_pattern(rb"(?:(%b):|[ \t])(%b)\r?\n" % (_TOKEN, _VALUE))
_CHUNK_LINE = lazy_pattern(rb"([0-9A-Fa-f]{1,16})(?:;%b|[ \t]*)\r\n" % _VALUE)
_LENGTH = lazy_pattern(rb"[0-9]{1,20}")
_EMPTY_LINES = (b"\r\n", b"\n")

Headers = list[tuple[bytes, bytes]]


class Response:
    """The head is read at once, and the body as it arrives. Interim responses are skipped. Raises
    RemoteProtocolError, and OSError where the connection fails."""

    def __init__(self, connected: socket.socket, method: str) -> None:
        self._reader = _Reader(connected)
        for _ in range(MAX_INTERIM_RESPONSES + 1):
            self._read_head()
            if self.status >= 200:
                break
            if self.status == 101:
                raise _protocol_error("The server switched to a protocol that nobody asked for.")
        else:
            raise _protocol_error("The server sent too many interim responses.")
        self._is_chunked, self._length = self._find_end(method)
        self._is_complete = False

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can be used for another request."""
        has_end = self._is_chunked or self._length is not None
        given = b",".join(self._values(b"connection")).lower().split(b",")
        options = {option.strip() for option in given}
        stays = self.version == b"HTTP/1.1" and b"close" not in options
        return self._is_complete and has_end and stays and not self._reader.has_more

    def read_body(self) -> Iterator[bytes]:
        if self._is_chunked:
            yield from self._read_chunks()
        elif self._length is not None:
            yield from self._reader.read(self._length)
        else:
            yield from self._reader.read_to_end()
        self._is_complete = True

    def _read_chunks(self) -> Iterator[bytes]:
        while size := self._read_chunk_size():
            yield from self._reader.read(size)
            if self._reader.read_line() != b"\r\n":
                raise _protocol_error("The server sent a chunk that is longer than its size says.")
        self._read_headers()  # the trailers, which nobody needs

    def _read_chunk_size(self) -> int:
        match = _CHUNK_LINE.fullmatch(self._reader.read_line())
        if match is None:
            raise _protocol_error("The server sent a chunk whose size is not valid.")
        return int(match[1], 16)

    def _read_head(self) -> None:
        match = _STATUS_LINE.fullmatch(self._reader.read_line())
        if match is None:
            raise _protocol_error("The server did not answer with HTTP/1.1.")
        minor, status, reason = match.groups(b"")
        self.version = b"HTTP/1.0" if minor == b"0" else b"HTTP/1.1"
        self.status, self.reason = int(status), reason.strip()
        self.headers = self._read_headers()

    def _read_headers(self) -> Headers:
        headers: Headers = []
        for _ in range(MAX_HEADER_LINES + 1):
            line = self._reader.read_line()
            if line in _EMPTY_LINES:
                return headers
            match = _HEADER_LINE.fullmatch(line)
            if match is None or (match[1] is None and not headers):
                raise _protocol_error("The server sent a header that is not valid.")
            name, value = match[1], match[2].strip()
            if name is None:
                name, begun = headers.pop()
                value = (b"%b %b" % (begun, value)).strip()
            headers.append((name, value))
        raise _protocol_error(f"The server sent more than {MAX_HEADER_LINES} headers.")

    def _find_end(self, method: str) -> tuple[bool, int | None]:
        """Whether the body is in chunks, and else how long it is; None: until the server closes the
        connection."""
        encodings = self._values(b"transfer-encoding")
        if encodings and [encoding.lower() for encoding in encodings] != [b"chunked"]:
            raise _protocol_error("The server uses a transfer encoding that is not supported.")
        given = b",".join(self._values(b"content-length"))  # the same one may be repeated
        lengths = {length.strip() for length in given.split(b",")} if given else set()
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise _protocol_error("The server sent a content length that is not valid.")
        if method == "HEAD" or self.status in (204, 304):
            return False, 0
        if encodings:
            return True, None
        return False, int(lengths.pop()) if lengths else None

    def _values(self, wanted: bytes) -> list[bytes]:
        return [value for name, value in self.headers if name.lower() == wanted]


class _Reader:
    """What a connection has received, from where it was read last."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected
        self._bytes = b""
        self._at = 0

    @property
    def has_more(self) -> bool:
        return self._at < len(self._bytes)

    def read_line(self) -> bytes:
        while (end := self._bytes.find(b"\n", self._at) + 1) == 0:
            begun = self._bytes[self._at :]
            if len(begun) > MAX_LINE_BYTES:
                raise _protocol_error("The server sent a line that is too long.")
            self._bytes, self._at = begun + self._receive(), 0
        if end - self._at > MAX_LINE_BYTES:
            raise _protocol_error("The server sent a line that is too long.")
        line = self._bytes[self._at : end]
        self._at = end
        return line

    def read(self, size: int) -> Iterator[bytes]:
        """So many bytes, as they arrive."""
        while size:
            if not self.has_more:
                self._bytes, self._at = self._receive(), 0
            piece = self._bytes[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            yield piece

    def read_to_end(self) -> Iterator[bytes]:
        if self.has_more:
            yield self._bytes[self._at :]
        while data := self._connected.recv(READ_BYTES):
            yield data
        self._at = len(self._bytes)

    def _receive(self) -> bytes:
        if data := self._connected.recv(READ_BYTES):
            return data
        raise _protocol_error("The server closed the connection too early.")


def _protocol_error(message: str) -> httpx2.RemoteProtocolError:
    return httpx2.RemoteProtocolError(message)
