"""What the rules object to, kind by kind; each pair is a sentence that is right and one that is not."""

import pytest

from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported
from idea_explorer.domain.verification.verbatim import has_sentence, states_sentence
from idea_explorer.domain.verification.words import (
    remove_emphasis,
)

NUMBERS = (
    "Hopp had 9,412 drivers and sales of $1.25bn; 13–16 % of rides were shared, one in five pooled."
)
DATES = "The plant opened on 12 March 2024. Sales fell in Q2 2025, compared with the previous year."
NAMES = (
    "Chief executive Katrin Lohse of VeloHaus spoke in Brno. The United Nations and Estonia paid."
)
QUOTE = "She said the new line would “shorten delivery times by three weeks”, at the latest."


def kinds(sentence: str, *passages: str) -> list[tuple[str, str]]:
    return [(found.kind, found.text) for found in find_unsupported(sentence, Evidence(passages))]


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("Hopp has 9,412 drivers.", "Hopp has 9,421 drivers.", "9,421"),
        ("Hopp has about 9,400 drivers.", "Hopp has about 8,400 drivers.", "8,400"),
        ("Sales came to $1.25 billion.", "Sales came to $1.52 billion.", "$1.52 billion"),
        ("Between 13% and 16% were shared.", "Between 13% and 28% were shared.", "28%"),
        ("A fifth was pooled.", "A third was pooled.", "a third"),
        ("More than 9,000 people drive.", "More than 12,000 people drive.", "12,000"),
    ],
)
def test_numbers(right: str, wrong: str, text: str) -> None:
    assert kinds(right, NUMBERS) == []
    assert kinds(wrong, NUMBERS) == [("number", text)]


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("It opened in March 2024.", "It opened in May 2024.", "May 2024"),
        ("It opened on 2024-03-12.", "It opened on 2024-03-21.", "2024-03-21"),
        ("Am 12. März 2024 eröffnet.", "Am 12. März 2025 eröffnet.", "12. März 2025"),
        ("Sales fell in the second quarter.", "Sales fell in the third quarter.", "third quarter"),
        ("In 2024 they were higher.", "In 2022 they were higher.", "2022"),
    ],
)
def test_dates(right: str, wrong: str, text: str) -> None:
    assert kinds(right, DATES) == []
    assert kinds(wrong, DATES) == [("date", text)]


def test_a_number_after_the_name_of_a_month_begins_a_sentence() -> None:
    assert kinds("11 of 42 gave up.", "They buy until June. 11 of the 42 gave up.") == []
    assert kinds("It was 3 June.", "It came on 3 June. 2020 guests saw it on Sept. 11, 2024.") == []
    assert kinds("It came on 11 September 2024.", "It came on Sept. 11, 2024.") == []


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("At VeloHaus, Lohse decides.", "At VeloHaus, Krüger decides.", "Krüger"),
        ("The UN paid a part.", "The WHO paid a part.", "WHO"),
        ("An Estonian grant helped.", "A Latvian grant helped.", "Latvian"),
    ],
)
def test_names(right: str, wrong: str, text: str) -> None:
    assert kinds(right, NAMES) == []
    assert kinds(wrong, NAMES) == [("name", text)]


def test_quotations() -> None:
    assert kinds('It is to "shorten delivery times … weeks".', QUOTE) == []
    wrong = kinds('It is to "shorten delivery times by six weeks".', QUOTE)
    assert ("quotation", "shorten delivery times by six weeks") in wrong


def test_what_follows_from_numbers_of_the_passage_is_no_fault() -> None:
    passage = "Quitoc holds 28 % of the market, Les Marmites 19 %. In 2024 it sold 23,500, in 2023 19,200."
    assert kinds("Together they hold 47% of the market.", passage) == []
    assert kinds("Together they hold 52% of the market.", passage) == [("number", "52%")]


def test_links_and_marks_are_not_part_of_what_a_sentence_says() -> None:
    sentence = "Hopp has 9,412 **drivers** [[7]](https://a.example/2031/99)."
    assert kinds(sentence, NUMBERS) == []


def test_only_the_beginning_of_an_endless_sentence_is_read() -> None:
    assert kinds("word " * 1_000 + "99,999", NUMBERS) == []


