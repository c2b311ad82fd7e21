import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.tools.decoding import SLICE, decode
from idea_explorer.tools.readable import readable

BASE = "https://example.org/guide/start.html"


def text_of(source: str) -> str:
    return readable(source, base_url=BASE, limit=10_000).text


def test_a_page_reads_as_a_person_would_read_it() -> None:
    page = readable(
        """<!doctype html><html><head><title> Food &amp; permits
        | City</title><style>p { color: red }</style><script>if (a < b) "</p>"</script></head>
        <body><nav><ul><li><a href="/">Home</a></li></ul></nav>
        <h1>Permits <small>2024</small></h1><!-- not > shown -->
        <p>Read <a href="/rules?a=1&amp;b=2">the <b>rules</b></a> first;   3 < 4.</p>
        <ul><li>One<li><a href="forms.html">Two</a></ul>
        <table><tr><th>Fee</th><th>Year</th></tr><tr><td>80</td><td>2024</td></tr></table>
        <noscript>Enable it</noscript><svg><title>Icon</title>x</svg>
        <footer>Call 311</footer></body></html>""",
        base_url=BASE,
        limit=10_000,
    )
    assert page.title == "Food & permits | City"
    assert page.text == (
        "# Permits 2024\n\n"
        "Read [the rules](https://example.org/rules?a=1&b=2) first; 3 < 4.\n\n"
        "- One\n- [Two](https://example.org/guide/forms.html)\n\n"
        "Fee | Year\n80 | 2024\n\n"
        "Call 311"
    )
    assert not page.truncated


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<p>a<p>b", "a\n\nb"),
        ("<b>bold</b>er", "bolder"),
        ("a <i>b</i> c", "a b c"),
        ("<h2><a href='x'>T</a></h2>", "## [T](https://example.org/guide/x)"),
        ("<li><li><li>only", "- only"),
        ("<pre>\ndef f():\n    <b>return</b> <i>1</i>\n</pre>x", "def f():\n    return 1\n\nx"),
        ("x<5 and y>6 &lt;b&gt;", "x<5 and y>6 <b>"),
        ("a<!-->b<!--->c<!-- -- >d-->e", "abce"),
        ("a<?php echo 1 ?>b<!DOCTYPE x>c</ x>d", "abcd"),
        ("<p title='a > b'>c</p>", "c"),
        ("<p title=\"a>b' class=x>c</p>", "b' class=x>c"),
        ("<a href=javascript:alert(1)>a</a> <a href='#top'>b</a> <a href='mailto:x@y.z'>c</a>", "a b c"),
        ("<a href='http://[bad'>a</a>", "a"),
        ("<a href='/x'><img alt=i></a>", ""),
        ("<script>never closed <p>x", ""),
        ("seen<a href='never closed", "seen"),
        ("seen<!-- never closed", "seen"),
        ("<nav><nav>a</nav>b</nav>c", "c"),
        ("</nav>a</b></p>b", "a\n\nb"),
        ("&#65;&eacute;&nbsp;&unknown;", "Aé &unknown;"),
        ("&#" + "9" * 5_000 + ";", "&#" + "9" * 5_000 + ";"),
        ("<SCRIPT>x</SCRIPT >y<STYLE>z</style>w", "yw"),
    ],
)  # fmt: skip
def test_markup(source: str, text: str) -> None:
    assert text_of(source) == text


def test_a_title_is_one_line_of_bounded_length() -> None:
    assert readable("<title>a\n b</title>", limit=10).title == "a b"
    assert len(readable(f"<title>{'x' * 9_000}</title>", limit=10).title) == 300
    assert readable("<title>first</title><title>second</title>", limit=10).title == "first"
    assert readable("<p>none", limit=10).title == ""


@pytest.mark.parametrize("source", ["x" * 101, "<p>xx" * 60, "<li>a<a href=/y>b</a>" * 20])
def test_text_beyond_the_limit_is_cut_and_said_to_be(source: str) -> None:
    page = readable(source, base_url=BASE, limit=100)
    assert len(page.text) == 100
    assert page.truncated


