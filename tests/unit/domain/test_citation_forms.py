"""However a source is cited, it is checked: nothing that was read is marked, nothing invented passes."""

import pytest

from idea_explorer.domain.citations import UNMATCHED, CheckedReport, check_citations
from idea_explorer.domain.tools import Passage, make_passage
from idea_explorer.settings import Settings

PAGE = Passage(source="https://www.example.org/tea/", title="Tea today", sha256="a" * 64)
BEES = Passage(source="https://b.example/x?q=1", title="Bee market", sha256="b" * 64)
NOTES = make_passage(
    "ideas/market/2024-06.md", "Tea rooms do well. See https://named.example/in/it."
)
EARLIER = make_passage("ideas/2026-04-22-tea/research.md", "Tea.", title="Tea rooms")
FOUND = make_passage("ideas/interviews.md", "…an excerpt that a search found…", title="Interviews")
CODE = make_passage("src/service.ts:1-20", "export class TeaService {}")
EVIDENCE = [PAGE, BEES, NOTES, EARLIER, FOUND, CODE]
REPOSITORY = "https://github.com/acme/ideas"


def check(report: str) -> CheckedReport:
    checked = check_citations(report, EVIDENCE, page=REPOSITORY)
    again = check_citations(checked.text, EVIDENCE, page=REPOSITORY)
    assert again == checked
    return checked


def sources_of(checked: CheckedReport) -> list[str]:
    return checked.text.partition("## Sources\n\n")[2].splitlines()


DOCUMENTS = [
    "market/2024-06.md",
    "./market/2024-06.md",
    "../market/2024-06.md",
    "../../ideas/market/2024-06.md",
    "ideas/market/2024-06.md",
    "/ideas/market/2024-06.md",
    "../market/2024-06.md#prices",
    "../market/2024%2D06.md",
    "https://github.com/acme/ideas/blob/main/ideas/market/2024-06.md",
    "https://github.com/Acme/Ideas/blob/0123abc/ideas/market/2024-06.md?plain=1#L3",
    "https://github.com/acme/ideas/blob/team/spring/ideas/market/2024-06.md",
    "https://raw.githubusercontent.com/acme/ideas/main/ideas/market/2024-06.md",
]


@pytest.mark.parametrize("target", DOCUMENTS)
def test_a_document_that_was_read_is_a_source_however_it_is_linked(target: str) -> None:
    checked = check(f"As [we found]({target}).")

    assert (checked.citations, checked.unmatched) == (1, 0)
    (line,) = sources_of(checked)
    assert line.startswith("1. [ideas/market/2024-06.md](")
    assert line.endswith(f"`{NOTES.sha256[:12]}`")


@pytest.mark.parametrize(
    ("written", "works"),
    [
        ("market/2024-06.md", "../market/2024-06.md"),
        ("ideas/market/2024-06.md#a", "../market/2024-06.md#a"),
    ],
)
def test_a_link_to_a_document_leads_there_from_where_the_report_stands(
    written: str, works: str
) -> None:
    checked = check(f'As [we found]({written} "title").')
    assert f'[we found]({works} "title").' in checked.text
    assert f"]({works}) `" in checked.text


def test_an_excerpt_that_was_found_is_evidence_of_its_document() -> None:
    assert check("[people said](../interviews.md)").unmatched == 0


def test_a_link_to_the_folder_of_a_document_that_was_read_means_the_document() -> None:
    checked = check("[earlier](../2026-04-22-tea/)")
    assert checked.unmatched == 0
    assert "[Tea rooms](../2026-04-22-tea/)" in checked.text


@pytest.mark.parametrize(
    "target",
    [
        "../market/2023-06.md",
        "../../market/2024-06.md",
        "/etc/passwd",
        "notes.md:12",
        "https://github.com/other/ideas/blob/main/ideas/market/2024-06.md",
        "https://github.com/acme/ideas/issues/3",
        "https://github.com/acme/ideas/blob/main/src/service.py",
    ],
)
def test_a_file_that_was_not_read_is_marked(target: str) -> None:
    checked = check(f"As [we found]({target}) once.")

    assert f"[we found]({target}) {UNMATCHED} once." in checked.text
    assert (checked.citations, checked.unmatched) == (1, 1)


