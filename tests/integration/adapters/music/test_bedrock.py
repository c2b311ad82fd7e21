"""Embeddings by Bedrock, over a real connection to a server that speaks its wire."""

import math
from array import array
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

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
TITAN = "amazon.titan-embed-text-v2:0"
COHERE_V3 = "cohere.embed-english-v3"
PROFILES = ("us", "eu", "global")
# Parameters and values by model, as in AWS's user guide: model-parameters-titan-embed-text,
# model-parameters-embed-v3 and model-parameters-embed-v4.
PURPOSES = {"search_document", "search_query", "classification", "clustering"}
RULES: dict[str, dict[str, Any]] = {
    TITAN: {
        "inputText": lambda text: 0 < len(text) <= 50_000,
        "dimensions": lambda size: size in {256, 512, 1024},
        "normalize": lambda value: isinstance(value, bool),
    },
    COHERE_V3: {
        "texts": lambda texts: len(texts) <= 96 and all(len(text) <= 2_048 for text in texts),
        "input_type": lambda purpose: purpose in PURPOSES,
        "truncate": lambda where: where in {"NONE", "START", "END"},
        "embedding_types": lambda types: set(types) <= {"float", "int8", "uint8"},
    },
    "cohere.embed-v4:0": {
        "texts": lambda texts: len(texts) <= 96,
        "input_type": lambda purpose: purpose in PURPOSES,
        "truncate": lambda where: where in {"NONE", "LEFT", "RIGHT"},
        "embedding_types": lambda types: set(types) <= {"float", "int8", "uint8"},
        "output_dimension": lambda size: size in {256, 512, 1024, 1536},
        "max_tokens": lambda most: most <= 128_000,
    },
}


class FakeBedrock(JsonServer):
    """Answers with vectors that tell the texts' lengths apart, to requests that Bedrock takes."""

    def handle(self, request: Request) -> Reply:
        called, given = unquote(request.path).split("/")[2], request.json()
        region, _, model = called.partition(".")
        if region not in PROFILES:
            model = called
        if model == "cohere.embed-v4:0" and model == called:
            return _refuse(
                f"Invocation of model ID {called} with on-demand throughput isn't supported. Retry your"
                " request with the ID or ARN of an inference profile that contains this model."
            )
        if model not in RULES or (region in PROFILES and model != "cohere.embed-v4:0"):
            return _refuse("The provided model identifier is invalid.")
        for name, value in given.items():
            if name not in RULES[model] or not RULES[model][name](value):
                return _refuse(f"Malformed input request: {name}={value!r} is not permitted")
        if model == TITAN:
            vector = _vector(given["inputText"], given.get("dimensions", 1024))
            return Reply(200, {"embedding": vector, "inputTextTokenCount": 3})
        size = given.get("output_dimension", 1536) if model != COHERE_V3 else 1024
        vectors: Any = [_vector(text, size) for text in given["texts"]]
        kind = "embeddings_floats"
        if "embedding_types" in given:
            vectors, kind = {"float": vectors}, "embeddings_by_type"
        return Reply(200, {"id": "1", "embeddings": vectors, "response_type": kind})


def _vector(text: str, size: int) -> list[float]:
    return [float(len(text))] + [1.0] * (size - 1)


def _refuse(message: str) -> Reply:
    headers = {"x-amzn-errortype": "ValidationException"}
    return Reply(400, {"message": message}, headers)


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
        "truncate": "RIGHT",
        "embedding_types": ["float"],
        "output_dimension": 512,
    }


def test_the_third_version_has_other_names_for_where_a_text_is_cut(bedrock: FakeBedrock) -> None:
    (vector,) = embedder(bedrock, COHERE_V3).embed(["mood"], "query")

    assert len(vector) == 1024
    assert bedrock.requests[-1].json()["truncate"] == "END"
    assert "output_dimension" not in bedrock.requests[-1].json()


def test_the_fourth_version_is_called_by_inference_profile_only(bedrock: FakeBedrock) -> None:
    with pytest.raises(ConfigurationError, match="only through an inference profile") as raised:
        embedder(bedrock, "cohere.embed-v4:0")

    for profile in PROFILES:
        assert f"{profile}.cohere.embed-v4:0" in (raised.value.hint or "")
        embedder(bedrock, f"{profile}.cohere.embed-v4:0").embed(["mood"], "query")
        assert unquote(bedrock.requests[-1].path) == f"/model/{profile}.cohere.embed-v4:0/invoke"


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
