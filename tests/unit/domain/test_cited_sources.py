"""Where citations lead, and the passages that the report shows."""

from pydantic import TypeAdapter

from idea_explorer.domain.citations import check_citations, collect_quotes
from idea_explorer.domain.cited_sources import CitedDocument, find_target
from idea_explorer.domain.json import Block, document_block
from idea_explorer.domain.report import read_final_turn, render_citations
from idea_explorer.domain.tools import Passage, ToolRecord, make_passage, parse_search_results
from idea_explorer.domain.transcript import ModelCallFinished, Opening
from idea_explorer.domain.turns import find_documents
from idea_explorer.domain.usage import Usage
from tests.fakes.anthropic_turns import (
    citation,
    page_citation,
    result_citation,
    search_result,
    text,
    web_fetch,
    web_search,
)

PAGE = "https://prices.example/tea"
WORDS = "A cup costs 4.20 euros in most towns."
DOCUMENTS = [
    CitedDocument("ideas/2026-01-05-tea/research.md", "2026-01-05-tea/research.md", "Tea sold."),
    CitedDocument(PAGE, "Prices", WORDS),
    CitedDocument("https://papers.example/study.pdf", "", ""),
]


def fetched(url: str = PAGE, words: str = WORDS, **options: str) -> list[Block]:
    call, result = web_fetch(url, words, title="Prices", call_id="f", **options)
    return [call, {**result, "tool_use_id": "f"}]


def finished(*blocks: Block) -> ModelCallFinished:
    return ModelCallFinished(
        step=1, content=list(blocks), stop_reason="end_turn", usage=Usage(), duration_ms=1
    )


def test_every_kind_of_citation_leads_somewhere() -> None:
    cited = result_citation("market/tea.md", "Tea", "Tea sells.", result=0, block=0)

    assert find_target(citation(PAGE, "Prices", "4.20")) == PAGE
    assert find_target(cited) == "market/tea.md"
    assert find_target(page_citation(1, "Prices", "costs 4.20"), DOCUMENTS) == PAGE
    assert find_target(page_citation(2, None, "from a PDF"), DOCUMENTS).endswith("study.pdf")


def test_a_number_that_means_another_document_does_not_mislead() -> None:
    assert find_target(page_citation(0, "Prices", "costs 4.20"), DOCUMENTS) == PAGE
    assert find_target(page_citation(9, "Prices", "costs 4.20"), DOCUMENTS) == PAGE
    assert find_target(page_citation(0, "Prices", "words of nobody"), DOCUMENTS) == ""


def test_an_address_that_is_none_leads_nowhere() -> None:
    assert find_target(citation("javascript:alert(1)", "x", "y")) == ""


def test_attached_documents_and_pages_are_numbered_in_their_order() -> None:
    opening = Opening(
        model_id="m",
        system=[],
        tools=[],
        content=[
            {"type": "text", "text": "Tea"},
            document_block("2026-01-05-tea/research.md", "Tea sold."),
        ],
        passages=[make_passage("ideas/2026-01-05-tea/research.md", "Tea sold.")],
    )

    documents = find_documents([opening, finished(*fetched())])

    assert documents == [
        DOCUMENTS[0],
        CitedDocument(PAGE, "Prices", WORDS),
    ]


def test_the_text_has_a_link_for_each_document_it_cites() -> None:
    said = text("A cup costs 4.20.", citations=[page_citation(0, "Prices", "costs 4.20 euros")])
    named = text(
        " Tea sells.",
        citations=[result_citation("a (b)/tea room.md", "T", "x", result=0, block=0)],
    )

    assert render_citations([said, named], [DOCUMENTS[1]]) == (
        f"A cup costs 4.20. [[1]]({PAGE}) Tea sells. [[2]](a%20%28b%29/tea%20room.md)"
    )
    assert read_final_turn([finished(*fetched(), said)]) == f"A cup costs 4.20. [[1]]({PAGE})"


def test_the_report_shows_the_passage_of_a_document_of_the_team() -> None:
    passage = make_passage("ideas/market/tea.md", "Tea sells in towns.\n\nMore.", title="Tea")
    cited = result_citation("market/tea.md", "Tea", "Tea sells in towns.", result=0, block=0)
    said = text("# Tea\n\nIt sells.", citations=[cited])

    checked = check_citations(render_citations([said]), [passage], collect_quotes([said]))

    assert "It sells. [[1]](../market/tea.md)" in checked.text
    assert checked.text.endswith(
        f"1. [Tea](../market/tea.md) `{passage.sha256[:12]}`: “Tea sells in towns.”"
    )
    assert (checked.citations, checked.unmatched) == (1, 0)


def test_a_page_that_was_read_is_evidence_with_its_text_and_its_day() -> None:
    (page,) = parse_search_results(fetched())

    assert (page.source, page.title, page.text, page.read_on) == (
        PAGE, "Prices", WORDS, "2026-11-17",
    )  # fmt: skip
    assert page.sha256 == make_passage(PAGE, WORDS).sha256


def test_a_pdf_is_evidence_without_text() -> None:
    blocks = fetched()
    document = blocks[1]["content"]["content"]  # type: ignore[index,call-overload]
    document["source"] = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}  # type: ignore[index,call-overload]

    (page,) = parse_search_results(blocks)

    assert (page.text, page.source) == ("", PAGE)


def test_a_page_that_was_found_and_then_read_is_one_source() -> None:
    call, found = web_search("tea", [search_result(PAGE, "Tea prices", page_age="May 2026")])
    evidence = [*parse_search_results([call, found]), *parse_search_results(fetched())]

    checked = check_citations(f"# Tea\n\nIt costs [much]({PAGE}).", evidence)

    digest = make_passage(PAGE, WORDS).sha256[:12]
    assert checked.text.endswith(f"1. [Prices]({PAGE}), May 2026, read 2026-11-17 `{digest}`")


def test_of_two_texts_of_one_source_the_first_counts() -> None:
    first, second = make_passage(PAGE, "one"), make_passage(PAGE, "two")

    assert first.sha256[:12] in check_citations(f"# T\n\n[x]({PAGE})", [first, second]).text


def test_a_page_that_could_not_be_opened_is_a_failed_call() -> None:
    _, failed = web_fetch(PAGE, error="url_not_accessible")
    record = ToolRecord.of_server_result(failed, 2)

    assert (record.name, record.ok, record.error_type) == ("web_fetch", False, "url_not_accessible")
    read = ToolRecord.of_server_result(fetched()[1], 2)
    assert (read.ok, read.bytes, read.error_type) == (True, len(WORDS), None)
    assert list(parse_search_results([failed])) == []


def test_evidence_of_before_still_loads() -> None:
    assert TypeAdapter(Passage).validate_python({"source": "a", "sha256": "0"}).read_on == ""
