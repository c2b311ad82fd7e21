"""The links in the report of a run that has read private text."""

import pytest

from idea_explorer.domain.report_links import KnownLinks, remove_unknown_links
from idea_explorer.domain.tools import make_passage

READ = "https://a.example/page?id=1"
EVIDENCE = [
    make_passage(READ, "It says so."),
    make_passage("notes.md", "Call https://api.example/v1 for it."),
]
KNOWN = KnownLinks(
    EVIDENCE,
    ["See shop.example/prices or sales@shop.example, please."],
    "https://github.com/acme/ideas",
)

CLEANED = [
    (f"[page]({READ})", f"[page]({READ})", 0),
    (f"[page]({READ}&utm_x=secret#secret)", f"[page]({READ})", 0),
    ("[prices](http://shop.example/prices)", "[prices](https://shop.example/prices)", 0),
    (
        "[code](https://github.com/acme/ideas/blob/main/a.py)",
        "[code](https://github.com/acme/ideas/blob/main/a.py)",
        0,
    ),
    ("[doc](../market/a.md) and [part](#part)", "[doc](../market/a.md) and [part](#part)", 0),
    ("[x](https://evil.example/?q=secret)", "[x](#link-removed)", 1),
    ("[x](https&#58;//evil.example/secret)", "[x](#link-removed)", 1),
    ("[x](//evil.example/secret)", "[x](#link-removed)", 1),
    ("[x][r]\n\n[r]: https://evil.example/secret", "[x][r]\n\n[r]: #link-removed", 1),
    ("See https://evil.example/secret.", "See (link removed).", 1),
    (
        "See <https://evil.example/secret> or www.evil.example/secret",
        "See (link removed) or (link removed)",
        2,
    ),
    ('<a href="https://evil.example/secret">x</a>', '<a href="#link-removed">x</a>', 1),
    ("`https://evil.example/secret`", "`(link removed)`", 1),
    ("It calls https://api.example/v1, it says.", "It calls `https://api.example/v1`, it says.", 0),
    ("`https://api.example/v1`", "`https://api.example/v1`", 0),
    (f"{READ}|secret", f"<{READ}>|secret", 0),
    (f"{READ}[secret]", f"<{READ}>[secret]", 0),
    (f"{READ}](secret)", f"<{READ}>](secret)", 0),
    (f"[{READ}]({READ}), see {READ}.", f"[{READ}]({READ}), see {READ}.", 0),
    (f"<{READ}|secret> or **{READ}**", f"(link removed) or **{READ}**", 1),
    (f"`{READ}|secret`", "`(link removed)|secret`", 1),
    ('`{"a":"' + READ + '","b":1}`', '`{"a":"' + READ + '","b":1}`', 0),
    ("_www.evil.example/secret_", "_(link removed)_", 1),
    ("ftp://evil.example/secret", "(link removed)", 1),
    ("[a](mailto:e@evil.example?body=secret)", "[a](#link-removed)", 1),
    ("<e@evil.example>", "(link removed)", 1),
    (
        "<sales@shop.example> [a](mailto:sales@shop.example?body=secret)",
        "<sales@shop.example> [a](mailto:sales@shop.example)",
        0,
    ),
    (f"{READ}<e@evil.example>", f"{READ} (link removed)", 1),
    ("`a[x]: https://evil.example/s` b", "`a[x]: #link-removed` b", 1),
    (f"[x]: {READ}`secret", f"[x]: {READ} `secret", 0),
    ("See https&colon;//evil.example/secret", "See (link removed)", 1),
]
HARMLESS = [
    "`curl http://localhost:8000/health`",
    '```\n<svg xmlns="http://www.w3.org/2000/svg">\n```\n',
    "`pip install -i https://pypi.org/simple x`",
    "`BASE_URL=https://api.example.com/v1`",
    "http://127.0.0.1:8000/",
]


@pytest.mark.parametrize(("written", "cleaned", "removed"), CLEANED)
def test_only_links_that_were_found_or_named_stay(written: str, cleaned: str, removed: int) -> None:
    assert remove_unknown_links(written, KNOWN) == (cleaned, removed)


@pytest.mark.parametrize("text", HARMLESS)
def test_addresses_that_nobody_else_receives_stay(text: str) -> None:
    assert remove_unknown_links(text, KNOWN) == (text, 0)


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost@evil.example/x",
        "http://127.0.0.1#@evil.example/x",
        "http://localhost.evil.example",
        "http://www.w3.org/x",
    ],
)
def test_addresses_that_only_look_harmless_do_not(address: str) -> None:
    assert remove_unknown_links(address, KNOWN) == ("(link removed)", 1)
