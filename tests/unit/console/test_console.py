"""The console as it is served: its files, its headers, and reports made safe. What runs in a browser is
tested in one, by `make browser`."""

import gzip
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import pytest

from idea_explorer.api.local_app import COMPRESSED_TYPES
from idea_explorer.console.assets import list_assets, load_asset
from idea_explorer.console.markdown import UNFORMATTED, render_report
from idea_explorer.console.page import render_page
from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.file_kinds import FileKind
from idea_explorer.domain.tools import Passage
from tests.fakes.api import Api, Reply
from tests.unit.project.test_startup import loaded_by

# What a browser downloads. The page may grow to 120 KB; it is held below what it needs today.
MAX_FIRST_VIEW_SENT_BYTES = 33 * 1024
MAX_SENT_BYTES = 74 * 1024  # with what is loaded after the first view, or when it is needed
# The same files as they are stored, which is what a browser has to parse.
MAX_FIRST_VIEW_BYTES = 80 * 1024
MAX_PAGE_BYTES = 184 * 1024


def text(name: str) -> str:
    found = load_asset(name)
    assert found is not None
    return found.text


def directives(reply: Reply) -> dict[str, str]:
    policy = reply.headers["content-security-policy"]
    return {part.split()[0]: part.partition(" ")[2] for part in policy.split("; ")}


@pytest.mark.parametrize("target", ["/", "/console/app.js", "/console/style.css"])
def test_the_page_needs_no_token_and_forbids_what_it_does_not_need(
    tmp_path: Path, target: str
) -> None:
    reply = Api(tmp_path).get(target, owner=None)

    assert reply.status == 200
    policy = directives(reply)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["img-src"] == "'self'"
    assert policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["connect-src"] == "'self'"
    assert not re.search(r"unsafe|data:|blob:|\*", str(policy))
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"


def test_each_file_has_its_type(tmp_path: Path) -> None:
    api = Api(tmp_path)

    types = {name: api.get(f"/console/{name}").headers["content-type"] for name in list_assets()}

    assert {Path(name).suffix: kind.partition(";")[0] for name, kind in types.items()} == {
        ".html": "text/html",
        ".css": "text/css",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
    }


@pytest.mark.parametrize(
    "name", ["assets.py", "__init__.py", "..", "nothing.js", "..%2Fwiring.py", "APP.JS", ".js", "x"]
)
def test_nothing_but_the_files_of_the_page_is_served(tmp_path: Path, name: str) -> None:
    assert Api(tmp_path).get(f"/console/{name}").status == 404


@pytest.mark.parametrize("known", ["{}", '"other", {}', '{},W/"other"', "*"])
def test_a_file_that_did_not_change_is_not_sent_again(tmp_path: Path, known: str) -> None:
    api = Api(tmp_path)
    first = api.get("/console/app.js")
    etag = first.headers["etag"]

    again = api.get("/console/app.js", headers={"If-None-Match": known.format(etag)})
    strong = api.get("/console/app.js", headers={"If-None-Match": etag.removeprefix("W/")})
    other = api.get("/console/app.js", headers={"If-None-Match": '"other"'})

    assert (again.status, again.text) == (strong.status, strong.text) == (304, "")
    assert (other.status, other.text) == (200, first.text)


def test_under_a_stage_the_page_is_opened_with_its_slash(tmp_path: Path) -> None:
    api = Api(tmp_path)
    event = {"httpMethod": "GET", "path": "/", "requestContext": {"path": "/dev"}}

    moved = api.send({**event, "requestContext": {"path": "/dev"}})
    there = api.send({**event, "requestContext": {"path": "/dev/"}})

    assert (moved.status, moved.headers["location"]) == (308, "/dev/")
    assert (there.status, there.text) == (200, text("index.html"))


def find_files(script: str) -> set[str]:
    """A script and what it cannot do without; what it imports on demand is not among it."""
    found: set[str] = set()
    rest = [script]
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            rest += re.findall(r'from "\./([a-z]+\.js)"', text(name))
    return found


def find_first_view() -> set[str]:
    """What is sent before the first view is there: the page, its styles, its icon and its scripts."""
    named = re.findall(r'href="console/([a-z]+\.(?:css|svg))"', text("index.html"))
    return {"index.html", *named, *find_files("app.js")}


