"""Embeddings by Bedrock, over a real connection to a server that speaks its wire."""

import math
from array import array
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from idea_explorer.adapters.music.embedders import BedrockEmbedder
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ExternalError,
    RateLimitedError,
)
from tests.fakes.json_server import Fault, JsonServer, Reply, Request

COHERE = "eu.cohere.embed-v4:0"


class FakeBedrock(JsonServer):
    """Answers with vectors that tell the texts' lengths apart."""

    def handle(self, request: Request) -> Reply:
        given = request.json()
        if "inputText" in given:
            size = given["dimensions"]
            vector = [float(len(given["inputText"]))] + [1.0] * (size - 1)
            return Reply(200, {"embedding": vector, "inputTextTokenCount": 3})
        size = given.get("output_dimension", 1024)
        vectors = [[float(len(text))] + [1.0] * (size - 1) for text in given["texts"]]
        return Reply(200, {"embeddings": {"float": vectors}, "response_type": "embeddings_by_type"})


@pytest.fixture
def bedrock() -> Iterator[FakeBedrock]:
    with FakeBedrock() as server:
        yield server


def embedder(server: FakeBedrock, *model: str, **options: Any) -> BedrockEmbedder:
    make: Any = boto3.client
    connection = make(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=server.url,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=10),
    )
    return BedrockEmbedder(lambda: connection, *model, **options)


def length(vector: "array[float]") -> float:
    return math.sqrt(sum(value * value for value in vector))


def test_titan_embeds_each_text_in_order(bedrock: FakeBedrock) -> None:
    texts = ["x" * number for number in range(1, 13)]
    vectors = embedder(bedrock, dimensions=256).embed(texts, "document")
    firsts = [vector[0] for vector in vectors]
    assert firsts == sorted(firsts)
    assert len(set(firsts)) == 12
    assert all(len(vector) == 256 and length(vector) == pytest.approx(1) for vector in vectors)
    asked = bedrock.requests[0]
    assert asked.path == "/model/amazon.titan-embed-text-v2:0/invoke"
    assert asked.json()["normalize"] is True


def test_cohere_takes_many_texts_at_once_and_is_told_what_for(bedrock: FakeBedrock) -> None:
    model = embedder(bedrock, COHERE)
    assert len(model.embed(["text"] * 100, "document")) == 100
    assert sorted(len(request.json()["texts"]) for request in bedrock.requests) == [4, 96]
    assert {request.json()["input_type"] for request in bedrock.requests} == {"search_document"}
    model.embed(["mood"], "query")
    assert bedrock.requests[-1].json() == {
        "texts": ["mood"],
        "input_type": "search_query",
        "truncate": "END",
        "embedding_types": ["float"],
        "output_dimension": 512,
    }


def test_model_and_size_make_the_name_that_vectors_are_kept_under(bedrock: FakeBedrock) -> None:
    assert embedder(bedrock).name == "amazon.titan-embed-text-v2:0/512"
    assert embedder(bedrock, COHERE, dimensions=1024).name == f"{COHERE}/1024"
    assert embedder(bedrock, "cohere.embed-english-v3").dimensions == 1024
    assert embedder(bedrock, floor=0.0).floor == 0.0


def test_an_unknown_model_is_refused_at_once(bedrock: FakeBedrock) -> None:
    with pytest.raises(ConfigurationError, match="not known here"):
        embedder(bedrock, "acme.embed")


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("ThrottlingException", 429, RateLimitedError),
        ("AccessDeniedException", 403, AuthFailedError),
    ],
)
def test_a_failure_is_told_as_any_other_of_aws(
    bedrock: FakeBedrock, code: str, status: int, error: type[ExternalError]
) -> None:
    bedrock.fail(status, headers={"x-amzn-errortype": code})
    with pytest.raises(error):
        embedder(bedrock).embed(["mood"], "query")


@pytest.mark.parametrize("body", [b"{}", b'{"embedding": [1.0]}', b'{"embedding": "x"}', b"<html>"])
def test_an_answer_of_another_form_is_an_error(bedrock: FakeBedrock, body: bytes) -> None:
    bedrock.broken = Fault("reply", Reply(200, body))
    with pytest.raises(ExternalError):
        embedder(bedrock).embed(["mood"], "query")
