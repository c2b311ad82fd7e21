"""Embeddings by Amazon Bedrock: Titan Text Embeddings V2 or Cohere Embed."""

import json
import math
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.domain.errors import ConfigurationError, ExternalError
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports.music import Vector

TITAN = "amazon.titan-embed-text-v2:0"
PARALLEL = 8  # concurrent requests, for a model that takes one text at a time

Purpose: TypeAlias = Literal["document", "query"]


class TitanResponse(BaseModel):
    embedding: list[float]


class CohereFloats(BaseModel):
    float: list[list[float]]


class CohereResponse(BaseModel):
    embeddings: CohereFloats


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """The request and response format of a maker's models.

    `floor` is about what these models give unrelated texts; some collections may need another.
    """

    batch: int
    dimensions: int
    floor: float
    request: Callable[[Sequence[str], Purpose, int], JsonObject]
    parse: Callable[[bytes], list[list[float]]]


FAMILIES = {
    "amazon.titan-embed-text-v2": ModelFamily(
        batch=1,
        dimensions=512,
        floor=0.15,
        request=lambda texts, _, size: {
            "inputText": texts[0],
            "dimensions": size,
            "normalize": True,
        },
        parse=lambda body: [TitanResponse.model_validate_json(body).embedding],
    ),
    "cohere.embed-v4": ModelFamily(
        batch=96,
        dimensions=512,
        floor=0.3,
        request=lambda texts, purpose, size: {
            **_cohere_request(texts, purpose),
            "output_dimension": size,
        },
        parse=lambda body: CohereResponse.model_validate_json(body).embeddings.float,
    ),
    "cohere.embed": ModelFamily(
        batch=96,
        dimensions=1024,
        floor=0.3,
        request=lambda texts, purpose, _: _cohere_request(texts, purpose),
        parse=lambda body: CohereResponse.model_validate_json(body).embeddings.float,
    ),
}


class BedrockEmbedder:
    """Sends texts to Bedrock in the client's region."""

    def __init__(
        self,
        connect: Callable[[], Any],
        model_id: str = TITAN,
        *,
        dimensions: int | None = None,
        floor: float | None = None,
    ) -> None:
        # an inference profile names its model after the region: eu.cohere.embed-v4:0
        families = [family for name, family in FAMILIES.items() if name in model_id]
        if not families:
            raise ConfigurationError(
                f"The embedding model '{model_id}' is not known here.",
                hint=f"Choose one of: {', '.join(FAMILIES)}.",
            )
        self._connect = connect
        self._model_id = model_id
        self._family = families[0]
        self.dimensions = dimensions or self._family.dimensions
        self.floor = self._family.floor if floor is None else floor
        self.name = f"{model_id}/{self.dimensions}"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        size = self._family.batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        if len(batches) == 1:
            return self._embed_batch(batches[0], purpose)
        with ThreadPoolExecutor(PARALLEL) as side_by_side:
            responses = side_by_side.map(lambda batch: self._embed_batch(batch, purpose), batches)
            return [vector for response in responses for vector in response]

    def _embed_batch(self, texts: Sequence[str], purpose: Purpose) -> list[Vector]:
        body = json.dumps(self._family.request(texts, purpose, self.dimensions))
        with map_aws_errors("Bedrock"):
            response = (
                self._connect()
                .invoke_model(
                    modelId=self._model_id,
                    body=body,
                    accept="application/json",
                    contentType="application/json",
                )["body"]
                .read()
            )
        try:
            vectors = self._family.parse(response)
        except ValidationError as error:
            raise ExternalError("Bedrock sent a response of an unexpected form.") from error
        if len(vectors) != len(texts) or {len(vector) for vector in vectors} != {self.dimensions}:
            raise ExternalError("Bedrock returned the wrong number or size of vectors.")
        return [_normalize(vector) for vector in vectors]


def _cohere_request(texts: Sequence[str], purpose: Purpose) -> JsonObject:
    return {
        "texts": [*texts],
        "input_type": f"search_{purpose}",
        "truncate": "END",
        "embedding_types": ["float"],
    }


def _normalize(vector: Sequence[float]) -> Vector:
    length = math.sqrt(sum(value * value for value in vector))
    return array("f", (value / length for value in vector) if length else vector)
