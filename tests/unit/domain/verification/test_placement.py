"""Values that a passage has in a sentence about something else."""

import pytest

from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported

PASSAGE = (
    "Elvira Montalbán won the Ardanza contest in 1974. On 3 May 1977 her debut in the Sala Imperial was sold"
    " out. The billing queue holds 640 of the open tickets. Satisfaction came from 733 ratings."
)


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        (
            "The Ardanza contest went to her in 1974.",
            "The Ardanza contest went to her in 1977.",
            "1977",
        ),
        ("There are 640 billing matters.", "There are 733 billing matters.", "733"),
    ],
)
def test_a_value_of_another_sentence_is_found(right: str, wrong: str, text: str) -> None:
    evidence = Evidence([PASSAGE])
    assert find_unsupported(right, evidence) == []
    assert [found.text for found in find_unsupported(wrong, evidence)] == [text]


@pytest.mark.parametrize(
    ("passage", "sentence"),
    [
        (
            "La centrale de Grandcourt, mise en service en 1974, a cessé de produire le 31 mars 2023.",
            "La centrale de Grandcourt ne produit plus depuis mars 2023.",
        ),
        (
            "Im Mai 2025 waren in der Region 14.870 Menschen arbeitslos, aber 1.140 mehr als im Mai 2024.",
            "Die Zahl der Arbeitslosen lag in der Region im Mai 2025 um 1.140 höher.",
        ),
        (
            "| Museum | Visitors 2023 | Visitors 2024 |\n|---|---|---|\n| Glass | 96,700 | 121,800 |\n\n"
            "The east wing reopened on 2 March 2024.",
            "Glass, whose wing reopened in March 2024, had 121,800 visitors, more than in 2023.",
        ),
        (
            "Der Grenzwert für die Summe von PFAS von 0,12 Mikrogramm je Liter gilt ab dem 1. März 2026, der"
            " strengere Wert von 0,03 Mikrogramm für fünf Stoffe ab dem 1. September 2028.",
            "Der strengere PFAS-Grenzwert von 0,03 Mikrogramm je Liter für fünf Stoffe gilt ab September"
            " 2028.",
        ),
    ],
)
def test_a_clause_is_about_what_its_sentence_begins_with(passage: str, sentence: str) -> None:
    assert find_unsupported(sentence, Evidence([passage])) == []
