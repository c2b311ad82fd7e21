"""Server-sent events as Claude sends them, decoded with little work; whatever else the format allows is left
to the SDK's decoder."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast

import anthropic

from idea_explorer.domain.dataclass import dataclass

_EVENT, _DATA = b"event: ", b"\ndata: "


def decode_events(pieces: Iterator[bytes]) -> Iterator[tuple[str | None, bytes]]:
    """The name and the data of each event, however the bytes are cut."""
    parts: list[bytes] = []  # of an event that has not ended
    last = b""
    for piece in pieces:
        if b"\r" in piece:  # ends a line: in JSON it is escaped
            yield from _decode_any(chain([*parts, piece], pieces))
            return
        parts.append(piece)
        ends = b"\n\n" in last + piece
        last = piece[-1:] or last
        if not ends:
            continue
        *events, rest = b"".join(parts).split(b"\n\n")
        parts = [rest] if rest else []
        for event in events:
            head, found, data = event.partition(_DATA)
            if found and head.startswith(_EVENT) and b"\n" not in head and b"\n" not in data:
                yield head[len(_EVENT) :].decode(), data
            else:
                yield from _decode_any([event, b"\n\n"])


def _decode_any(pieces: Iterable[bytes]) -> Iterator[tuple[str | None, bytes]]:
    for event in anthropic.Stream.raw_events(cast("Any", _Body(pieces))):
        yield event.event, event.data.encode()


@dataclass(frozen=True, slots=True)
class _Body:
    """As much of a response as the SDK's decoder asks for."""

    pieces: Iterable[bytes]

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self.pieces
