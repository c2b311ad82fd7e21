"""Meaning by Amazon Bedrock: Titan Text Embeddings V2, or Cohere Embed."""

import json
import math
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from idea_explorer.adapters.aws.client import aws_errors
from idea_explorer.domain.errors import ConfigurationError, ExternalError
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports.music import Vector

TITAN = "amazon.titan-embed-text-v2:0"
PARALLEL = 8  # requests under way at once, for a model that takes one text at a time

Purpose: TypeAlias = Literal["document", "query"]


class TitanAnswer(BaseModel):
    embedding: list[float]


class CohereFloats(BaseModel):
    float: list[list[float]]


class CohereAnswer(BaseModel):
    embeddings: CohereFloats


@dataclass(frozen=True, slots=True)
class Family:
    """How the models of one maker are asked and answer.

    `floor` is a starting point from what these models usually give unrelated texts; a collection of its
    own kind may want another.
    """

    batch: int
    dimensions: int
    floor: float
    ask: Callable[[Sequence[str], Purpose, int], JsonObject]
    read: Callable[[bytes], list[list[float]]]


FAMILIES = {
    "amazon.titan-embed-text-v2": Family(
        batch=1,
        dimensions=512,
        floor=0.15,
        ask=lambda texts, _, size: {"inputText": texts[0], "dimensions": size, "normalize": True},
        read=lambda body: [TitanAnswer.model_validate_json(body).embedding],
    ),
    "cohere.embed-v4": Family(
        batch=96,
        dimensions=512,
        floor=0.3,
        ask=lambda texts, purpose, size: {
            **_ask_cohere(texts, purpose),
            "output_dimension": size,
        },
        read=lambda body: CohereAnswer.model_validate_json(body).embeddings.float,
    ),
    "cohere.embed": Family(
        batch=96,
        dimensions=1024,
        floor=0.3,
        ask=lambda texts, purpose, _: _ask_cohere(texts, purpose),
        read=lambda body: CohereAnswer.model_validate_json(body).embeddings.float,
    ),
}


class BedrockEmbedder:
    """Keeps the promises of Embedder. Texts leave this process for Bedrock in the client's region."""

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
            return self._batch(batches[0], purpose)
        with ThreadPoolExecutor(PARALLEL) as side_by_side:
            answers = side_by_side.map(lambda batch: self._batch(batch, purpose), batches)
            return [vector for answer in answers for vector in answer]

    def _batch(self, texts: Sequence[str], purpose: Purpose) -> list[Vector]:
        body = json.dumps(self._family.ask(texts, purpose, self.dimensions))
        with aws_errors("Bedrock"):
            answer = (
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
            vectors = self._family.read(answer)
        except ValidationError as error:
            raise ExternalError("Bedrock answered in an unexpected form.") from error
        if len(vectors) != len(texts) or {len(vector) for vector in vectors} != {self.dimensions}:
            raise ExternalError("Bedrock answered with vectors of another number or size.")
        return [_unit(vector) for vector in vectors]


def _ask_cohere(texts: Sequence[str], purpose: Purpose) -> JsonObject:
    return {
        "texts": [*texts],
        "input_type": f"search_{purpose}",
        "truncate": "END",
        "embedding_types": ["float"],
    }


def _unit(vector: Sequence[float]) -> Vector:
    length = math.sqrt(sum(value * value for value in vector))
    return array("f", (value / length for value in vector) if length else vector)
