"""Our decoder of server-sent events gives what that of the SDK does, however the bytes are cut."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import pytest

from idea_explorer.adapters.claude.sse import decode_events

TEXT = 'event: content_block_delta\ndata: {"text": "Tee für zwei…\\n\\r", "n": 1}\n\n'
STREAMS = {
    "as Claude sends it": TEXT * 3
    + "event: ping\ndata: {}\n\n"
    + "event: message_stop\ndata: {}\n\n",
    "a comment and other fields": f": hello\n\nid: 7\nretry: 10\n{TEXT}weird\n{TEXT}",
    "data in several lines": "event: a\ndata: 1\ndata: 2\n\nevent: b\ndata: 3\n\n",
    "data before the name": "data: 1\nevent: a\n\ndata: 2\n\n",
    "no space after the colon": "event:a\ndata:1\n\n",
    "two spaces after the colon": "event:  a\ndata:  1\n\n",
    "no data, no name": "event: a\n\nevent: \ndata: 1\n\n",
    "more empty lines": f"\n\n{TEXT}\n\n\n{TEXT}",
    "CRLF": TEXT.replace("\n", "\r\n") * 2,
    "CR": TEXT.replace("\n", "\r") * 2,
    "LF, then CRLF": TEXT + TEXT.replace("\n", "\r\n") + TEXT,
    "an end that is missing": f"{TEXT}event: a\ndata: 1\n",
    "data that looks like a field": 'event: a\ndata: {"x": "data: 1"}\n\n',
    "nothing": "",
}


@dataclass(frozen=True)
class Body:
    pieces: list[bytes]

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self.pieces


def decode_with_sdk(pieces: list[bytes]) -> list[tuple[str | None, bytes]]:
    events = anthropic.Stream.raw_events(cast("Any", Body(pieces)))
    return [(event.event, event.data.encode()) for event in events]


def with_names(events: list[tuple[str | None, bytes]]) -> list[tuple[str | None, bytes]]:
    """Those that anything is done with."""
    return [event for event in events if event[0]]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_the_events_are_those_of_the_sdk(stream: str, size: int) -> None:
    data = stream.encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    decoded = with_names([*decode_events(iter(pieces))])

    assert decoded == with_names(decode_with_sdk(pieces))


def test_an_event_is_there_as_soon_as_its_last_byte() -> None:
    pieces = iter([TEXT.encode()])

    next(decode_events(pieces))

    assert [*pieces] == []
    decoded = decode_events(iter([TEXT.encode()[:-1], b"\n", b"event: never"]))
    assert next(decoded)[0] == "content_block_delta"
