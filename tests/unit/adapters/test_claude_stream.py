"""A stream of Claude's, from its bytes to the words that a watcher gets."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from idea_explorer.adapters.claude.client import ANTHROPIC, map_sdk_errors
from idea_explorer.adapters.claude.message import MessageBuilder
from idea_explorer.adapters.claude.stream import StreamReader
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.json import Block
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer


@dataclass
class Watched:
    seen: list[str] = field(default_factory=list)

    def tick(self) -> None:
        pass

    def text(self, delta: str) -> None:
        self.seen.append(f"text {delta}")

    def thinking(self, delta: str) -> None:
        self.seen.append(f"thinking {delta}")

    def block(self, block: Block) -> None:
        self.seen.append(f"block {block['type']}")

    def usage(self, usage: Usage) -> None:
        pass


@dataclass
class Response:
    """A response whose body arrives in these pieces."""

    pieces: Sequence[bytes]
    headers: dict[str, str] = field(default_factory=dict)

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self.pieces


@dataclass
class Stream:
    response: Response

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def read(*pieces: bytes) -> tuple[ModelAnswer, list[str]]:
    watched = Watched()
    message = MessageBuilder(watched)
    reader = StreamReader(
        lambda: cast("Any", Stream(Response(pieces))),
        watched.tick,
        message.show,
        grace_seconds=0.0,
    )
    with reader as events:
        for event in events:
            message.add_event(event)
    message.show()
    return message.build(), watched.seen


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def words(kind: str, index: int, *deltas: str) -> list[bytes]:
    return [
        event("content_block_start", index=index, content_block={"type": kind, kind: ""}),
        *(
            event("content_block_delta", index=index, delta={"type": f"{kind}_delta", kind: delta})
            for delta in deltas
        ),
        event("content_block_stop", index=index),
    ]


BEGIN = event("message_start", message={"usage": {"input_tokens": 3}})
END = [
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
    event("message_stop"),
]
ALL = [BEGIN, *words("thinking", 0, "Is ", "it?"), *words("text", 1, "Tea ", "für ", "two."), *END]


def test_words_that_came_together_are_handed_on_together() -> None:
    answer, seen = read(b"".join(ALL))

    assert seen == ["thinking Is it?", "block thinking", "text Tea für two.", "block text"]
    assert [block.get("text") or block.get("thinking") for block in answer.content] == [
        "Is it?",
        "Tea für two.",
    ]


@pytest.mark.parametrize("size", [1, 7, 64, 1_000])
def test_an_answer_is_the_same_however_its_bytes_are_cut(size: int) -> None:
    whole = b"".join(ALL)
    answer, seen = read(*(whole[at : at + size] for at in range(0, len(whole), size)))

    expected, _ = read(whole)
    assert answer == expected
    shown = "".join(each.removeprefix("text ") for each in seen if each.startswith("text "))
    assert shown == "Tea für two."


def test_a_block_whose_end_was_not_sent_keeps_its_words() -> None:
    without_stop = words("text", 0, "Tea.")[:-1]

    answer, seen = read(BEGIN, *without_stop, *END)

    assert (answer.content, seen) == ([{"type": "text", "text": "Tea."}], ["text Tea."])


PING = event("ping")
BEGUN = event("message_start", message={"usage": {"input_tokens": 1}})


def endless(*first: bytes) -> Iterator[bytes]:
    """The connection is alive, and nothing is said on it."""
    yield from first
    for number in range(1_000):
        time.sleep(0.01)
        yield (PING, b": alive\n\n")[number % 2]


@pytest.mark.parametrize(
    ("first", "grace_seconds", "least"), [([BEGUN], 60.0, 0.0), ([], 0.0, 0.0), ([], 0.5, 0.5)]
)
def test_a_deadline_is_seen_while_only_pings_arrive(
    first: list[bytes], grace_seconds: float, least: float
) -> None:
    def check() -> None:
        raise TimeoutError

    response = Response(cast("Any", endless(*first)))
    reader = StreamReader(
        lambda: cast("Any", Stream(response)), check, lambda: None, grace_seconds=grace_seconds
    )
    began = time.monotonic()

    with pytest.raises(TimeoutError), reader as events:
        list(events)

    assert least <= time.monotonic() - began < least + 5


@pytest.mark.parametrize("first", [PING, b": alive\n\n", BEGUN[:20]])
def test_a_response_that_begins_in_the_grace_period_is_read_before_the_deadline_ends_it(
    first: bytes,
) -> None:
    """Its first event says what the request has cost."""

    def check() -> None:
        raise TimeoutError

    def late() -> Iterator[bytes]:
        yield first
        time.sleep(0.1)
        yield BEGUN[20:] if first == BEGUN[:20] else BEGUN
        yield from endless()

    reader = StreamReader(
        lambda: cast("Any", Stream(Response(cast("Any", late())))),
        check,
        lambda: None,
        grace_seconds=60.0,
        after_read=check,
    )
    seen: list[object] = []

    with pytest.raises(TimeoutError), reader as events:
        seen.extend(events)

    assert seen


def whole(**changes: object) -> list[bytes]:
    """The events of a small answer, some of them changed."""
    given: dict[str, Any] = {
        "usage": {"input_tokens": 10, "output_tokens": 1},
        "block": {"type": "text", "text": "Tea."},
        "stop_reason": "end_turn",
        **changes,
    }
    return [
        event("message_start", message={"usage": given["usage"]}),
        event("content_block_start", index=0, content_block=given["block"]),
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": given["stop_reason"]}, usage={}),
        event("message_stop"),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"usage": {"input_tokens": 100.5}},
        {"usage": {"output_tokens": -1}},
        {"usage": {"input_tokens": {"a": 1}}},
        {"usage": {"cache_read_input_tokens": "many"}},
        {"usage": {"cache_creation_input_tokens": True}},
        {"usage": {"input_tokens": float("inf")}},
        {"usage": {"output_tokens": 10**400}},
        {"usage": {"server_tool_use": 5}},
        {"usage": "many"},
        {"usage": {"server_tool_use": {"web_search_requests": [1]}}},
        {"stop_reason": 7},
        {"block": "Tea."},
    ],
)
def test_what_could_not_be_read_again_is_not_taken(changes: dict[str, object]) -> None:
    """The client names these errors, and asks again; once stored, the exploration would be lost."""
    with pytest.raises(ExternalError), map_sdk_errors(ANTHROPIC):
        read(*whole(**changes))


def test_a_count_may_be_missing_or_written_as_a_float() -> None:
    counts = {"input_tokens": 100.0, "output_tokens": None, "server_tool_use": None}

    found, _ = read(*whole(usage=counts))

    assert found.usage == Usage(input_tokens=100)
    assert type(found.usage.input_tokens) is int
