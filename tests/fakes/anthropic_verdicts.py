"""How the fake answers a request to verify sentences: honestly, by the words that a passage shares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.fakes.anthropic_turns import Turn, answer, text
from tests.fakes.anthropic_wire import JsonObject, content_blocks

Judge = Callable[[JsonObject], Turn]
SUPPORTED, PARTLY = 0.5, 0.25  # of the longer words of a sentence that its passages have


def is_about_sentences(request: JsonObject) -> bool:
    return (request.get("output_config") or {}).get("format") is not None


def sentences_of(request: JsonObject) -> list[JsonObject]:
    blocks = content_blocks(request["messages"][-1])
    (document,) = [block for block in blocks if block["type"] == "document"]
    sentences = json.loads(document["source"]["data"])
    assert isinstance(sentences, list)
    return sentences


def judge_by_words(request: JsonObject) -> Turn:
    verdicts = [
        {"number": entry["number"], "verdict": _judge(entry), "reason": "By its words."}
        for entry in sentences_of(request)
    ]
    return answer(text(json.dumps({"verdicts": verdicts})))


def _judge(entry: JsonObject) -> str:
    words = set(re.findall(r"\w{4,}", entry["sentence"].lower()))
    found = set(re.findall(r"\w{4,}", " ".join(entry["passages"]).lower()))
    share = len(words & found) / len(words) if words else 1.0
    return "supported" if share >= SUPPORTED else "partly" if share >= PARTLY else "not"
