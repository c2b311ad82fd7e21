"""A cleaned report as a renderer shows it that lets all HTML through."""

import pytest

from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.report_links import KnownLinks, remove_unknown_links
from idea_explorer.domain.report_markup import clean_markup
from idea_explorer.domain.tools import make_passage
from tests.fakes.rendering import expect_inert

READ = "https://found.example/x"
EVIDENCE = [make_passage(READ, "It says so.")]
ADDRESSES = [
    "script",
    "img/src=a",
    "e@evil.example",
    "https://evil.example/secret",
    "https&colon;//evil.example/secret",
    "https&colon;&sol;&sol;evil.example/secret",
    "h&#116;tps:\\/\\/evil.example/secret",
    "//evil.example/secret",
    "/\\\\evil.example/secret",
    "mailto:e@evil.example?body=secret",
    "\u00a0//evil.example/secret",
    f"{READ}\u00a0secret",
    f"{READ}|secret",
    f"{READ}?secret",
]
FORMS = [
    "![a]({})",
    "!![a]({})",
    "\\!![a](<{}>)",
    "[a](\n{} 'title')",
    "> [a](\n> {})",
    "[a](<{}\\<>)",
    "[a]({}(b(c)))",
    "- [x]: {}\n\n!![x]",
    "[click][a\\]b]\n\n[a\\]b]: {}",
    "[click][a b]\n\n[a\nb]:\n  {}",
    "> [x]:\n> {}\n\n![x][] [x]",
    "1. [x]: <{}>\n\n![a][x]",
    "<img src='{}'>",
    '<IMG\nsrc="{}">',
    "<img src={} ",
    "<<img>img src='{}'>",
    "<<!-- -->img src='{}'>",
    "[x]<img>({})",
    "[x<img alt=']({})'>",
    "\\<img src='{}'>",
    "<div>\n\\<img src='{}'>\n</div>",
    "<div>\n`<img src='{}'>`\n</div>",
    "<pre>\n\n```\n<img src='{}'>\n```\n</pre>",
    '- a `\n- <img src="{}"> `',
    "# a `\n<img src='{}'> `",
    "a `\n***\n<b title='>' style='{}'> `",
    "``a``<!-- -->` <img src='{}'> `",
    "<section style='background:url({})'>",
    "<x-y style='background:url({})'>",
    "<b/style='background:url({})'>a</b>",
    "<area href='{}'>",
    "<a href='{}'>a</a>",
    "<a/href={}>a</a>",
    "<a title='>' href='{}'>a</a>",
    "<a href='{}\"onclick=\"x'>a</a>",
    "<style>@import '{}'</style>",
    "<{}>",
    "{}",
    "    ![a]({})\n\n- b\n\n      ![a]({})",
]


def knows(address: str) -> bool:
    return address == READ


@pytest.mark.parametrize("form", FORMS)
def test_nothing_loads_and_only_known_links_lead_away(form: str) -> None:
    for address in ADDRESSES:
        cleaned = clean_markup(f"# Report\n\n{form.replace('{}', address)}\n")
        expect_inert(cleaned)
        removed, _ = remove_unknown_links(cleaned, KnownLinks(EVIDENCE))
        expect_inert(removed, knows)
        expect_inert(check_citations(removed, EVIDENCE).text, knows)


@pytest.mark.parametrize(
    "text", ["![a](b)", "<b class=x>", "<a href=x onclick=y>", "[a](//b.example)"]
)
def test_the_check_itself_fails_at_what_it_looks_for(text: str) -> None:
    with pytest.raises(AssertionError):
        expect_inert(text, knows)
