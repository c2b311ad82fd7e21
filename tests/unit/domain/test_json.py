import json

import pytest
from pydantic import JsonValue

from idea_explorer.domain.json import MAX_DEPTH, Block, sanitize, sanitize_block


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
