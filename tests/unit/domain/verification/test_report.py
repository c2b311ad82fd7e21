"""A report with marks and a section on its evidence."""

from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.claims import Claim, Verification
from idea_explorer.domain.json import Block
from idea_explorer.domain.report_phrases import UNSUPPORTED
from idea_explorer.domain.tools import make_passage
from idea_explorer.domain.verification.report import (
    MAX_CLAIMS,
    Passages,
    add_evidence,
    check_by_rule,
    keep_verdicts,
    mark_unsupported,
)

TEA = "https://tea.example/report"
EVIDENCE = [make_passage(TEA, "Tea sales rose by 12 % in 2024.", title="Tea report")]
CITED: Block = {
    "type": "text",
    "text": "x",
    "citations": [{"url": TEA, "cited_text": "Only 9 % drink it cold."}],
}


def test_a_sentence_is_checked_against_the_passages_and_quotations_of_its_source() -> None:
    report = f"Sales rose by 12% [a]({TEA}). Just 9% drink it cold [a]({TEA}). It fell by 30% [a]({TEA})."
    claims = check_by_rule(report, Passages(EVIDENCE, [CITED]))
    assert [claim.verdict for claim in claims] == ["unchecked", "unchecked", "unsupported"]
    assert (claims[2].judge, claims[2].reason) == ("rule", "the source does not say 30%")
    assert "12 %" in claims[2].passage


def test_a_citation_of_a_file_alone_is_checked_against_all_its_pages() -> None:
    pages = {1: "Tea is old.", 3: "Tea sales rose by 12 % in 2024."}
    evidence = [make_passage(f"tea.pdf, page {number}", text) for number, text in pages.items()]
    report = "Sales rose by 12% [a](tea.pdf). It fell by 30% [a](tea.pdf)."
    claims = check_by_rule(report, Passages(evidence, []))
    assert [claim.verdict for claim in claims] == ["unchecked", "unsupported"]


def test_a_source_without_text_supports_and_refutes_nothing() -> None:
    (claim,) = check_by_rule(f"Sales fell by 30% [a]({TEA}).", Passages([], []))
    assert claim.verdict == "unchecked"


def test_a_sentence_that_its_source_has_word_for_word_is_supported_unless_a_model_objects() -> None:
    report = f"Tea sales rose by 12 % in 2024. ([a]({TEA})) Tea sales rose by 12 %. ([a]({TEA}))"
    claims = check_by_rule(report, Passages(EVIDENCE, []), out_of_time=lambda: True)
    verdicts = [(claim.verdict, claim.judge, claim.is_final) for claim in claims]
    assert verdicts == [("supported", "rule", False), ("unchecked", "", False)]


def test_a_sentence_that_one_of_its_sources_takes_back_is_for_a_model_to_judge() -> None:
    other = "https://tea.example/corrections"
    evidence = [*EVIDENCE, make_passage(other, "Tea sales rose by 12 % in 2024. This was wrong.")]
    report = f"Tea sales rose by 12 % in 2024. ([a]({TEA}), [b]({other}))"
    (claim,) = check_by_rule(report, Passages(evidence, []))
    assert (claim.verdict, claim.is_final) == ("unchecked", False)


def test_a_title_with_a_link_to_its_source_is_no_claim() -> None:
    report = f"Read:\n\n- [Tea report]({TEA})\n\nSales rose by 12%. [Tea report]({TEA})"
    claims = check_by_rule(report, Passages(EVIDENCE, []))
    assert [claim.text for claim in claims] == [f"Sales rose by 12%. [Tea report]({TEA})"]


def test_a_link_that_is_named_by_a_statement_is_a_claim() -> None:
    (claim,) = check_by_rule(f"- [Sales fell by 30%]({TEA})", Passages(EVIDENCE, []))
    assert claim.reason == "the source does not say 30%"


def test_a_correction_keeps_what_was_refuted_beside_a_title_that_is_no_claim() -> None:
    refuted = Claim(text=f"It fell by 30% [a]({TEA}).", verdict="unsupported", judge="rule")
    report = f"- [Tea report]({TEA})\n\nIt fell by 30%. Sales rose by 12% [a]({TEA})."
    claims = check_by_rule(report, Passages(EVIDENCE, []))
    texts = [(claim.text, claim.verdict) for claim in keep_verdicts(report, claims, [refuted])]
    assert texts == [
        ("It fell by 30%.", "unsupported"),
        (f"Sales rose by 12% [a]({TEA}).", "unchecked"),
    ]


