"""A list of sources that the model wrote becomes part of the one list that is checked."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from idea_explorer.domain.citations import UNMATCHED, CheckedReport, check_citations
from idea_explorer.domain.source_lists import is_source_heading
from idea_explorer.domain.tools import Passage, make_passage
from tests.fakes.timing import cpu_seconds, growth

TEA = Passage(source="https://example.org/tea", title="Tea today", sha256="a" * 64)
BEES = Passage(source="https://example.org/bees", title="Bee market", sha256="b" * 64)
NOTES = make_passage("ideas/market/2024-06.md", "Tea rooms do well.")
EVIDENCE = [TEA, BEES, NOTES]
NOT_FOUND = f"{UNMATCHED}: not among what this run read or found"
TEA_LINE = "[Tea today](https://example.org/tea) `aaaaaaaaaaaa`"
BEE_LINE = "[Bee market](https://example.org/bees) `bbbbbbbbbbbb`"


def check(report: str) -> CheckedReport:
    checked = check_citations(report, EVIDENCE)
    assert check_citations(checked.text, EVIDENCE) == checked
    return checked


def parts_of(checked: CheckedReport) -> tuple[str, list[str]]:
    assert checked.text.count("## Sources") == 1
    body, _, listed = checked.text.partition("\n\n## Sources\n\n")
    return body, listed.splitlines()


LISTS = [
    "## Sources\n\n1. {tea}\n2. {bees}\n3. {made}",
    "# Sources\n- {tea}\n- {bees}\n- {made}\n",
    "###### References:\n\n* {tea}\n\n* {bees}\n\n* {made}",
    "## 8. Sources\n\n1) {tea}\n2) {bees}\n3) {made}",
    "Sources\n-------\n\n- {tea}\n- {bees}\n- {made}",
    "**Sources**\n\n- {tea}\n- {bees}\n- {made}",
    "**Sources:**\n1. {tea}\n2. {bees}\n3. {made}",
    "Sources:\n\n- {tea}\n- {bees}\n- {made}",
    "## Sources\n\n[1] {tea}\n[2] {bees}\n[3] {made}",
    "## Sources\n\n{tea}\n\n{bees}\n\n{made}",
    "## Sources\n\n### Web\n\n- {tea}\n- {bees}\n\n### More\n\n- {made}",
    "## Sources\n\n- Web\n  - {tea}\n  - {bees}\n- More\n  - {made}",
    "## 📚 Sources\n\n- {tea}\n- {bees}\n- {made}",
    "## Quellen\n\n- {tea}\n- {bees}\n- {made}",
    "## Références\n\n- {tea}\n- {bees}\n- {made}",
    "## Fuentes\n\n- {tea}\n- {bees}\n- {made}",
    "## 参考文献\n\n- {tea}\n- {bees}\n- {made}",
]


@pytest.mark.parametrize("written", LISTS)
@pytest.mark.parametrize("form", ["[{0}]({1})", "{0}: {1}", "{0} <{1}>", "*{0}*. {1}"])
def test_a_list_in_any_form_is_merged_with_ours(written: str, form: str) -> None:
    made = "https://made.up/report"
    entries = {
        "tea": form.format("Tea", TEA.source),
        "bees": form.format("Bees", BEES.source),
        "made": form.format("A report", made),
    }
    checked = check(f"# T\n\nText [a]({BEES.source}).\n\n{written.format(**entries)}")

    body, listed = parts_of(checked)
    assert body == f"# T\n\nText [a]({BEES.source})."
    assert listed[:2] == [f"1. {BEE_LINE}", f"2. {TEA_LINE}"]
    (third,) = listed[2:]
    assert third.startswith("3. ")
    assert third.endswith(f"A report{'*' * form.startswith('*')}: <{made}> {NOT_FOUND}")
    assert (checked.citations, checked.unmatched) == (3, 1)


def test_numbers_in_the_text_follow_their_sources() -> None:
    checked = check(
        "# T\n\nBees [2], both [1, 2], tea [1][2], a tale [3], nobody knows [4]; [x] and a[7].\n\n"
        "## Sources\n\n1. Tea, https://example.org/tea\n2. https://example.org/bees\n"
        "3. https://made.up/x\n4. Gut feeling"
    )
    bees, tea = "[[1]](https://example.org/bees)", "[[2]](https://example.org/tea)"
    body, listed = parts_of(checked)
    assert body == (
        f"# T\n\nBees {bees}, both {tea} {bees}, tea {tea}{bees}, a tale"
        f" [[3]](https://made.up/x) {UNMATCHED}, nobody knows [4] {UNMATCHED}; [x] and a[7]"
        f" {UNMATCHED}."
    )
    assert listed == [
        f"1. {BEE_LINE}",
        f"2. {TEA_LINE}",
        f"3. <https://made.up/x> {NOT_FOUND}",
        f"4. Gut feeling {NOT_FOUND}",
    ]


def test_references_and_footnotes_whose_definitions_are_in_the_list_lead_to_the_sources() -> None:
    checked = check(
        "# T\n\nTea [sells][1], [1] it does[^b], they say[^c].\n\n## References\n\n"
        "[1]: https://example.org/tea\n[^b]: Bees, https://example.org/bees\n[^c]: https://made.up\n"
    )
    body, listed = parts_of(checked)
    assert body == (
        "# T\n\nTea [sells](https://example.org/tea), [[1]](https://example.org/tea) it does"
        f"[[2]](https://example.org/bees), they say[[3]](https://made.up) {UNMATCHED}."
    )
    assert len(listed) == 3


def test_text_in_the_list_and_after_it_stays() -> None:
    checked = check(
        "# T\n\n## Sources\n\nChecked in May [1].\n\n1. https://example.org/tea\n\n"
        "```\n- https://made.up\n```\n\n| a | https://made.up |\n\nPrices change.\n\n"
        "## Appendix\n\nMore."
    )
    assert checked.text == (
        "# T\n\n## Appendix\n\nMore.\n\n## Sources\n\nChecked in May"
        " [[1]](https://example.org/tea).\n\n```\n- https://made.up\n```\n\n"
        f"| a | https://made.up {UNMATCHED} |\n\nPrices change.\n\n"
        f"1. {TEA_LINE}\n2. <https://made.up> {NOT_FOUND}"
    )


def test_text_after_a_list_in_bold_stays_where_it_is() -> None:
    checked = check(
        "# T\n\n## Market\n\nTea.\n\n**Sources**\n- https://example.org/tea\n\nAnd so on.\n\n"
        "## Verdict\n\nSources: https://example.org/bees\n"
    )
    body, listed = parts_of(checked)
    assert body == (
        "# T\n\n## Market\n\nTea.\n\nAnd so on.\n\n## Verdict\n\nSources: https://example.org/bees"
    )
    assert listed == [f"1. {BEE_LINE}", f"2. {TEA_LINE}"]


def test_entries_without_an_address_are_found_by_path_or_title() -> None:
    _, listed = parts_of(
        check("x\n\n## Sources\n\n- market/2024-06.md\n- Bee market\n- `Tea today`")
    )
    assert [line.partition(" `")[0] for line in listed] == [
        "1. [ideas/market/2024-06.md](../market/2024-06.md)",
        "2. [Bee market](https://example.org/bees)",
        "3. [Tea today](https://example.org/tea)",
    ]


@pytest.mark.parametrize(
    "heading",
    ["## Sources", "### Quellen", "## References"],
    ids=["sources", "german", "references"],
)
def test_text_around_entries_without_an_address_does_not_hide_them(heading: str) -> None:
    checked = check(
        f"# T\n\nTea sells [1], bees do not [2].\n\n{heading}\n\nThis report relies on:\n\n"
        "1. Tea today\n2. Honey survey, 2024\n\nAll were read in May."
    )
    body, listed = parts_of(checked)
    assert body == f"# T\n\nTea sells [[1]](https://example.org/tea), bees do not [2] {UNMATCHED}."
    assert listed == [
        "This report relies on:",
        "",
        "All were read in May.",
        "",
        f"1. {TEA_LINE}",
        f"2. Honey survey, 2024 {NOT_FOUND}",
    ]


def test_text_around_entries_that_nothing_cites_does_not_hide_them() -> None:
    checked = check("# T\n\n## Sources\n\nMostly the trade press.\n\n- Honey survey, 2024")
    assert (checked.citations, checked.unmatched) == (1, 1)
    assert checked.text.endswith(f"Mostly the trade press.\n\n1. Honey survey, 2024 {NOT_FOUND}")


@pytest.mark.parametrize(
    "section",
    [
        "## References\n\nAsk these two first.\n\n- Anna, who ran a tea room\n- Ben",
        "## Sources\n\nNone.",
        "## Sources of revenue\n\n- Tea\n- Cake",
        "```\n## Sources\n\n- https://made.up\n```",
    ],
)
def test_what_is_no_list_of_sources_stays_as_it_is(section: str) -> None:
    report = f"# T\n\n{section}"
    assert check(report).text == report


def test_a_second_list_under_another_number_is_resolved_by_the_text_before_it() -> None:
    checked = check(
        "## A\n\nTea [1].\n\nSources:\n1. https://example.org/tea\n\n"
        "## B\n\nBees [1].\n\nSources:\n1. https://example.org/bees\n"
    )
    assert "Tea [[1]](https://example.org/tea)." in checked.text
    assert "Bees [[2]](https://example.org/bees)." in checked.text


@pytest.mark.parametrize("title", ["Sources", "2. Sources:", "**References**", "Źródła", "출처"])
def test_headings_of_lists_are_known(title: str) -> None:
    assert is_source_heading(title)


@pytest.mark.parametrize("title", ["", "Sources of power", "Resources", "Market and sources"])
def test_other_headings_are_not(title: str) -> None:
    assert not is_source_heading(title)


PIECES = st.sampled_from(
    [
        "# T\n\n", "## Sources\n\n", "### References\n", "**Sources:**\n", "Sources:\n", "## Market\n",
        "- ", "1. ", "2) ", "  - ", "[1]", "[2, 3]", "[9]", "[^1]", "\n[^1]: ", "\n[1]: ", "[a][1]",
        "https://example.org/tea", "https://made.up/x", "<https://made.up/y>", "www.example.org/tea",
        "[a](https://example.org/bees)", "[[1]](https://made.up/z)", "[b](../market/2024-06.md)",
        "[c](market/2024-06.md)", "![i](j)", "`", "```\n", "~~~\n", "    ", "> ", "| a |\n", "<!--",
        "-->", "\n", "\n\n", "\r\n", " ", "word ", "Tea today", f" {UNMATCHED}", f"{UNMATCHED}: ",
        "\\", "[", "]", "(", ")", "<", ">", "*", ":", "---\n", "===\n", "é", "茶",
    ]
)  # fmt: skip
REPORTS = st.lists(PIECES, max_size=30).map("".join)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(REPORTS)
@example("## Sources\n- ```\n")
@example("[1]: **Sources:**\n## Sources\n\n(\n[^1]: [1]")
def test_what_was_checked_is_checked_to_the_same(report: str) -> None:
    once = check_citations(report, EVIDENCE)
    assert check_citations(once.text, EVIDENCE).text == once.text


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(["alpha", "[a](https://made.up/x)", "beta.", "https://made.up/y"]),
        max_size=9,
    ),
    st.lists(
        st.sampled_from(["- https://made.up/z", "1. Gamma https://made.up/q", "delta"]), max_size=5
    ),
    st.lists(st.sampled_from(["epsilon", "zeta", "[1]"]), max_size=5),
)
def test_no_word_outside_of_the_list_is_lost(
    before: list[str], listed: list[str], after: list[str]
) -> None:
    rest = f"\n\n## After\n\n{' '.join(after)}"
    checked = check_citations(
        f"{' '.join(before)}\n\n## Sources\n\n" + "\n\n".join(listed) + rest, []
    )
    for word in ("alpha", "beta.", "delta", "epsilon", "zeta"):
        assert checked.text.count(word) == [*before, *listed, *after].count(word)


def test_every_invention_is_marked_in_the_list_and_where_it_stands() -> None:
    checked = check(
        "A https://made.up/1 b [c](https://made.up/2)\n\n## Sources\n- https://made.up/3"
    )
    assert checked.text.count(UNMATCHED) == 5
    assert (checked.citations, checked.unmatched) == (3, 3)


HOSTILE = [
    "[", "]", "![", "<!--", "x <!--", "<!-- \n\n", "`", "` ``", "[a](", "[a](b \"", "](   ", "<a ", "<a b=c ",
    "<", "http://", "http://a/(((", "https://x)", "[1]", "[^1]: a\n", "[1]: b\n", "[a][b]", "\\[", "> ",
    "- ", "## Sources\n", "**Sources**\n- a\n", "Sources:\n- http://a\n", "- ```\n\nx\n", "    a\n\n", "\n",
    f"{UNMATCHED} ", "[x](../a.md)\n", "| ",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_check_takes_time_that_grows_with_the_text_alone(piece: str) -> None:
    def run(size: int) -> None:
        check_citations("x\n\n## Sources\n\n" + piece * (size // len(piece)), EVIDENCE)

    assert growth(run, 12_000, enough=12) < 12


def test_a_megabyte_is_checked_in_a_second() -> None:
    line = "Tea [sells](https://example.org/tea) well, see https://made.up/x and `code`. "
    report = (line + "And so it goes on, with words and with figures. " * 6 + "\n\n") * 2_800
    assert len(report) > 1_000_000
    assert cpu_seconds(lambda: check_citations(report, EVIDENCE), enough=1) < 1