@pytest.mark.parametrize("target", ["src/service.ts", "src/service.ts:12", "src/service.ts#L1-L9"])
def test_code_that_was_read_is_a_source_with_or_without_its_lines(target: str) -> None:
    checked = check(f"See [the service]({target}).")
    assert (checked.unmatched, f"[the service]({target})." in checked.text) == (0, True)


SAME_PAGE = [
    "https://example.org/tea",
    "http://example.org/tea/",
    "HTTPS://WWW.EXAMPLE.ORG/tea",
    "https://example.org:443/tea",
    "http://example.org:80/tea#history",
    "https://example.org/tea?utm_source=chat&utm_medium=x",
    "https://example.org/tea?gclid=1#:~:text=Tea",
    "https://example.org/t%65a",
    "//example.org/tea",
]


@pytest.mark.parametrize("target", SAME_PAGE)
def test_spellings_of_an_address_are_one_source(target: str) -> None:
    assert check(f"Tea [sells]({target}).").unmatched == 0
    if "://" in target:
        assert check(f"See {target}, or ({target}). Also <{target}>!").unmatched == 0


@pytest.mark.parametrize(
    "other",
    [
        "https://example.org/tea?page=2",
        "https://example.org/Tea",
        "https://example.org/teas",
        "https://example.org:8080/tea",
        "https://example.org.evil.example/tea",
        "https://tea.example.org/tea",
        "https://b.example/x",
        "https://b.example/x?q=1%26r=2",
    ],
)
def test_another_address_is_another_source(other: str) -> None:
    assert check(f"Tea [sells]({other}).").unmatched == 1
    assert check(f"Tea sells: {other}").unmatched == 1


def test_addresses_as_they_are_count_as_citations() -> None:
    checked = check(
        "See https://example.org/tea, and (https://made.up/x). <https://made.up/y>\n"
        "**https://b.example/x?q=1** www.example.org/tea 見るhttps://made.up/z。次"
    )
    assert f"and (https://made.up/x {UNMATCHED}). <https://made.up/y> {UNMATCHED}\n" in checked.text
    assert f"見るhttps://made.up/z {UNMATCHED}。次" in checked.text
    assert (checked.citations, checked.unmatched) == (6, 3)
    assert len(sources_of(checked)) == 5


def test_an_address_repeated_from_what_was_read_or_asked_is_no_invention() -> None:
    text = "They write https://named.example/in/it and you asked about https://asked.example."
    asked = ["Something like https://asked.example/?"]
    checked = check_citations(text, EVIDENCE, given=asked)

    assert (checked.text, checked.citations) == (text, 0)
    linked = check_citations("As [shown](https://named.example/in/it).", EVIDENCE, given=asked)
    assert linked.unmatched == 1  # the page itself was not read


def test_reference_links_are_checked_by_their_definitions() -> None:
    checked = check(
        "Tea [sells][t], [Bees][] too, and [so][Made  Up] do [1] and [these][none].\n\n"
        '[t]: https://example.org/tea "Tea"\n[bees]: <https://b.example/x?q=1>\n'
        "[made up]: https://made.up/a\n[1]: https://made.up/b\n"
    )
    assert f"Tea [sells][t], [Bees][] too, and [so][Made  Up] {UNMATCHED} do" in checked.text
    assert f"[[4]](https://made.up/b) {UNMATCHED} and [these][none]." in checked.text
    assert '\n[t]: https://example.org/tea "Tea"\n' in checked.text
    assert (checked.citations, checked.unmatched) == (4, 2)