def test_marks_stand_after_their_sentences_and_in_the_last_cell_of_a_row() -> None:
    row, text = f"| Tea | 30% [a]({TEA}) |", f"It fell [a]({TEA})."
    report = f"{row}\n\nFine [a]({TEA}). {text}\n"
    claims = [
        Claim(text=row, verdict="unsupported"),
        Claim(text=f"Fine [a]({TEA}).", verdict="supported"),
        Claim(text=text, verdict="unsupported"),
    ]
    marked = mark_unsupported(report, claims)
    assert f"30% [a]({TEA}) {UNSUPPORTED} |\n" in marked
    assert f"Fine [a]({TEA}). {text} {UNSUPPORTED}\n" in marked


def test_a_checked_report_with_marks_and_evidence_stays_as_it_is_when_checked_again() -> None:
    written = f"# Tea\n\nSales rose by 12% [a]({TEA}). They fell by 30% [[1]]({TEA})."
    checked = check_citations(written, EVIDENCE)
    claims = check_by_rule(checked.text, Passages(EVIDENCE, []))
    report = add_evidence(mark_unsupported(checked.text, claims), claims, {TEA: 1})
    again = check_citations(report, EVIDENCE)
    assert again.text == report
    assert (again.citations, again.unmatched) == (checked.citations, checked.unmatched)


def test_the_section_says_how_strong_the_evidence_for_each_claim_is() -> None:
    other = "https://other.example"
    claims = [
        Claim(
            text=f"A_b [[1]]({TEA}) [[2]]({other})",
            sources=(TEA, other),
            readable=2,
            verdict="supported",
        ),
        Claim(text="B", sources=(TEA,), verdict="supported"),
        Claim(text="C", sources=(TEA,), verdict="partly"),
        Claim(text="D", sources=(TEA,), verdict="unsupported"),
        Claim(text="E", sources=("nowhere.md",)),
    ]
    report = add_evidence("# T\n\nText.\n\n## Sources\n\n1. x", claims, {TEA: 1, other: 2})
    assert report == (
        "# T\n\nText.\n\n## Evidence\n\n"
        "- **several sources cited** (sources 1, 2): Ab\n"
        "- **one source** (source 1): B\n"
        "- **partly supported** (source 1): C\n"
        "- **not supported** (source 1): D\n"
        "- **unchecked**: E\n"
        "\n## Sources\n\n1. x"
    )
    assert add_evidence("# T", [], {}) == "# T"


def test_a_report_with_very_many_claims_lists_the_first() -> None:
    claims = [Claim(text=f"Claim {n}") for n in range(MAX_CLAIMS + 5)]
    assert add_evidence("# T", claims, {}).endswith("- and 5 more")


def test_counts_are_told_in_words() -> None:
    counts = Verification.of([Claim(text="a", verdict="partly"), Claim(text="b"), Claim(text="c")])
    assert str(counts) == "0 supported, 1 partly, 0 unsupported, 2 unchecked"
    assert counts.total == 3


def test_every_source_of_a_sentence_is_found_with_its_text_and_without_its_title() -> None:
    other = "https://other.example"
    evidence = [*EVIDENCE, make_passage(other, "Tea is up.", title="Other")]
    found = Passages(evidence, [CITED]).find([TEA, other])
    assert found == ["Only 9 % drink it cold.\nTea sales rose by 12 % in 2024.", "Tea is up."]


def test_each_source_is_read_once_and_sentences_are_checked_against_all_of_theirs() -> None:
    other = "https://other.example"
    passages = Passages([*EVIDENCE, make_passage(other, "Coffee fell by 3 % in 2023.")], [])
    links = f"[a]({TEA}) [b]({other})"
    report = f"Tea rose by 12% and coffee fell by 3% {links}. Tea rose by 7% {links}."
    assert [c.verdict for c in check_by_rule(report, passages)] == ["unchecked", "unsupported"]
    both = passages.read([TEA, other])
    assert both is passages.read([TEA, other])
    assert both.passages == [*passages.read([TEA]).passages, *passages.read([other]).passages]


def test_sentences_that_there_is_no_time_for_are_unchecked() -> None:
    times = iter([False, True])
    report = f"It fell by 30% [a]({TEA}). It fell by 40% [a]({TEA})."
    claims = check_by_rule(report, Passages(EVIDENCE, []), lambda: next(times))
    assert [claim.verdict for claim in claims] == ["unsupported", "unchecked"]
