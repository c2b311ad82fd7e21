"""Decodes response bodies piece by piece, never beyond a limit."""

import zlib
from collections.abc import Iterable

from idea_explorer.domain.errors import (
    HttpError,
    ResponseTooLargeError,
    UnsupportedContentError,
)

ACCEPT_ENCODING = "gzip, deflate"  # the encodings that can be decoded in bounded steps
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


def read_body(chunks: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """The decoded body; raises ResponseTooLargeError beyond `limit` bytes.

    The encoded bytes are limited too: a stream can go on forever without decoding to anything.
    """
    decoder = _create_decoder(encoding)
    body = bytearray()
    received = 0
    for chunk in chunks:
        received += len(chunk)
        body += decoder.decode(chunk, limit + 1 - len(body))
        if len(body) > limit or received > 2 * limit:
            raise ResponseTooLargeError(f"The response is larger than {limit // 1024} KB.")
    if not decoder.complete and received:
        raise HttpError(f"The response's {encoding} encoding is truncated.")
    return bytes(body)


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
