"""Embeddings: by Amazon Bedrock (Titan Text Embeddings V2 or Cohere Embed), or without a model."""

import json
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from pydantic import AliasPath, BaseModel, Field, ValidationError

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConfigurationError, ExternalError
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports.music import Vector

TITAN = "amazon.titan-embed-text-v2:0"
PARALLEL = 8  # concurrent requests, for a model that takes one text at a time

Purpose: TypeAlias = Literal["document", "query"]


class TitanResponse(BaseModel):
    embedding: list[float]


class CohereResponse(BaseModel):
    embeddings: list[list[float]] = Field(validation_alias=AliasPath("embeddings", "float"))


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """The request and response format of a maker's models.

    `floor` is about what these models give unrelated texts; some collections may need another. `profiles`
    are the inference profiles of a model that can be called only through one.
    """

    batch: int
    dimensions: int
    floor: float
    request: Callable[[Sequence[str], Purpose, int], JsonObject]
    parse: Callable[[bytes], list[list[float]]]
    profiles: tuple[str, ...] = ()


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
            **_cohere_request(texts, purpose, truncate="RIGHT"),
            "output_dimension": size,
        },
        parse=lambda body: CohereResponse.model_validate_json(body).embeddings,
        profiles=("us.cohere.embed-v4:0", "eu.cohere.embed-v4:0", "global.cohere.embed-v4:0"),
    ),
    "cohere.embed": ModelFamily(
        batch=96,
        dimensions=1024,
        floor=0.3,
        request=lambda texts, purpose, _: _cohere_request(texts, purpose, truncate="END"),
        parse=lambda body: CohereResponse.model_validate_json(body).embeddings,
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
        if self._family.profiles and model_id.startswith("cohere."):
            raise ConfigurationError(
                f"Bedrock offers {model_id} only through an inference profile.",
                hint=f"Choose one of: {', '.join(self._family.profiles)}.",
            )
        self.dimensions = dimensions or self._family.dimensions
        self.floor = self._family.floor if floor is None else floor
        self.name = f"{model_id}/{self.dimensions}"
        self.weight = 1.0

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
            response = self._connect().invoke_model(
                modelId=self._model_id,
                body=body,
                accept="application/json",
                contentType="application/json",
            )
            content = response["body"].read()
        try:
            vectors = self._family.parse(content)
        except ValidationError as error:
            raise ExternalError("Bedrock sent a response of an unexpected form.") from error
        if len(vectors) != len(texts) or {len(vector) for vector in vectors} != {self.dimensions}:
            raise ExternalError("Bedrock returned the wrong number or size of vectors.")
        return [_normalize(vector) for vector in vectors]


def _cohere_request(texts: Sequence[str], purpose: Purpose, *, truncate: str) -> JsonObject:
    """`truncate` says where a text that is too long is cut: the end is END for v3, and RIGHT for v4."""
    return {
        "texts": [*texts],
        "input_type": f"search_{purpose}",
        "truncate": truncate,
        "embedding_types": ["float"],
    }


def _normalize(vector: Sequence[float]) -> Vector:
    length = math.sqrt(sum(value * value for value in vector))
    return array("f", (value / length for value in vector) if length else vector)


NEARNESS = 0.35  # how much of a concept carries over to its neighbours
_MIN_PREFIX = 3
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?", re.UNICODE)
_CONCEPT = re.compile(
    r"^(?P<name>\w+) \((?P<near>[\w ]+)\)\n(?P<words>(?:    .+\n)+)", re.MULTILINE
)


class LexiconEmbedder:
    """Texts as the moods, themes and moments that their words name, with one dimension for each concept.

    A hand-made lexicon instead of learned weights: it is small, needs no download, and returns zeros for
    a text that it does not understand. It knows English only, and only what songs are about.
    """

    name = "lexicon-2"
    floor = 0.3  # about one concept in common among three
    weight = 3.0

    def __init__(self) -> None:
        concepts = _lexicon()
        places = {name: place for place, (name, _, _) in enumerate(concepts)}
        self._near = [[places[near] for near in nears] for _, nears, _ in concepts]
        self._whole: dict[str, list[int]] = {}
        self._begin: dict[str, list[int]] = {}
        for place, (_, _, words) in enumerate(concepts):
            for word in words:
                entries = self._begin if word.endswith("*") else self._whole
                entries.setdefault(word.rstrip("*"), []).append(place)
        # a hyphen in the lexicon joins words that have the meaning only together
        self._phrase_starts = {entry.split("-")[0] for entry in self._whole if "-" in entry}
        self._longest = max(entry.count("-") for entry in self._whole) + 1
        self._longest_beginning = max(map(len, self._begin))
        self._concepts_of = lru_cache(maxsize=65_536)(self._look_up)

    @property
    def dimensions(self) -> int:
        return len(self._near)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        return [self._vector(text, purpose) for text in texts]

    def _vector(self, text: str, purpose: Purpose) -> Vector:
        said = [0.0] * self.dimensions
        for concepts in self._mentions(text):
            # an ambiguous word counts less for each of its concepts
            weight = 1 / math.sqrt(len(concepts))
            for concept in concepts:
                said[concept] += weight
        if purpose == "document":
            # a description that repeats itself is not much more about it
            said = [math.log1p(weight) for weight in said]
        meant = list(said)
        for concept, weight in enumerate(said):
            for near in self._near[concept] if weight else ():
                meant[near] += NEARNESS * weight
        return _normalize(meant)

    def _mentions(self, text: str) -> Iterator[tuple[int, ...]]:
        words = _WORD.findall(text.lower().replace("’", "'"))
        for start, word in enumerate(words):
            if concepts := self._concepts_of(word):
                yield concepts
            if word in self._phrase_starts:
                for length in range(2, self._longest + 1):
                    phrase = "-".join(words[start : start + length])
                    if found := self._whole.get(phrase):
                        yield tuple(found)

    def _look_up(self, word: str) -> tuple[int, ...]:
        found = set(self._whole.get(word, ()))
        for length in range(_MIN_PREFIX, min(len(word), self._longest_beginning) + 1):
            found.update(self._begin.get(word[:length], ()))
        return tuple(sorted(found))


def _lexicon() -> list[tuple[str, list[str], list[str]]]:
    """Name, neighbours and words of every concept."""
    text = (resources.files(__package__) / "lexicon.txt").read_text("utf-8")
    return [
        (concept["name"], concept["near"].split(), concept["words"].split())
        for concept in _CONCEPT.finditer(text)
    ]
