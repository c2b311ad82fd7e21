"""What an exploration of five steps and ten tool calls asks of the stores. `make counts` prints all of it."""

import json
from pathlib import Path

import pytest

from tests.fakes.aws import REGION
from tests.performance.counts import count_deployed, count_embedded


def test_an_exploration_on_this_machine_makes_few_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = json.JSONEncoder.encode

    def count(encoder: json.JSONEncoder, value: object) -> str:
        text = encode(encoder, value)
        encoded.append(len(text))
        return text

    monkeypatch.setattr(json.JSONEncoder, "encode", count)

    counts = count_embedded(tmp_path)

    # ten times as slow as pydantic's for text; the documents that are read have 60 KB
    assert sum(encoded) <= 2_000
    # of which 3 and 31 are for the index of documents, which is built here
    assert counts.transactions <= 23
    assert counts.reads <= 66


def test_an_exploration_in_a_deployment_makes_few_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)

    counts = count_deployed(tmp_path)

    assert counts.total <= 43
    assert counts.requests["dynamodb TransactWriteItems"] <= 17
    assert counts.requests["s3 PutObject"] <= 5
    assert counts.write_units <= 231