def weigh(names: Iterable[str]) -> int:
    return sum(len(text(name).encode()) for name in names)


def weigh_sent(names: Iterable[str]) -> int:
    """As `idea serve` sends them: scripts and styles compressed, the page and the icon as they are."""
    return sum(len(compress(name)) for name in names)


def compress(name: str) -> bytes:
    found = load_asset(name)
    assert found is not None
    body = found.text.encode()
    return gzip.compress(body) if found.content_type.startswith(COMPRESSED_TYPES) else body


def test_the_first_view_is_sent_in_at_most_33_kb() -> None:
    assert {"style.css", "icon.svg", "submit.js"} <= find_first_view()
    assert weigh_sent(find_first_view()) <= MAX_FIRST_VIEW_SENT_BYTES
    assert weigh(find_first_view()) <= MAX_FIRST_VIEW_BYTES


def test_all_views_together_are_sent_in_at_most_74_kb() -> None:
    assert weigh_sent(list_assets()) <= MAX_SENT_BYTES
    assert weigh(list_assets()) <= MAX_PAGE_BYTES


def test_the_scripts_of_the_first_view_are_asked_for_at_once() -> None:
    """Not one after the other, each when the one that imports it has arrived."""
    named = re.findall(r'rel="modulepreload" href="console/([a-z]+\.js)"', text("index.html"))

    assert set(named) == find_files("app.js") - {"app.js"}


def test_every_address_in_the_page_is_relative() -> None:
    """So that it works under a stage, and loads nothing from elsewhere."""
    page = text("index.html")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    scripts = "".join(text(name) for name in list_assets() if name.endswith(".js"))
    imported = re.findall(r'(?:from |import\()"([^"]*)"', scripts)

    assert addresses
    assert all(re.match(r"console/|#", address) for address in addresses)
    assert imported
    assert all(re.fullmatch(r"\./[a-z]+\.js", name) for name in imported)
    styles = "".join(text(name) for name in list_assets() if name.endswith(".css"))
    assert not re.search(r"\burl\(|@import", styles)


def test_nothing_in_the_page_is_inline() -> None:
    page = text("index.html")

    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", page)


