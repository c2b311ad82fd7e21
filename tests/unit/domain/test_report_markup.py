"""What a report may hold when it is stored: nothing that a reader's program loads by itself."""

import time

import pytest

from idea_explorer.domain.report_markup import clean_markup

CLEANED = [
    ("![chart](https://a.example/c.png)", "[chart](https://a.example/c.png)"),
    ("![chart][c]", "[chart][c]"),
    (r"\![no image](x.md)", r"\![no image](x.md)"),
    (r"\\![image](x.md)", r"\\[image](x.md)"),
    ('An <img src="https://a.example/c.png" alt="chart"> here', "An chart here"),
    ('<p style="background:url(//a.example)">x</p>', "<p>x</p>"),
    ("Wow!![chart](https://a.example/c.png)", "Wow[chart](https://a.example/c.png)"),
    (r"\!![image](x.md)", r"\![image](x.md)"),
    ("Result<S, E> or Promise<a | b>", "Result&lt;S, E> or Promise&lt;a | b>"),
    ("if a <b and c> d", "if a &lt;b and c> d"),
    ("<td colspan=2>x</td>", "<td>x</td>"),
    ("<details open>", "<details>"),
    ("<section style='a'> <?hidden ?>", "&lt;section style='a'> &lt;?hidden ?>"),
    ("<!X hidden> <x-y style=a>", "&lt;!X hidden> &lt;x-y style=a>"),
    ("<<img>img src=//a.example>", "<&lt;img>img src=//a.example>"),
    ("[a](<my file.md>) 1 << 3", "[a](my%20file.md) 1 << 3"),
    ("[^1]: Note: this", "[^1]: Note: this"),
    ("H<sub>2</sub>O<br/>", "H<sub>2</sub>O<br/>"),
    (
        '<a class="x" href="https://a.example/" onclick=y>a</a>',
        '<a href="https://a.example/">a</a>',
    ),
    ('<a href="javascript:x">a</a>', "a</a>"),
    ("<img alt='<' src='//a.example'>", "&lt;img alt='<' src='//a.example'>"),
    ("a <!-- hidden --> b", "a  b"),
    ("a <!-- never closed", "a &lt;!-- never closed"),
    ("<https://a.example> <data:text/html,x>", "<https://a.example> "),
    ("[x](data:text/html,abc) [y](javascript&#58;x)", "[x](#) [y](#)"),
    ("[x]: data:text/html,abc", "[x]: #"),
    ("[x](https&#58;//a.example/b)", "[x](https://a.example/b)"),
    ("[x](https://a.example/?utm_source=m&id=3&fbclid=z#p)", "[x](https://a.example/?id=3#p)"),
    ("https://a.example/?utm_source=m", "https://a.example/"),
    ("[x](localhost:5001/foo) [y](tel:5550100100)", "[x](#) [y](#)"),
    ("[a](Makefile:12) [b](Makefile:12-20)", "[a](Makefile:12) [b](Makefile:12-20)"),
    (
        "[notes](notes.md:12) [mail](mailto:a@b.example)",
        "[notes](notes.md:12) [mail](mailto:a@b.example)",
    ),
    (
        "Vec<String> and a@b.example, <info@b.example>",
        "Vec<String> and a@b.example, <info@b.example>",
    ),
]
UNCHANGED = [
    "`<div class=x>` and `a < b`",
    "```html\n<div class=x>\n```\n",
    "```rust\n#![allow(x)]\nlet a = vec![1, 2];\n```\n",
    "1 < 2 and 3 > 2",
]


@pytest.mark.parametrize(("written", "cleaned"), CLEANED)
def test_it_is_cleaned_once_and_for_all(written: str, cleaned: str) -> None:
    assert clean_markup(written) == cleaned
    assert clean_markup(cleaned) == cleaned


@pytest.mark.parametrize("text", UNCHANGED)
def test_code_is_left_as_it_is(text: str) -> None:
    assert clean_markup(text) == text


@pytest.mark.parametrize(
    "code",
    [
        '`<img src="https://a.example/x">`',
        "```\n<img src=//a.example>\n```\n",
        "`![x](//a.example)`",
    ],
)
def test_what_loads_is_broken_in_code_too(code: str) -> None:
    """A program that sees no code there would load it."""
    assert "<img" not in clean_markup(code)
    assert "![" not in clean_markup(code)


def test_code_keeps_its_meaning() -> None:
    code = "```objc\nif (![self isReady]) { return; }\n```\n"
    assert clean_markup(code) == code.replace("![", "! [")


@pytest.mark.long
@pytest.mark.parametrize(
    "shape",
    [
        "![",
        "<img ",
        "<!--",
        "`a",
        "``a` ",
        "](",
        "](<",
        "<a href='",
        "[x]: ",
        "\\",
        "![a](b) `",
        "&#",
        "]((",
    ],
)
def test_hostile_text_takes_no_more_than_linear_time(shape: str) -> None:
    text = shape * (400_000 // len(shape))
    began = time.process_time()
    clean_markup(text)
    assert time.process_time() - began < 2
