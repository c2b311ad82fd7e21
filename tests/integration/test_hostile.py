"""A small part of `make hostile`, without the strings of others."""

import pytest

from tests.hostile.run import run
from tests.hostile.seeds import SEEDS
from tests.hostile.surfaces import SURFACES

pytestmark = pytest.mark.long

TRIES = 30  # of each corpus, for a surface with a whole share


@pytest.mark.parametrize("name", [surface.name for surface in SURFACES])
def test_no_text_of_a_stranger_breaks_a_rule(name: str) -> None:
    surface = next(surface for surface in SURFACES if surface.name == name)
    tries = int(TRIES * surface.share * len(surface.corpora))

    table = run(tries, seed=7, public={}, only=surface)

    assert sum(cell.tries for cell in table.values()) >= tries
    assert [failure for cell in table.values() for failure in cell.failures] == []


def test_every_corpus_meets_a_surface() -> None:
    assert {corpus for surface in SURFACES for corpus in surface.corpora} == set(SEEDS)


def test_a_broken_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the escapes of the terminal switched off, what is printed is found out."""
    monkeypatch.setattr("tests.hostile.surfaces.names.make_printable", lambda text: text)
    surface = next(surface for surface in SURFACES if surface.name == "terminal text")

    table = run(60, seed=7, public={}, only=surface)

    assert all(cell.failures for (_, corpus), cell in table.items() if corpus != "markdown")