def test_words_of_our_frameworks_are_no_names() -> None:
    passage = "The market is worth 40 million euros."
    assert kinds("The TAM is 40 million euros, and with AI the SAM is the same.", passage) == []
    assert kinds("In the market of 40 million euros, Tam and Sam lead.", passage) == [
        ("name", "Tam"),
        ("name", "Sam"),
    ]


def test_an_acronym_is_not_the_word_that_is_spelled_like_it() -> None:
    passage = (
        "The World Health Organization counts those who hear badly. Hearing loss in Peru costs 40"
        " million dollars a year."
    )
    assert kinds("The WHO says hearing loss costs 40 million dollars a year.", passage) == []


def test_a_name_of_the_title_is_about_every_sentence() -> None:
    passage = "Exports rose by 31 % in Norway. Two offices in Finland were closed."
    sentence = "In Finland, exports rose by 31%."
    assert kinds(sentence, passage) == [("name", "Finland")]
    titled = Evidence([passage], titles=["Statistics Finland"])
    assert find_unsupported(sentence, titled) == []


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("It was the fifth record.", "It was the third record.", "third"),
        ("Its 5th record came.", "Its 4th record came.", "4"),
        ("Il s'agit du cinquième record.", "Il s'agit du sixième record.", "sixième"),
    ],
)
def test_ordinals(right: str, wrong: str, text: str) -> None:
    passage = "It was the fifth record in a row."
    assert kinds(right, passage) == []
    assert kinds(wrong, passage) == [("number", text)]


def test_an_ordinal_is_no_share() -> None:
    passage = "Invoices of the quarter: N-1041, N-1066, N-1093."
    assert kinds("Invoice N-1093 is the third of the quarter.", passage) == []


UNITS = "The fine was cut from €18 million to €11.5 million after 18 months. The rate rose from 3.6 to 4.9 %."
SPAN = (
    "The request of November 2023 was granted on 19 February 2025. The fair ran from 4 to 19 March."
)


@pytest.mark.parametrize(
    ("passage", "right", "wrong", "text"),
    [
        (
            UNITS,
            "The fine is now €11.5 million.",
            "The fine is now $11.5 million.",
            "$11.5 million",
        ),
        (
            UNITS,
            "The fine is now €11.5 million.",
            "The fine was cut to €18 million.",
            "€18 million",
        ),
        (UNITS, "It took 1.5 years.", "It took 18 weeks.", "18"),
        (UNITS, "The rate rose by 1.3 points.", "The rate rose by 1.3 percent.", "1.3 percent"),
        (SPAN, "It was granted 15 months later.", "It was granted 25 months later.", "25"),
        (SPAN, "On 4 March the fair began.", "On 6 March the fair began.", "6 March"),
    ],
)
def test_units(passage: str, right: str, wrong: str, text: str) -> None:
    assert kinds(right, passage) == []
    assert [found for _, found in kinds(wrong, passage)] == [text]


def test_what_every_statement_is_about_does_not_tell_them_apart() -> None:
    passage = "Sales of 96 shops fell in 2024. The chain Casalino closed on 4 November."
    assert kinds("In 2024 the chain Casalino closed.", passage) == []


def test_a_part_that_leaves_out_the_subject_has_that_of_the_first() -> None:
    passage = "Rail carried 34 % of hinterland containers, trucks 57 % and barges 9 %."
    assert kinds("Trucks carried 57% of the hinterland containers.", passage) == []
    assert kinds("Trucks carried 34% of the hinterland containers.", passage) == [("number", "34%")]


@pytest.mark.parametrize(
    "citation",
    [
        "([IEA, p. 47](https://iea.example/a.pdf#page=47))",
        "([IEA 2023](https://iea.example/a); [Eurostat, 2019](https://eurostat.example/b))",
        "([IEA, p. 47](https://iea.example/a) ⚠ unverified)",
        "([[3]](https://iea.example/a))",
    ],
)
def test_the_name_of_a_citation_in_brackets_is_no_claim(citation: str) -> None:
    assert kinds(f"Hopp has 9,412 drivers {citation}.", NUMBERS) == []


