import json
from collections.abc import Callable

import pytest
from pydantic import JsonValue

from idea_explorer.api.http import ApiResponse
from idea_explorer.domain.event_json import dump_event
from idea_explorer.domain.events import ToolCallStart
from idea_explorer.domain.json import (
    MAX_DEPTH,
    Block,
    JsonObject,
    dump_canonical,
    dump_json,
    dump_text,
    json_size,
    parse_json,
    sanitize,
    sanitize_block,
)

VALUES: list[JsonValue] = [
    {"b": 1, "a": [{"d": None, "c": True}], "ä": "grün 😀"},
    [0.0, -0.0, 0.1, 1e-4, 9.9e-5, 1e-5, 1.5e-7, 1e15, 1e16, 1e22, -1e300, 10**30],
    '\x00\x1f\x7f\b\f\n\r\t"\\/\u2028',
    {"lone": "a\ud800b"},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_canonical_text_is_what_the_standard_library_writes(value: JsonValue) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert dump_canonical(value) == expected
    size = len(expected.encode("utf-8", "surrogatepass"))
    assert json_size(value) == pytest.approx(size, abs=3)  # a small number may be spelled shorter


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize(
    "dump",
    [
        dump_canonical,
        dump_text,
        lambda value: dump_text(value, indent=2, ensure_ascii=True),
        lambda value: dump_json(value).decode(),
        lambda value: dump_event(ToolCallStart(tool_call_id="1", tool_name="tool", input=value)),
        lambda value: ApiResponse(200, value).text(),
    ],
)
def test_a_number_that_json_has_no_word_for_becomes_null(
    dump: Callable[[JsonObject], str], number: float
) -> None:
    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    written = dump({"small": 1e-7, "x": [number, {"y": number}]})

    read = json.loads(written, parse_constant=refuse)
    assert read.get("input", read) == {"small": 1e-7, "x": [None, {"y": None}]}


@pytest.mark.parametrize(
    "text", ['{"a": "\\ud800"}', '[1e400, 1e-7, "\\ud83d\\ude00"]', "[" * 400 + "]" * 400]
)
def test_json_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert parse_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize("data", [b"", b"{", b'"\xff"', b"no"])
def test_what_is_no_json_is_an_error(data: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
        parse_json(data)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("grün 😀", "grün 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),  # a pair that came in two halves
        ({"\udfff": ["\udfff"]}, {"\ufffd": ["\ufffd"]}),
        (float("inf"), None),
        ([float("nan"), 1.5, 10**40, True, None], [None, 1.5, 10**40, True, None]),
    ],
)
def test_what_cannot_be_encoded_is_replaced_and_all_else_kept(
    value: JsonValue, kept: JsonValue
) -> None:
    assert sanitize(value) == kept
    json.dumps(sanitize(value), allow_nan=False, ensure_ascii=False).encode()


def test_what_is_nested_too_deep_is_cut() -> None:
    deep: JsonValue = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert sanitize(deep) == deep
    assert "null" in json.dumps(sanitize([deep]))


@pytest.mark.parametrize("given", [None, "", "x", 7, True, [], [{}]])
@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_arguments_that_are_no_object_become_an_empty_one(kind: str, given: JsonValue) -> None:
    block: Block = {"type": kind, "id": "1", "name": "n", "input": given}
    assert sanitize_block(block) == {**block, "input": {}}


def test_an_answer_that_can_be_stored_stays_as_it_is() -> None:
    call: Block = {"type": "tool_use", "input": {"a": [1.5]}}
    text: Block = {"type": "text", "text": "grün 😀"}
    for block in (call, text):
        assert sanitize_block(block) == block