def test_only_the_sanitised_report_is_read_as_markup() -> None:
    taking = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval\(|new Function|DOMParser"
    found = [name for name in list_assets() if re.search(taking, text(name))]

    assert found == ["markup.js"]
    assert len(re.findall(taking, text("markup.js"))) == 1


def test_the_token_is_never_part_of_an_address() -> None:
    scripts = "".join(text(name) for name in list_assets() if name.endswith(".js"))

    assert "document.cookie" not in scripts
    assert re.findall(r"\$\{token\(\)[^}]*\}", scripts) == ['${token() ?? ""}', "${token()}"]
    assert scripts.count("Bearer ${token()") == 2


def test_only_the_token_and_the_theme_are_stored_on_the_device() -> None:
    found = {name for name in list_assets() if "localStorage" in text(name)}

    assert found == {"api.js", "app.js"}
    assert re.findall(r"localStorage\.setItem\((\w+)", text("app.js")) == ["THEME"]


def test_who_does_not_read_reports_in_a_browser_loads_no_renderer() -> None:
    assert not {"markdown_it", "nh3"} & loaded_by("import idea_explorer.api.app")


# Reports


REPORT = """# Bees

Hives grow [by a tenth](https://a.example/x?a=1&b=2) and [[2]](https://b.example) ⚠ unverified.

![a hive](https://images.example/hive.png)

| year | hives |
|------|-------|
| 2025 | 12    |

## Sources

1. [Hives](https://a.example/x?a=1&b=2) `0123456789ab`
2. <https://b.example> ⚠ unverified: not among what this run read or found
"""


def test_a_report_is_rendered_for_who_asks_for_html(tmp_path: Path) -> None:
    api = Api(tmp_path)
    ended = api.run_to(api.submitted(), "completed")
    api.store.save_report(ended.id, ended.lease, REPORT)

    html = api.get(f"/explorations/{ended.id}/report", headers={"Accept": "text/html"})
    markdown = api.get(f"/explorations/{ended.id}/report")

    assert html.headers["content-type"] == "text/html; charset=utf-8"
    assert html.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<h1>Bees</h1>" in html.text
    assert markdown.text == REPORT


def test_a_report_is_saved_as_a_page_of_its_own(tmp_path: Path) -> None:
    api = Api(tmp_path)
    ended = api.run_to(api.submitted(), "completed", title="Bees & <hives>")
    api.store.save_report(ended.id, ended.lease, REPORT)

    page = api.get(f"/explorations/{ended.id}/report?format=html")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text == render_page("Bees & <hives>", REPORT)
    assert "<title>Bees &amp; &lt;hives&gt;</title>" in page.text


def test_a_published_report_links_to_what_lies_beside_it(tmp_path: Path) -> None:
    api = Api(tmp_path)
    ended = api.run_to(api.submitted(), "completed", document="ideas/2026-05-01-bees/research.md")
    api.store.save_report(ended.id, ended.lease, "# Bees\n\n[Notes](notes.md)\n")

    html = api.get(f"/explorations/{ended.id}/report", headers={"Accept": "text/html"}).text

    assert 'href="#/research/ideas/2026-05-01-bees/notes.md"' in html


def test_citations_lead_to_their_source_and_to_its_number() -> None:
    html = render_report(REPORT)

    assert '<a class="cite" href="#source-1" rel="noopener noreferrer">[1]</a>' in html
    assert '<li id="source-1">' in html
    assert html.count('href="#source-2"') == 1  # it shows its number already
    assert html.count(">[2]</a>") == 1


def test_a_number_before_a_footnote_stays_apart_from_it() -> None:
    """Somebody reads `page 2` and footnote 1, never page 21, also where the text is copied."""
    html = render_report(
        "It is [page 2](https://a.example).\n\n## Sources\n\n1. [A](https://a.example)"
    )

    assert "page 2[1]." in re.sub("<[^>]*>", "", html)


def test_footnotes_work_in_every_language_of_reports() -> None:
    html = render_report("[Bienen](https://a.example)\n\n## Quellen\n\n1. [A](https://a.example)")

    assert 'class="cite" href="#source-1"' in html


def test_links_to_documents_of_the_team_open_them_in_the_console() -> None:
    html = render_report(
        "[Hives](../market/hives%20of%20b.md#size) [up](../../etc/x) [other](notes.md)"
    )

    assert 'href="#/research/ideas/market/hives%20of%20b.md"' in html
    assert html.count("href=") == 1  # a report has nothing beside it before it is published


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("notes.md", "ideas/a/b/notes.md"),
        ("./notes.md:12", "ideas/a/b/notes.md"),
        ("more/notes.txt", "ideas/a/b/more/notes.txt"),
        ("../c.md", "ideas/a/c.md"),
        ("../../market/hives.md?plain=1", "ideas/market/hives.md"),
        ("../../../ideas/c.md", "ideas/c.md"),
        ("../../../README.md", None),
        ("../../../../ideas/c.md", None),
        ("%2e%2e/%2e%2e/%2e%2e/secret.md", None),
        ("/etc/notes.md", None),
        ("chart.png", None),
        ("#part", None),
        ("file:notes.md", None),
    ],
)
def test_a_link_starts_from_the_folder_of_its_document(link: str, path: str | None) -> None:
    html = render_report(f"[A]({link})", base="ideas/a/b/research.md")

    assert re.findall('href="([^"]*)"', html) == ([f"#/research/{path}"] if path else [])


def test_a_saved_page_has_no_links_into_the_console() -> None:
    page = render_page("T", "[Hives](../market/hives.md) [a page](https://a.example/b)")

    assert re.findall('href="([^"]*)"', page) == ["https://a.example/b"]
    assert "Hives</a>" in page


def test_columns_of_tables_keep_their_alignment() -> None:
    html = render_report("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |")

    assert '<th class="end">b</th>' in html
    assert '<td class="center">3</td>' in html
    assert "style" not in html