def test_text_of_exactly_the_limit_is_whole() -> None:
    page = readable("<p>" + "x" * 100, limit=100)
    assert (len(page.text), page.truncated) == (100, False)


_TAGS = (
    "<p> </p> </a> <li> <pre> </pre> <!-- --> < > &# &amp; <nav> </nav> <script> </script> <title> </title>"
    " \" ' = word <td>"
)
_MARKUP = st.sampled_from([*_TAGS.split(), "<a href='/x'>", " ", "\n"])


@settings(deadline=None)
@given(st.lists(_MARKUP | st.text(max_size=5), max_size=80).map("".join))
def test_any_markup_gives_bounded_text(source: str) -> None:
    page = readable(source, base_url=BASE, limit=50)
    assert len(page.text) <= 50
    assert "\n\n\n" not in page.text or "<pre>" in source


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("grün".encode(), "", "grün"),
        ("grün".encode(), "utf-8", "grün"),
        ("grün".encode("latin-1"), "", "grün"),
        ("grün".encode("latin-1"), "ISO-8859-1", "grün"),
        ("grün".encode("latin-1"), "utf-8", "gr\ufffdn"),
        ("„grün“".encode("cp1252"), "latin1", "„grün“"),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本"),
        ("日本".encode("euc_jp"), "EUC-JP", "日本"),
        ("中文".encode("gbk"), "gb2312", "中文"),
        ("привет".encode("cp1251"), "windows-1251", "привет"),
        ("grün".encode("utf-16-le"), "utf-16", "grün"),
        ("grün".encode("utf-16"), "", "grün"),
        ("grün".encode("utf-16-be"), "utf-16be", "grün"),
        ("\ufeffgrün".encode(), "latin-1", "grün"),
        (b"+ADw-script+AD4-", "utf-7", "+ADw-script+AD4-"),
        (b"abc", "rot13", "abc"),
        (b"abc", "punycode", "abc"),
        (b"abc", "unicode_escape", "abc"),
        (b"abc", "../../etc", "abc"),
        (b"abc", "iso-8859-99", "abc"),
        (b"a\x00b\x1bc\x7fd\te\r\n", "utf-8", "abcd\te\r\n"),
    ],
)  # fmt: skip
def test_text_is_decoded_whatever_is_claimed(data: bytes, charset: str, text: str) -> None:
    assert decode(data, charset) == text


@pytest.mark.parametrize(
    "head",
    ["<meta charset='windows-1251'>", '<META http-equiv=x content="text/html; Charset=windows-1251">'],
)  # fmt: skip
def test_a_page_may_name_its_own_charset(head: str) -> None:
    source = f"<html><head>{head}</head>привет".encode("cp1251")
    assert decode(source, html=True).endswith("привет")
    assert decode(source, "utf-8", html=True).endswith("\ufffd" * 6)


def test_a_page_that_can_be_read_is_not_in_utf_16() -> None:
    assert decode("<meta charset=utf-16>grün".encode(), html=True).endswith("grün")


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=12))
def test_any_bytes_give_text_that_can_be_sent_on(data: bytes, charset: str) -> None:
    decode(data, charset, html=True).encode()


@pytest.mark.parametrize("shift", range(-4, 5))
def test_what_lies_across_two_slices_is_read_whole(shift: int) -> None:
    before = "x" * (SLICE + shift - 4)
    for word in ("bees", " bees ", "🐝é🐝", "a \n b"):
        text = f"{before}{word}{before}"
        assert decode(text.encode()) == text
        assert decode(text.encode("utf-16"), html=True) == text
        assert decode(text.encode("gb18030"), "gb18030") == text
        words = readable(text, limit=10 * SLICE).text
        assert words == " ".join(text.split())


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "gb18030"])
def test_no_more_is_decoded_than_is_wanted(codec: str) -> None:
    data = ("🐝é" * SLICE).encode(codec)

    text = decode(data, codec, limit=100)

    assert 100 <= len(text) <= SLICE
    assert text == ("🐝é" * SLICE)[: len(text)]
