"""Citations are checked against what was read or found."""

import pytest

from idea_explorer.domain.citations import UNMATCHED, check_citations, collect_quotes
from idea_explorer.domain.report_text import CUT, MAX_REPORT
from idea_explorer.domain.tools import Passage, make_passage

PAGE = Passage(
    source="https://www.example.org/tea/", title="Tea [today]", sha256="a" * 64, age="2 days ago"
)
NOTES = make_passage("ideas/market/2024-06.md", "Tea rooms do well.")


def test_a_citation_that_matches_is_numbered_and_listed() -> None:
    checked = check_citations("Tea sells [[7]](https://example.org/tea#top).", [PAGE])
    assert checked.text == (
        "Tea sells [[1]](https://example.org/tea#top).\n\n## Sources\n\n"
        r"1. [Tea \[today\]](https://example.org/tea#top), 2 days ago `aaaaaaaaaaaa`"
    )
    assert (checked.citations, checked.unmatched) == (1, 0)


def test_a_document_of_the_team_is_a_source() -> None:
    checked = check_citations("As [we found](../market/2024-06.md).", [NOTES])
    assert "[we found](../market/2024-06.md)." in checked.text
    assert checked.unmatched == 0


def test_a_citation_that_matches_nothing_is_marked_where_it_stands_and_in_the_list() -> None:
    checked = check_citations(
        "Sure [[1]](https://made.up/x) and [this](https://made.up/x).", [PAGE]
    )
    assert checked.text.count(UNMATCHED) == 3
    assert (checked.citations, checked.unmatched) == (2, 2)


@pytest.mark.parametrize(
    "odd", ["https://example.com？q=1", "http://[bad", "https://exa%5Bmple.com/", "https://[::1"]
)
def test_an_address_that_is_none_is_marked_like_any_that_was_not_read(odd: str) -> None:
    checked = check_citations(f"See [here]({odd}).", [PAGE])
    assert f"[here]({odd}) {UNMATCHED}" in checked.text
    assert (checked.citations, checked.unmatched) == (1, 1)


def test_the_same_source_keeps_its_number() -> None:
    text = "A [[1]](https://example.org/tea) b [[2]](../market/2024-06.md) c [[9]](https://example.org/tea/)"
    checked = check_citations(text, [PAGE, NOTES])
    assert "c [[1]](https://example.org/tea/)" in checked.text
    assert checked.text.count("\n1. ") == checked.text.count("\n2. ") == 1


def test_code_images_anchors_and_mail_are_not_citations() -> None:
    text = "`[a](https://x.y)` ![i](https://x.y/i.png) [b](#part) [c](mailto:a@b.c)\n```\n[d](https://x.y)\n```"
    checked = check_citations(text, [])
    assert checked.text == text
    assert checked.citations == 0


def test_what_was_quoted_stands_with_its_source() -> None:
    block = {
        "type": "text",
        "text": "x",
        "citations": [{"url": "https://example.org/tea", "cited_text": "Tea rooms\nare full."}],
    }
    quotes = collect_quotes([block])  # type: ignore[list-item]
    checked = check_citations("T [[1]](https://example.org/tea)", [PAGE], quotes)
    assert checked.text.endswith("`aaaaaaaaaaaa`: “Tea rooms are full.”")


def test_a_report_without_links_stays_as_it_is() -> None:
    assert check_citations("# Tea\n\nNo links.", [PAGE]).text == "# Tea\n\nNo links."


@pytest.mark.parametrize(
    "list_of_sources",
    [
        "1. https://made.up/" + "x" * 50_000,
        "1. " + " ".join(f"https://made.up/{number}" for number in range(5_000)),
        "[1]: https://made.up/" + "x" * 50_000,
        "1. " + "word " * 20_000,
    ],
)
def test_a_number_that_stands_for_much_is_not_spelled_out_without_end(list_of_sources: str) -> None:
    report = f"# A\n\n{'Tea [1]. ' * 5_000}\n\n## Sources\n\n{list_of_sources}"
    checked = check_citations(report, [])

    assert len(checked.text) < 10 * len(report)
    assert (
        checked.citations == checked.unmatched
    )  # also of the numbers that are not linked any more
    assert checked.text.count(UNMATCHED) >= 5_000


def test_a_report_beyond_the_limit_is_cut_and_says_so() -> None:
    checked = check_citations(f"# A\n\nSure [a](https://made.up/x).\n{'tea ' * MAX_REPORT}", [PAGE])

    assert MAX_REPORT < len(checked.text) < MAX_REPORT + 1_000
    assert CUT in checked.text
    assert "## Sources\n\n1. <https://made.up/x>" in checked.text


def test_the_page_of_a_file_is_a_source_of_its_own_and_so_is_the_file_alone() -> None:
    evidence = [
        make_passage("report.pdf, page 2", "A roof costs 40."),
        make_passage("costs.xlsx, sheet Plan 2", "Jar | 12"),
    ]
    text = "# A\n\nIt costs 40 [2](report.pdf,%20page%202), as [they](report.pdf) say, a jar 12"
    checked = check_citations(f"{text} [x](costs.xlsx,%20sheet%20Plan%202).", evidence)

    assert (checked.citations, checked.unmatched) == (3, 0)
    listed = checked.text.partition("## Sources")[2]
    assert "1. [report.pdf, page 2](report.pdf,%20page%202)" in listed
    assert "2. [report.pdf](report.pdf)" in listed
    assert "3. [costs.xlsx, sheet Plan 2]" in listed


def test_the_pages_of_a_pdf_on_the_web_are_one_source_without_the_number_of_the_first() -> None:
    address = "https://a.example/long.pdf"
    evidence = [make_passage(f"{address}#page={n}", f"Text {n}.") for n in (1, 47)]
    checked = check_citations(f"# A\n\nSo [they]({address}#page=47) say.", evidence)

    assert f"1. [{address}]({address}#page=47)" in checked.text.replace("\\", "")