@pytest.mark.parametrize(
    "words",
    [
        "Tea [today] (and *tomorrow*) | Tea & Co <tea@example.org>",
        "`code`, snake_case, __init__, _all_ of ~~it~~, C:\\tea\\*.md, 2 * 3 * 4",
        "&lt;b&gt; &amp; &#42; &copy;right, [a](https://evil.example), ![b](c), <https://d.example>",
        "\\[x\\] \\",
    ],
)
def test_titles_and_quotes_of_sources_are_shown_as_they_are(words: str) -> None:
    address = "https://example.org/tea"
    page = Passage(source=address, title=words, sha256="a" * 64)

    checked = check_citations(f"Tea [[1]]({address})", [page], {"example.org/tea": words})

    shown = unescape(render_report(checked.text))
    assert f'rel="noopener noreferrer">{words}</a> <code>aaaaaaaaaaaa</code>: “{words}”' in shown


def test_what_no_evidence_matches_is_marked() -> None:
    assert render_report(REPORT).count('<mark class="unverified">⚠ unverified</mark>') == 2


def test_images_are_links_and_links_open_safely() -> None:
    html = render_report(REPORT)

    assert "<img" not in html
    assert "a hive (image)</a>" in html
    outward = re.findall(r'<a [^>]*href="http[^>]*>', html)
    assert len(outward) == 4
    assert all('target="_blank"' in a and 'rel="noopener noreferrer"' in a for a in outward)


@pytest.mark.parametrize(
    "name", ["evil.example/x", "www.evil.example/x", "https://evil.example/x", "a@evil.example"]
)
def test_an_address_becomes_a_link_only_where_the_report_makes_it_one(name: str) -> None:
    assert "<a" not in render_report(f"See {name} for more.")


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](vbscript:x)",
    "<svg/onload=alert(1)>", "<iframe src=//evil.example>", "<a href='x' onclick='alert(1)'>y</a>",
    "![x](javascript:alert(1))", '![x"onerror="alert(1)](https://a.example)', "<style>*{}</style>",
    '[x](https://a.example "\\" onmouseover=alert(1) \\"")', "<form action=//evil.example><input>",
    "<https://a.example/\"onclick=alert(1)>", "[x](//evil.example)", "[x](\x01javascript:alert(1))",
    "```html\n<script>alert(1)</script>\n```", "<math><mtext></p><img src onerror=alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]", "&lt;script&gt;alert(1)&lt;/script&gt;",
]  # fmt: skip


@pytest.mark.parametrize("markdown", HOSTILE)
def test_nothing_in_a_report_becomes_active(markdown: str) -> None:
    html = render_report(f"# T\n\n{markdown}\n\n## Sources\n\n1. {markdown}\n")

    tags = re.findall(r"<[^>]*>", html)
    assert not [tag for tag in tags if re.search(r"[\s\"'/]on\w+\s*=|style=", tag.replace('"on', ""))
                and not re.search(r'(href|title)="[^"]*on\w+', tag)]  # fmt: skip
    assert not re.search(
        r"<(script|img|svg|iframe|style|form|input|math|object|embed|base)\b", html
    )
    assert all(
        re.match(r"https://|#source-\d+$", address)
        for address in re.findall(r'href="([^"]*)"', html)
    )


def test_characters_that_reorder_text_are_shown() -> None:
    assert "⟦U+202E⟧" in render_report("pay\u202egnp.exe")


def test_a_report_that_is_nested_without_end_is_still_rendered() -> None:
    nested = f"{'> ' * 5_000}x\n\n{'[' * 5_000}{'](' * 5_000}\n\nThe end.\n"

    assert "<p>The end.</p>" in render_report(nested)


def test_what_would_take_too_long_to_format_is_shown_as_it_is() -> None:
    html = render_report("# Title\n\n" + "<b>[*a*](x) ![b](y)\n" * 40_000)

    formatted, note, rest = html.partition(UNFORMATTED)
    assert "<h1>Title</h1>" in formatted
    assert note
    assert rest.count("&lt;b&gt;[*a*](x) ![b](y)\n") > 10_000
    assert formatted.count("(image)") + rest.count("![b](y)") == 40_000


def test_the_form_offers_every_kind_of_file_that_is_read() -> None:
    for kind in (*(kind for kind in FileKind if kind.is_document), "html", "csv", "txt"):
        assert f".{kind}," in text("submit.js")