def test_footnotes_are_checked_where_they_stand_and_where_they_are_cited() -> None:
    checked = check(
        "A fact[^1], a tale[^2] and a remark[^3].\n\n[^1]: See https://example.org/tea for more.\n"
        "[^2]: See [this](https://made.up/x).\n[^3]: In passing."
    )
    assert f"A fact[^1], a tale[^2] {UNMATCHED} and a remark[^3]." in checked.text
    assert "[^1]: See https://example.org/tea for more.\n" in checked.text
    assert f"[^2]: See [this](https://made.up/x) {UNMATCHED}.\n[^3]: In passing." in checked.text


def test_links_in_html_are_checked() -> None:
    checked = check('<a class="x" href="https://made.up/x">a https://made.up/x</a> and on')
    assert f"</a> {UNMATCHED} and on" in checked.text
    assert (checked.citations, checked.unmatched) == (1, 1)


LEFT_ALONE = [
    "`https://made.up`, ``a ` https://made.up``",
    "```\nhttps://made.up\n```",
    "~~~~\n```\n[a](https://made.up)\n~~~\n~~~~",
    "Text:\n\n    curl https://made.up\n",
    "> ```\n> https://made.up\n> ```",
    "- An item\n  ```\n  https://made.up\n  ```",
    "---\nsource: https://made.up\n---\n# Title",
    "<!-- https://made.up -->",
    "<!--\n\n[a](https://made.up)\n\n-->\nText",
    "![a chart](https://made.up/i.png) and ![b][i]\n\n[i]: https://made.up/i.png",
    '<img src="https://made.up/i.png" alt="x">',
    "[a](#part) [b](mailto:a@b.c) [c](tel:123) [d]() [e] [ ] [x] \\[f](https:no)",
    "Just http:// and https:// and www. and [1] and a[0].",
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_no_citation_is_left_alone(text: str) -> None:
    checked = check(text)
    assert (checked.text, checked.citations) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "> ```\n> code\n\n[a](https://made.up)",
        "- ```\n  code\n\n[a](https://made.up)",
        "- item\n\n    [a](https://made.up)",
        "a ` b [a](https://made.up)\n\nc ` d",
        "- a ` b [a](https://made.up)\n- c ` d",
        "x <!-- a\n\n[a](https://made.up) -->",
        "<!-- [a](https://made.up)",
        "a < b [a](https://made.up) > c",
        "[![chart](https://made.up/i.png)](https://made.up)",
        "[a [b] c](https://made.up)",
        "[a\\] b](https://made.up)",
        '[a](<https://made.up> "title (x)")',
        "[a](https://made.up/x_(y)_z)",
        "[1](https://made.up)",
        "[no link](https://made.up with spaces)",
    ],
)
def test_what_only_looks_like_code_hides_no_citation(text: str) -> None:
    checked = check(text)
    assert (checked.citations, checked.unmatched) == (1, 1)
    assert checked.text.count(UNMATCHED) == 2


def test_a_list_after_code_that_was_left_open_is_no_part_of_it() -> None:
    checked = check("[a](https://made.up)\n\n```\nhalf")
    assert "```\nhalf\n```\n\n## Sources\n\n1. " in checked.text


def test_a_mark_that_is_there_is_not_set_twice_and_goes_where_it_is_not_true() -> None:
    text = f"[a](https://made.up) {UNMATCHED} and [b](https://example.org/tea) {UNMATCHED}."
    checked = check(text)
    assert f"[a](https://made.up) {UNMATCHED} and [b](https://example.org/tea).\n\n" in checked.text


@pytest.mark.parametrize(
    ("api", "page"),
    [
        ("https://api.github.com", "https://github.com/acme/ideas"),
        ("https://git.example.com/api/v3", "https://git.example.com/acme/ideas"),
        ("https://api.acme.ghe.com", "https://acme.ghe.com/acme/ideas"),
        ("http://127.0.0.1:8080", "https://github.com/acme/ideas"),
    ],
)
def test_the_page_of_a_repository_follows_from_its_api(api: str, page: str) -> None:
    settings = Settings(github_repository="acme/ideas", github_api_url=api)
    assert settings.repository_url(None) == page
    assert settings.repository_url("acme/other") == page.replace("ideas", "other")
    assert Settings().repository_url(None) is None
