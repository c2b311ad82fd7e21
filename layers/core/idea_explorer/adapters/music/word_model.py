"""Embeddings on this machine: the lexicon and a small model together. Needs the extra `embedder`.

The model is WordLlama's: a vector for each of 32,000 tokens, taken from a language model and trained for
similarity. The vector of a text is the mean of its tokens', so no inference engine is needed, and its wheel
contains the files: nothing is downloaded.
"""

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from idea_explorer.adapters.music.embedders import LexiconEmbedder, Purpose
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports.music import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WEIGHTS = "weights/l2_supercat_256.safetensors"
DIMENSIONS = 256


class TextModel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Unit vectors, or zeros for a text without tokens."""


class WordModel:
    """Loads the model with the first text."""

    name = "wordllama-l2-supercat-256"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        found = find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise ConfigurationError(
                "The embedding model is not installed.",
                hint="Install the extra 'embedder', or unset IDEA_EMBEDDER.",
            )
        self._folder = Path(found.origin).parent

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        tokens = self._tokenizer.encode_batch([*texts], add_special_tokens=False)
        return [self._vector(each.ids) for each in tokens]

    def _vector(self, ids: Sequence[int]) -> Vector:
        if not ids:
            return array("f", bytes(4 * DIMENSIONS))
        mean = self._weights[[*ids]].mean(axis=0)
        length = math.sqrt(float(mean @ mean))
        return array("f", (mean / length if length else mean).tobytes())

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer: Tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _weights(self) -> "NDArray[np.float32]":
        import numpy as np
        from safetensors.numpy import load_file

        (weights,) = load_file(self._folder / WEIGHTS).values()
        return np.asarray(weights, dtype=np.float32)


class LexiconAndModelEmbedder:
    """Both vectors side by side, so that a dot product is the weighted sum of both similarities.

    The model finds some likeness even in nonsense; the floor is the most that it can reach without a concept
    in common. Two more dimensions keep the length at 1 for a text without a known concept: one for documents
    and one for queries, so that having none is nothing in common.
    """

    floor = 0.2
    weight = 6.0

    def __init__(self, lexicon: LexiconEmbedder, model: TextModel, share: float = 0.2) -> None:
        self._lexicon = lexicon
        self._model = model
        self._share = math.sqrt(share)
        self._rest = math.sqrt(1 - share)
        self.name = f"{lexicon.name}+{model.name}/{share:g}"
        self.dimensions = lexicon.dimensions + model.dimensions + 2

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        concepts = self._lexicon.embed(texts, purpose)
        meanings = self._model.embed(texts)
        return [
            self._join(concept, meaning, purpose)
            for concept, meaning in zip(concepts, meanings, strict=True)
        ]

    def _join(self, concept: Vector, meaning: Vector, purpose: Purpose) -> Vector:
        if not any(meaning):
            return array("f", bytes(4 * self.dimensions))
        unknown = 0.0 if any(concept) else self._rest
        padding = (unknown, 0.0) if purpose == "document" else (0.0, unknown)
        return array(
            "f",
            (
                *(value * self._rest for value in concept),
                *(value * self._share for value in meaning),
                *padding,
            ),
        )
