"""A report on a terminal: for people, at the width that they have."""

import pytest

from idea_explorer.cli.prose import drop_link_targets, lay_out, strip_markup

REPORT = r"""# Tea \*rooms\*

Libraries have rooms that are empty on weekdays ([Tools](../tools/research.md)), see [here](https://tea.example).

- a point that is too long for one line of this terminal, as most are
> a remark that is too long for one line of this terminal, as some are

```
code that is never broken, however long it is and however narrow the terminal
```

## Sources

1. [Tools](../tools/research.md) `75784f05148b`
"""


def show(markdown: str, width: int) -> list[str]:
    return [line for line, _ in lay_out(markdown, width)]


def test_a_report_is_broken_between_words() -> None:
    assert show(REPORT, 50) == [
        "# Tea *rooms*",
        "",
        "Libraries have rooms that are empty on weekdays",
        "(Tools [1]), see here <https://tea.example>.",
        "",
        "- a point that is too long for one line of this",
        "  terminal, as most are",
        "> a remark that is too long for one line of this",
        "> terminal, as some are",
        "",
        "```",
        "code that is never broken, however long it is and however narrow the terminal",
        "```",
        "",
        "## Sources",
        "",
        "1. Tools <../tools/research.md> `75784f05148b`",
        "",
    ]


def test_only_headings_are_bold() -> None:
    assert [line for line, colour in lay_out(REPORT, 80) if colour] == [
        "# Tea *rooms*",
        "## Sources",
    ]


TABLE = r"""| # | Track | Why |
|---|:--|---|
| 1 | Reel \| Air | [rain](#rain) |
| 2 | Hymn | |"""


def test_a_table_that_fits_has_columns() -> None:
    assert show(TABLE, 40) == [
        "#  Track       Why",
        "─  ──────────  ────────────",
        "1  Reel | Air  rain <#rain>",
        "2  Hymn",
    ]


def test_a_table_that_does_not_fit_is_a_list() -> None:
    assert show(TABLE, 20) == [
        "- #: 1",
        "- Track: Reel | Air",
        "- Why: rain <#rain>",
        "",
        "- #: 2",
        "- Track: Hymn",
    ]


@pytest.mark.parametrize(
    "markdown", ["", "|", "||", "|---|", "| a |\n| b | c |", "[](", "```", "#"]
)
def test_malformed_markdown_is_shown(markdown: str) -> None:
    assert set("".join(show(markdown, 80))) >= set(markdown) - set("|-\n")


def test_rows_of_endless_cells_are_lines_and_not_a_table() -> None:
    endless = "|a" * 60
    shown = show(f"{endless}\n| b |", 200)
    assert " ".join(shown).split() == [*"a" * 60, "b"]
    assert len(shown) == 3


def test_text_that_is_no_link_stays() -> None:
    assert show(r"\[not a link\](x) and [one\]](y)", 80) == ["[not a link](x) and one] <y>"]
    assert (
        drop_link_targets("see [the notes](../a.md), [x] and (y)") == "see the notes, [x] and (y)"
    )


@pytest.mark.parametrize("markdown", ["# {}", "- {}", "{}", "| {} |", "> {}"])
def test_what_counts_as_space_but_is_none_is_spelled_out(markdown: str) -> None:
    """However long the line is: it stays with the sign that it begins with."""
    for long in ("", "x" * 30):
        shown = show(markdown.format(f"a\x0bb\x1cc\u2028d{long}"), 20)
        assert shown[-1].endswith(rf"a\x0bb\x1cc\u2028d{long}")
        assert len(shown) == 1


def test_code_is_shown_as_it_is() -> None:
    assert show("`[a](http://b)` and [c](http://d)", 80) == ["`[a](http://b)` and c <http://d>"]
    block = ["````", "```python", "[a](b)", "```", "[c](d)", "````"]
    assert show("\n".join([*block, "[e](f)"]), 80) == [*block, "e <f>"]
    assert show("```\n\\*\n```\n\\*", 80) == ["```", "\\*", "```", "*"]
    assert drop_link_targets("`[a](b)` [c](d)") == "`[a](b)` c"


def test_an_indented_line_alone_is_no_code() -> None:
    line = r"    - nested \* item"
    assert [*lay_out(line, 80, has_code=False)] == [("    - nested * item", "")]
    assert [*lay_out("    # a", 80, has_code=False)] == [("    # a", "")]


def test_an_image_is_its_description() -> None:
    assert show("![a chart](c.png)", 80) == ["a chart <c.png>"]


def test_columns_of_wide_characters_are_even() -> None:
    table = "| Place | Rank |\n|---|---|\n| 東京 | 1 |\n| Oslo | 2 |"

    assert show(table, 40) == ["Place  Rank", "─────  ────", "東京   1", "Oslo   2"]


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("## The market ##", "The market:"),
        ("# Who buys?", "Who buys?"),
        ("1. **Tools** stand *still*.", "1. Tools stand still."),
        ("> - __Two__ hives", "· Two hives"),
        ("| a | **b** |\n|---|---|\n| 1 | 2 |", "a · b\n1 · 2"),
        (
            "see [the notes](a.md), `x_y*z` and snake_case_name",
            "see the notes, x_y*z and snake_case_name",
        ),
        ("5 * 3, 2 - 1 and \\*stars\\*", "5 * 3, 2 - 1 and \\*stars\\*"),
        ("plain", "plain"),
    ],
)
def test_an_excerpt_has_the_words_without_the_markup(markdown: str, words: str) -> None:
    assert strip_markup(markdown) == words


@pytest.mark.parametrize(
    "text",
    [
        "It costs 10*12 = 120 and 2*3*4",
        "glob **/*.py and __init__.py",
        "src/*/tests/*.py, *.md and */*",
        "(a)*b and c*(d), 2 * 3",
        "Price* and 5* hotels",
        "**kwargs, *args and _private",
        "approx ~5 or ~~6",
        "a \\*b\\* and \\_c_",
    ],
)
def test_signs_that_are_no_markup_stay_in_an_excerpt(text: str) -> None:
    assert strip_markup(text) == text


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("# Learning C#", "Learning C#:"),
        ("# Learning C# #", "Learning C#:"),
        ("# **Who buys?**", "Who buys?"),
        ("# ##", ""),
        ("***both***, **a *nested*** and ***b* c**", "both, a nested and b c"),
        ("(*so*), **AI**-based, _**x**_ ~~gone~~.", "(so), AI-based, x gone."),
        ("**bold over\ntwo lines** and *more*", "bold over\ntwo lines and more"),
        ("*Net\n- Total*", "*Net\n· Total*"),
        ("above\n***\n_ _ _\nbelow", "above\nbelow"),
        (
            "before\n```py\n# a *comment* [x](y)\n| a |\n```\n*after*",
            "before\n# a *comment* [x](y)\n| a |\nafter",
        ),
        ("````\n```\n# a\n```\n````", "```\n# a\n```"),
        ("- item\n\n  ~~~\n  # a\n  ~~~\n", "· item\n\n  # a"),
        ("text\n\n    # a *b*\n", "text\n\n    # a *b*"),
        ("```\n# never closed", "# never closed"),
    ],
)
def test_an_excerpt_keeps_what_was_written(markdown: str, words: str) -> None:
    assert strip_markup(markdown) == words
