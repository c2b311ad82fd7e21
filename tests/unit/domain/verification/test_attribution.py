"""Values and names that the passage has, but of something else."""

import pytest

from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported

TABLE = "| App | Commission | Drivers |\n|---|---|---|\n| Hopp | 12 % | 9,400 |\n| Ridely | 18 % | 21,700 |"
LIST = "Fares in euros:\n- Metro: 1.80\n- Night bus: 2.40"
BESIDE = "Oat has 46 % of the category, almond 21 % and soy 18 %."
RESPECTIVELY = "Italy, Spain and Poland grew fastest, at 9, 8 and 11 % respectively."
BRACKETS = "Rents: Seahaven £1,140 (2023: £1,020); Port Ellis £870 (2023: £895)."
COLON = "The ministry counted 2,460 vacant posts: 1,130 in primary and 870 in vocational schools."
NEGATED = "Seven would pay up to 15 €, five would not pay at all."
DATES = "Kerala saw the onset on 24 May, eight days ahead of the normal date of 1 June."
ALONE = "Parkhaus Nord: 70 Euro im Monat. Tiefgarage Rathaus: 95 Euro im Monat."
LED = "Tessera raised a Series A led by Northgate Ventures, with Alder Capital taking part."
ROLES = (
    "Present: Chloe Adeyemi, Marcus Feld, Yuki Arai. Marcus Feld to report on the shortlist by May."
)
GERMAN = "Das Institut befragte mit dem Dresdner Start-up Akkuring Nutzer in Bremen und Stuttgart."


@pytest.mark.parametrize(
    ("passage", "right", "wrong"),
    [
        (TABLE, "Ridely has 21,700 drivers.", "Hopp has 21,700 drivers."),
        (LIST, "The night bus costs €2.40.", "The night bus costs €1.80."),
        (BESIDE, "Almond has 21% of the category.", "Soy has 21% of the category."),
        (RESPECTIVELY, "Poland grew by 11%.", "Poland grew by 9%."),
        (
            BRACKETS,
            "In Port Ellis rents fell from £895 to £870.",
            "Rents in Port Ellis are £1,140.",
        ),
        (
            COLON,
            "Almost half of the 2,460 posts are in primary schools.",
            "Vocational schools miss 1,130.",
        ),
        (NEGATED, "Five would not pay.", "Seven would not pay at all."),
        (DATES, "The monsoon reached Kerala on 24 May.", "The monsoon reached Kerala on 1 June."),
        (ALONE, "Im Parkhaus Nord sind es 70 Euro.", "Im Parkhaus Nord sind es 95 Euro."),
        (LED, "Northgate Ventures led the Series A.", "Alder Capital led the Series A."),
        (
            ROLES,
            "Marcus Feld is to report on the shortlist.",
            "Yuki Arai is to report on the shortlist.",
        ),
        (
            GERMAN,
            "Befragt wurden Nutzer in Bremen und Stuttgart.",
            "Nutzer in Bremen und Dortmund.",
        ),
        (GERMAN, "Mit dem Dresdner Start-up Akkuring.", "Mit dem Leipziger Start-up Akkuring."),
    ],
)
def test_a_value_or_name_of_something_else_is_found(passage: str, right: str, wrong: str) -> None:
    evidence = Evidence([passage])
    assert find_unsupported(right, evidence) == []
    assert len(find_unsupported(wrong, evidence)) == 1


def test_a_sentence_may_name_two_values_side_by_side() -> None:
    sentence = "Oat has 46%, more than almond (21%) and soy (18%) together."
    assert find_unsupported(sentence, Evidence([BESIDE])) == []
