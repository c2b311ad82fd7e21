"""Where cited sentences begin and end."""

from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.markdown import find_code
from idea_explorer.domain.report_markup import clean_markup
from idea_explorer.domain.verification.cited import find_cited_sentences

A, B = "https://a.example/x", "https://b.example/y.html"


def texts(report: str) -> list[str]:
    return [cited.text for cited in find_cited_sentences(report)]


def test_only_sentences_with_a_link_are_cited() -> None:
    report = f"# Tea\n\nNobody knows. It costs 2.50 euros [[1]]({A}). That is little.\n"
    (cited,) = find_cited_sentences(report)
    assert cited.text == f"It costs 2.50 euros [[1]]({A})."
    assert report[cited.start : cited.end] == cited.text
    assert cited.targets == (A,)


def test_numbers_after_a_full_stop_belong_to_the_sentence_before_it() -> None:
    report = f"One. Two is so. [[1]]({A}) [[2]]({B}) Three [x]({B})."
    assert texts(report) == [f"Two is so. [[1]]({A}) [[2]]({B})", f"Three [x]({B})."]


def test_links_in_brackets_after_a_full_stop_belong_to_the_sentence_before_it() -> None:
    taken = [f"Two is so. ([Tea]({A}); [Two]({B}) ⚠ unverified)", f"Three is. ([Tea]({A}))"]
    assert texts(f"One. {taken[0]} {taken[1]}\n\n- Four.\n") == taken


def test_links_that_end_a_paragraph_belong_to_the_sentence_before_them() -> None:
    assert texts("It grew. [a](https://a.b/c), [b](https://a.b/d)") == [
        "It grew. [a](https://a.b/c), [b](https://a.b/d)"
    ]
    assert texts("It grew. [Hopp](https://a.b/c) fell.") == ["[Hopp](https://a.b/c) fell."]


def test_a_sentence_in_brackets_cites_for_itself() -> None:
    own = [f"([Tea]({A}) says so.)", f"([Tea]({A})"]
    for sentence in own:
        assert texts(f"Two is so. {sentence}\n") == [sentence]


def test_marks_of_unknown_sources_stay_with_their_link() -> None:
    assert texts(f"So. [[1]]({A}) ⚠ unverified Then not.") == [f"So. [[1]]({A}) ⚠ unverified"]


def test_list_items_and_table_rows_are_sentences() -> None:
    report = f"- one [x]({A})\n- two\n\n| a | b |\n|---|---|\n| c. D | [x]({B}) |\n"
    assert texts(report) == [f"- one [x]({A})", f"| c. D | [x]({B}) |"]


def test_abbreviations_and_initials_end_no_sentence() -> None:
    report = f"1. Dr. J. Doe of Acme Inc. Boston said e.g. Tea is up [x]({A})."
    assert texts(report) == [report]


def test_code_headings_and_the_list_of_sources_hold_no_sentences() -> None:
    report = f"# T [x]({A})\n\n```\n[x]({A})\n```\n\nYes [x]({A}).\n\n## Sources\n\n1. [x]({A})\n"
    assert texts(report) == [f"Yes [x]({A})."]


def test_text_right_below_a_heading_is_no_part_of_it() -> None:
    assert texts(f"## Problem\nYes [x]({A}).\n## Next\n") == [f"Yes [x]({A})."]


def test_a_reference_cites_what_it_is_defined_as() -> None:
    (cited,) = find_cited_sentences(f"It is so [there][t].\n\n[t]: {A}\n")
    assert cited.targets == (A,)


def test_a_report_is_parsed_once_for_all_that_is_checked() -> None:
    report = "# Tea\n\nTea is popular. It has no sources.\n\nIt grows in hills."
    find_code.cache_clear()
    checked = check_citations(clean_markup(report), [])
    find_cited_sentences(checked.text)
    check_citations(clean_markup(report), [])

    assert find_code.cache_info().misses == 1
