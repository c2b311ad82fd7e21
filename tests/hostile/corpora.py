"""Endless variations of the strings that strangers may write.

The same seed of the random generator gives the same strings, so a failure can be repeated.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from urllib.parse import quote

from tests.hostile.seeds import CONTROLS, SEEDS, SURROGATES, UNSEEN, WIDE

MAX_CHARACTERS = 200_000


def corpora(seed: int, more: Mapping[str, Sequence[str]]) -> dict[str, Iterator[str]]:
    """An endless iterator over each corpus; `more` adds to their seeds."""
    return {
        name: _strings(Random(f"{seed} {name}"), [*seeds, *more.get(name, ())])
        for name, seeds in SEEDS.items()
    }


def _strings(rng: Random, seeds: Sequence[str]) -> Iterator[str]:
    yield from seeds
    while True:
        text = rng.choice(seeds)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            text = rng.choice(VARIATIONS)(rng, text, seeds)[:MAX_CHARACTERS]
        yield text


def _insert(rng: Random, text: str, seeds: Sequence[str]) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice([*CONTROLS, *UNSEEN, *SURROGATES, *WIDE]) + text[at:]


def _join(rng: Random, text: str, seeds: Sequence[str]) -> str:
    return text + rng.choice(["", " ", "\n", "/", "\n\n", ","]) + rng.choice(seeds)


def _drop(rng: Random, text: str, seeds: Sequence[str]) -> str:
    at = rng.randrange(len(text)) if text else 0
    return text[:at] + text[at + rng.randint(1, 3) :]


def _swap_case(rng: Random, text: str, seeds: Sequence[str]) -> str:
    return "".join(rng.choice((char.lower(), char.upper())) for char in text[:2_000])


def _surround(rng: Random, text: str, seeds: Sequence[str]) -> str:
    before, after = rng.choice(
        [("a/", "/b"), ("(", ")"), ("[", "]"), ('"', '"'), ("{", "}"), (" ", "\n")]
    )
    return before + text + after


def _repeat(rng: Random, text: str, seeds: Sequence[str]) -> str:
    # mostly short: a long string for one surface is a long wait for all of them
    return text * rng.choice((2, 3, 10, 10, 100, 1_000))


def _encode(rng: Random, text: str, seeds: Sequence[str]) -> str:
    def as_json(text: str) -> str:
        return json.dumps(text)[1:-1]

    def percent(text: str) -> str:
        return quote(text.encode("utf-8", "surrogatepass"), safe="")

    def widen(text: str) -> str:
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)

    encode: Callable[[str], str] = rng.choice((as_json, percent, widen))
    return encode(text[:2_000])


VARIATIONS = (_insert, _insert, _join, _join, _drop, _swap_case, _surround, _repeat, _encode)
