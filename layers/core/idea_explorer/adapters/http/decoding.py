"""Decodes response bodies piece by piece, never beyond a limit."""

import zlib
from collections.abc import Callable, Iterable, Iterator

from idea_explorer.domain.errors import (
    HttpError,
    ResponseTooLargeError,
    UnsupportedContentError,
)

ACCEPT_ENCODING = "gzip, deflate"  # the encodings that can be decoded in bounded steps
PIECE = 4_096
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


def read_body(
    chunks: Iterable[bytes], encoding: str, limit_for: Callable[[bytearray], int]
) -> tuple[bytes, bool]:
    """The decoded body up to a limit, and whether it goes on. `limit_for` gets the beginning: how much is
    read depends on what it is.

    The encoded bytes are limited too: a stream can go on forever without decoding to anything.
    """
    decoder = _create_decoder(encoding)
    body = bytearray()
    received = 0
    for piece in _split(chunks):
        received += len(piece)
        limit = limit_for(body)
        body += decoder.decode(piece, limit + 1 - len(body))
        limit = limit_for(body)
        if len(body) > limit:
            return bytes(body[:limit]), True
        if received > 2 * limit:
            raise ResponseTooLargeError(f"The response is larger than {limit // 1024} KB.")
    if not decoder.complete and received:
        raise HttpError(f"The response's {encoding} encoding is truncated.")
    return bytes(body), False


def _split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of which even the first does not expand to much more than a limit."""
    for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            yield chunk[start : start + PIECE]


class _Identity:
    complete = True

    def decode(self, data: bytes, room: int) -> bytes:
        return data[:room]


class _Inflate:
    """gzip with any number of members, or deflate, which servers send with and without a zlib header."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream = zlib.decompressobj(_GZIP if encoding == "gzip" else zlib.MAX_WBITS)
        self._head = b""

    @property
    def complete(self) -> bool:
        return self._stream.eof

    def decode(self, data: bytes, room: int) -> bytes:
        decoded = self._inflate(data, room)
        while self._encoding == "gzip" and self._stream.eof and self._stream.unused_data:
            rest = self._stream.unused_data
            if len(decoded) >= room or not rest.startswith(b"\x1f"):
                break
            self._stream = zlib.decompressobj(_GZIP)
            decoded += self._inflate(rest, room - len(decoded))
        return decoded

    def _inflate(self, data: bytes, room: int) -> bytes:
        try:
            decoded = self._stream.decompress(data, room)
        except zlib.error as error:
            # a zlib header has two bytes, so after two bytes it is clear whether there is one
            if self._encoding == "gzip" or len(self._head) >= 2:
                raise HttpError(f"The response's {self._encoding} encoding is broken.") from error
            self._stream = zlib.decompressobj(_RAW_DEFLATE)
            head, self._head = self._head, b"--"
            return self._inflate(head + data, room)
        self._head = (self._head + data)[:2]
        return decoded


def _create_decoder(encoding: str) -> _Identity | _Inflate:
    if encoding in {"", "identity"}:
        return _Identity()
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Inflate(encoding.removeprefix("x-"))
    raise UnsupportedContentError(f"The content encoding '{encoding[:40]}' is not supported.")