def test_the_name_of_a_link_in_a_sentence_is_a_claim() -> None:
    sentence = (
        "Hopp has [9,421 drivers](https://hopp.example/a) (as [it](https://hopp.example/b) says)."
    )
    assert kinds(sentence, NUMBERS) == [("number", "9,421")]


def test_only_a_whole_sentence_of_the_source_stands_there_word_for_word() -> None:
    passage = (
        "Nobody believes it.\nSales rose by 5 % in 2024. We doubt it: Costs fell."
        " They did not.\n- It ended."
    )

    assert has_sentence("Sales rose by 5 % in 2024. ([a](b.md))", passage)
    assert has_sentence("- It ended.", passage)
    assert not has_sentence("Costs fell.", passage)
    assert not has_sentence("5 % left.", "It is not so that approx. 5 % left.")
    assert not has_sentence("Sales rose by 5 %.", passage)
    assert not has_sentence("Sales rose by 5 % in 2024", passage)


@pytest.mark.parametrize(
    "passage",
    [
        "# Five myths about tea\n\nMany know them.\n\n- Tea cures cancer.",
        "## Myths\n\nTea cures cancer.",
        "It is not so that\nTea cures cancer. We looked.",
        "What the sellers say:\n\n- It is old.\n- Tea cures cancer.",
        "What the sellers say:\nTea cures cancer.",
        "Many repeat one line. Tea cures cancer. This is wrong.",
        "Does it help? Tea cures cancer. No, it does not.",
        "Tea cures cancer. is what they print.",
        "Irrtümer über Tee. Tea cures cancer.",
        f"# Five myths about tea\n\n{'It is old. ' * 60}\n\n## Cancer\n\nTea cures cancer.",
        f"Tea myths\n\n{'It is old. ' * 60}\n\nTea cures cancer.",
        f"Tea cures cancer.\n\n{'It is old. ' * 60}\n\nTea cures cancer. That is nonsense.",
        f"Tea cures cancer.\n\n{'It is old. ' * 60}\n\nIt is false that Tea cures cancer.",
        "Tea cures cancer. There is no evidence for that.",
        "Tea cures cancer. However, this has never been shown.",
        "Tea cures cancer. The opposite holds.",
        "Tea cures cancer. [This paper was withdrawn.]",
        "What sellers print:\n1. Tea cures cancer.",
        "What sellers print:\n\n" + "- It is a very old drink.\n" * 40 + "- Tea cures cancer.",
        "The advert read as follows.\n> Tea cures cancer.",
        "Tea cures cancer.\n\n" * 30,
        'The vendor wrote: "Our tea is the best. Tea cures cancer. It tastes good." It sells.',
        "Er schrieb: „Wir wissen es. Tea cures cancer. So ist es.“ Das ist alles.",
        "It says: “We know it. Tea cures cancer. It sells.” We bought it.",
        "> Bob wrote this.\nTea cures cancer.",
        "Suppose tea were magic. Tea cures cancer.",
    ],
)
def test_a_sentence_that_its_source_takes_back_is_not_stated(passage: str) -> None:
    assert not states_sentence("Tea cures cancer. ([a](b.md))", passage)


@pytest.mark.parametrize(
    "passage",
    [
        "Tea is old. Tea sells. It is cheap.",
        "# Tea\n\nTea sells.",
        'They call it "best". Tea sells. It is cheap.',
        "Sie nennen es „gut“. Tea sells. It is cheap.",
        "# Tea\nTea sells.\nIt is cheap.",
        "It is old.\nTea sells.",
        "# Results\n\n- It is old.\n- Tea sells.",
    ],
)
def test_a_sentence_that_stands_by_itself_is_stated(passage: str) -> None:
    assert states_sentence("Tea sells. ([a](b.md))", passage)


def test_emphasis_and_links_do_not_tell_a_sentence_from_its_source() -> None:
    passage = remove_emphasis(
        "4. **Costs.** They *fell* by 5 % ([notes](../notes.md)). So did `sales_2024`.\n- **Why:** They left."
    )

    assert has_sentence("They fell by 5 % (notes). ([a](b.md))", passage)
    assert has_sentence("- Why: They left.", passage)
    assert has_sentence("So did `sales_2024`. [a](b.md)", passage)
    assert not has_sentence("They fell by 6 % (notes). ([a](b.md))", passage)
