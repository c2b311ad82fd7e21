"""Response bodies, decoded piece by piece and never beyond a limit."""

import zlib
from collections.abc import Iterable

from idea_explorer.domain.errors import (
    HttpError,
    ResponseTooLargeError,
    UnsupportedContentError,
)

ACCEPT_ENCODING = "gzip, deflate"  # what can be decoded here in bounded steps
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


def read_body(chunks: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """At most `limit` bytes, decoded; what would be more raises ResponseTooLargeError.

    The encoded bytes are limited too: a stream can go on for ever without decoding to anything.
    """
    decoder = _decoder(encoding)
    body = bytearray()
    received = 0
    for chunk in chunks:
        received += len(chunk)
        body += decoder.decode(chunk, limit + 1 - len(body))
        if len(body) > limit or received > 2 * limit:
            raise ResponseTooLargeError(f"The answer is larger than {limit // 1024} KB.")
    if not decoder.complete and received:
        raise HttpError(f"The answer's {encoding} encoding is cut off.")
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
            # a zlib header has two bytes: whether there is one shows with the second, or never
            if self._encoding == "gzip" or len(self._head) >= 2:
                raise HttpError(f"The answer's {self._encoding} encoding is broken.") from error
            self._stream = zlib.decompressobj(_RAW_DEFLATE)
            head, self._head = self._head, b"--"
            return self._inflate(head + data, room)
        self._head = (self._head + data)[:2]
        return decoded


def _decoder(encoding: str) -> _Identity | _Inflate:
    if encoding in {"", "identity"}:
        return _Identity()
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Inflate(encoding.removeprefix("x-"))
    raise UnsupportedContentError(
        f"The answer's content encoding '{encoding[:40]}' is not supported."
    )
