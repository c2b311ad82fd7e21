"""Arithmetic that a sentence shows on numbers of its passages."""

import pytest

from idea_explorer.domain.verification.cited import find_cited_sentences
from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported

CAFES = (
    "The network lists 3,120 repair cafés. A café pays 50 euros a month. Gate fees range from 150 to 300"
    " euros per tonne of 92,000 tonnes. Goods cost 62 % of sales; 18 % of 214,000 bikes are commercial."
)


def objections(sentence: str, passage: str = CAFES) -> list[str]:
    return [found.text for found in find_unsupported(sentence, Evidence([passage]))]


@pytest.mark.parametrize(
    "row",
    [
        "| TAM | €156,000 a month | 3,120 cafés × €50 | [1] |",
        "| TAM | €1.9m a year | 3,120 cafés × €50 × 12 months | [1] |",
        "| TAM | €1.9m a year | 3,120 cafés × €50 a month | [1] |",
        "| TAM | €1.9m a year | 3,120 cafés × €600 | [1] |",
        "| TAM | €21m | 92,000 t × €225 gate fee | [1] |",
        "| SAM | €19 | €50 × 38 % margin | [1] |",
        "| SOM | €2.7m | 38,500 commercial bikes × €70 (assumption) | [1] |",
        "| SOM | €2.7m | 38,500 commercial bikes × €70 | [1], price estimated |",
        "| SOM | €160 | €50 + an assumed €110 | [1] |",
    ],
)
def test_what_follows_from_operands_that_a_passage_has_is_supported(row: str) -> None:
    assert objections(row) == []


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("| TAM | €2.9m a year | 3,120 cafés × €600 | [1] |", ["€2.9m"]),
        ("| TAM | €2.2m a year | 3,120 cafés × €720 | [1] |", ["€720"]),
        ("| TAM | €1.9m a year | 3,210 cafés × €600 | [1] |", ["3,210"]),
        ("| TAM | €12.2m | 3,900 cafés × €50 × 62 | estimate of [1] |", ["€12.2m"]),
    ],
)
def test_a_wrong_result_and_an_operand_of_nowhere_are_found(row: str, wrong: list[str]) -> None:
    assert objections(row) == wrong


def test_the_rest_to_a_hundred_per_cent_needs_no_passage() -> None:
    passage = "Ein Automat setzt 1.450 Euro um. Der Wareneinsatz liegt bei 62 % des Umsatzes."
    assert objections("Es bleiben 551 Euro im Monat (1.450 × 38 %).", passage) == []
    assert objections("Es bleiben 551 Euro im Monat (1.450 × 48 %).", passage) != []


def test_an_estimate_that_cites_nothing_is_no_claim_about_a_source() -> None:
    table = (
        "| | Size | How | Basis |\n|---|---|---|---|\n| SAM | €9m | 900 × €10,000 | estimate |\n"
        "| TAM | €90m | 9,000 × €10,000 | [[1]](https://count.example) |"
    )
    assert [cited.text[:5] for cited in find_cited_sentences(table)] == ["| TAM"]


def test_the_row_of_a_table_is_in_the_language_of_its_passage() -> None:
    passage = "Der Speicher in Weiherfeld hat 700 kWh und kostet mit dem Einbau 1.000 Euro je kWh."
    assert objections("| TAM | 700.000 € | 700 kWh × 1.000 € Gesamtkosten |", passage) == []


def test_only_so_many_derivations_of_a_sentence_are_read() -> None:
    shown = [f"3,120 × an assumed {n}" for n in (77, 78, 79, 81, 82)]
    assert objections("; ".join(shown)) == ["82"]
