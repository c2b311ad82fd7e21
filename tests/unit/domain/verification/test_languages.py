"""Numbers, dates and names as several languages write them; each pair is a sentence that is right and one
that is not."""

import pytest

from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported

PASSAGES = {
    "servers": "Von 264 Servern sind 198 umgezogen, drei Fachleute helfen. 5 Mio. Franken sind bewilligt.",
    "milk": "La coopérative a collecté 318 millions de litres de lait. Le chiffre d'affaires a atteint 291"
    " millions d'euros, dont 37 % à l'export.",
    "oil": "La campaña dejó 27.300 toneladas de aceite y 12 mil empleos.",
    "fund": "The net return was 8.4 %, compared with a benchmark of 7.9 %.",
    "mine": "Production started in the third quarter of 2021, and das zweite Quartal 2026 ist das Ziel.",
    "jobless": "Arbeitslos waren 14.870 Menschen, 1.140 mehr als im Mai 2024.",
    "hospital": "Den Zuschlag für den Neubau erhielt die Firma Baumeister Kroll für 148 Mio. Euro.",
    "water": "Der strengere Wert von 0,03 Mikrogramm gilt nach der Regel für alle Stoffe.",
    "school": "The districts were Ambleton and Corrie. The University of Leaside did the evaluation.",
    "robots": "Orrin has agreed to buy the robot maker Finch of Tallow Bridge for $345 million in cash.",
}


@pytest.mark.parametrize(
    ("passage", "right", "wrong", "text"),
    [
        (
            "servers",
            "Drei Viertel der 264 Server sind um.",
            "Zwei Drittel der 264 Server sind um.",
            "zwei",
        ),
        ("servers", "Es helfen drei Fachleute mit.", "Es helfen vier Fachleute mit.", "vier"),
        ("servers", "Das sind 5 Millionen Franken.", "Das sind 264 Franken.", "264 Franken"),
        (
            "milk",
            "Plus d'un tiers est exporté.",
            "Plus de la moitié est exportée.",
            "plus de la moitie",
        ),
        (
            "milk",
            "Elle vend pour 291 millions d'euros.",
            "Elle vend pour 318 millions d'euros.",
            "318",
        ),
        ("oil", "Son algo más de 27.000 toneladas.", "Son algo más de 25.000 toneladas.", "25.000"),
        ("oil", "La campaña dejó 12.000 empleos.", "La campaña dejó 13.000 empleos.", "13.000"),
        (
            "fund",
            "It won by half a percentage point.",
            "It won by a full percentage point.",
            "a full",
        ),
        (
            "mine",
            "It began in the second half of 2021.",
            "It began in the first half of 2021.",
            "first",
        ),
        ("mine", "Ziel ist das 2. Quartal 2026.", "Ziel ist im dritten Quartal 2026.", "dritten"),
        (
            "mine",
            "Im zweiten Quartal 2026 ist es da.",
            "Im vierten Quartal 2026 ist es da.",
            "vierten",
        ),
        ("jobless", "Es waren gut 1.100 mehr.", "Es waren gut 1.000 mehr.", "1.000"),
        (
            "hospital",
            "Den Auftrag für den Krankenhausneubau erhielt Baumeister Kroll für 148 Millionen Euro.",
            "Den Auftrag für den Krankenhausneubau erhielt Hochbau Reimers für 148 Millionen Euro.",
            "Reimers",
        ),
        (
            "water",
            "Der strengere Grenzwert von 0,03 Mikrogramm gilt.",
            "Der strengere Bescheid von 0,03 Mikrogramm gilt.",
            "Bescheid",
        ),
        ("school", "By the University of Leaside.", "By the University of Ambleton.", "Ambleton"),
        (
            "robots",
            "Orrin is buying the robot maker Finch for $345 million in cash.",
            "Brantley is buying the robot maker Finch for $345 million in cash.",
            "Brantley",
        ),
    ],
)
def test_what_is_altered_is_found(passage: str, right: str, wrong: str, text: str) -> None:
    evidence = Evidence([PASSAGES[passage]])
    assert find_unsupported(right, evidence) == []
    assert next(found.text for found in find_unsupported(wrong, evidence)).startswith(text)
