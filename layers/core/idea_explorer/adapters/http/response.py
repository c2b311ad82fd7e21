"""A response as `http.client` reads it, but refused where that would guess what the server meant."""

from http import client
from typing import TYPE_CHECKING, cast

from idea_explorer.domain.patterns import lazy_pattern

if TYPE_CHECKING:
    from io import BufferedReader

_NAME = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_VALUE = rb"[\t\x20-\x7e\x80-\xff]*"
HEADER_VALUE = lazy_pattern(_VALUE)
# A line that begins with a space continues the one before; the empty one is the last.
_HEADER_LINE = lazy_pattern(rb"(?:(?:%b:|[ \t])%b)?\r?\n" % (_NAME, _VALUE))
_LENGTH = lazy_pattern(r"[0-9]{1,20}")


class StrictResponse(client.HTTPResponse):
    """Raises HTTPException for headers that are cut off or malformed, from which `http.client` takes what
    it can, and for a body whose length is in doubt. Skips the responses that announce the actual one."""

    def begin(self) -> None:
        reader = self.fp
        self.fp = cast("BufferedReader", _HeadReader(reader))
        try:
            super().begin()
            while self.status < 200 and self.status != 101:
                self.headers = None  # type: ignore[assignment]  # so that the next ones are read
                super().begin()
        finally:
            if self.fp is not None:  # else it has been closed
                self.fp = reader
        if self.status == 101:
            raise client.HTTPException("The server switched to a protocol that nobody asked for.")
        self._check_length()

    def _check_length(self) -> None:
        encodings = self.headers.get_all("transfer-encoding", [])
        if encodings and (len(encodings) > 1 or not self.chunked):
            raise client.HTTPException("The server uses a transfer encoding that is not supported.")
        lengths = {length.strip() for length in self.headers.get_all("content-length", [])}
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise client.HTTPException("The server sent a content length that is not valid.")


class _HeadReader:
    """Of a connection, the lines before the body."""

    def __init__(self, reader: "BufferedReader") -> None:
        self._reader = reader
        self._is_within_headers = False
        self.close = reader.close

    def readline(self, limit: int) -> bytes:
        line = self._reader.readline(limit)
        if len(line) == limit:
            return line  # which `http.client` refuses
        if not line.endswith(b"\n"):
            raise client.RemoteDisconnected("The server closed the connection too early.")
        if self._is_within_headers and not _HEADER_LINE.fullmatch(line):
            raise client.HTTPException("The server sent a header that is not valid.")
        self._is_within_headers = line not in (b"\r\n", b"\n")
        return line
