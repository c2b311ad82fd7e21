"""Every view for everybody: axe-core, keyboard, narrow screens, dark mode, paper."""

import base64
from typing import Any

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from idea_explorer.domain.json import JsonObject
from tests.browser.driver import ARTIFACTS, ROOT, Browser
from tests.browser.stage import TOKEN, Stage, begun, called, failed, proposed, said, step

pytestmark = pytest.mark.slow

AXE = ROOT / "scripts" / "node" / "node_modules" / "axe-core" / "axe.min.js"
REPORT = """# Bees

Hives [grow](https://a.example) and [more](https://b.example) ⚠ unverified.

| year | hives |
|---|---|
| 2025 | 12 |

> A quote.

```
some code
```

## Sources

1. [Hives](https://a.example) `0123456789ab`
2. <https://b.example> ⚠ unverified: not among what this run read or found
"""
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-a = 1\n+b = 1\n # the end\n"
LINES = "\n".join(f"{n}\tline {n} of the file" for n in range(1, 60))
HIT: JsonObject = {"url": "https://a.example", "title": "Hives grow", "page_age": "May"}
TRACK: JsonObject = {
    "title": "Honey",
    "artist": "A",
    "isrc": "GBAYE0601498",
    "inLibrary": True,
    "isIndexed": None,
}


@pytest.fixture
def views(stage: Stage) -> dict[str, str]:
    """The address of every view, with something in it."""
    document = "---\nidea: Bees\ndate: '2026-01-02'\n---\n\n# Bees in town\n\n**Verdict: PIVOT**\n"
    stage.api.document("2026-01-02-bees/research.md", document)
    stage.ended("failed", idea="An idea that failed")
    whole = stage.ended(report=REPORT, idea="An idea with a report")
    going = stage.running(idea="An idea " + "with many words " * 20, max_cost_usd=1.0)
    stage.tell(
        going,
        [
            begun(going),
            said("Looking."),
            *called(1, "web_search", {"query": "bees"}, {"ok": True, "results": [HIT, HIT]}),
            step(1),
            *called(
                2, "read_file", {"path": "src/app.py"}, {"path": "src/app.py", "content": LINES}
            ),
            *called(
                3, "calculator", {"expression": "2^10"}, {"expression": "2^10", "result": 1024}
            ),
            *called(4, "suggestPlaylist", {"title": "Bees"}, {"title": "Bees", "tracks": [TRACK]}),
            *failed(5, "http_fetch", {"url": "https://a.example/" + "x" * 150}, "blocked_address"),
            said("And so on."),
        ],
    )
    asking = stage.running(idea="Change the code", toolset="code")
    stage.ask(asking, [proposed("src/a.py", "b = 1\n", DIFF, "Rename it") for _ in range(2)])
    return {
        "home": "#/",
        "submit": "#/new",
        "portfolio": "#/ideas",
        "library": "#/research",
        "document": "#/research/ideas/2026-01-02-bees/research.md",
        "exploration": f"#/x/{going.id}",
        "approvals": f"#/x/{asking.id}",
        "report": f"#/x/{whole.id}/report",
        "nowhere": "#/nowhere",
        "missing": "#/x/01a1e2af-83ec-7445-bd82-9fb06fadbb4d",
    }


READY = {
    "home": "#library",
    "submit": "#idea",
    "portfolio": "tbody tr",
    "library": ".doc",
    "document": ".report-page h1",
    "exploration": ".call:nth-of-type(4)",
    "approvals": ".change",
    "report": ".report h2",
    "nowhere": ".notice",
    "missing": ".notice",
}


def opened(tab: Browser, views: dict[str, str], name: str) -> None:
    tab.go(views[name])
    tab.find(READY[name])
    tab.run("for (const d of document.querySelectorAll('details')) d.open = true")


def findings(tab: Browser) -> list[str]:
    if not AXE.is_file():
        pytest.skip("There is no axe-core here: 'make axe' installs it with npm.")
    tab.run(AXE.read_text("utf-8"))
    result: dict[str, Any] = tab.run("return axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{v['id']} ({v['impact']}): {v['nodes'][0]['html'][:200]}"
        for v in result["violations"]
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.core), "dark"])
def test_no_view_has_a_serious_finding(
    tab: Browser, stage: Stage, views: dict[str, str], scheme: str
) -> None:
    tab.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    found: dict[str, list[str]] = {}
    tab.open(stage.url)
    tab.sign_out()
    tab.open(f"{stage.url}/?{scheme}")
    tab.find("#token")
    found["sign-in"] = findings(tab)
    tab.sign_in(stage.url, TOKEN)
    for name in views:
        opened(tab, views, name)
        found[name] = findings(tab)
        tab.shot(f"{name}-{scheme}")

    print(
        f"\naxe-core, {scheme}: {len(found)} views, {sum(map(len, found.values()))} serious findings"
    )
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "name", ["home", "portfolio", "library", "document", "exploration", "report"]
)
def test_a_view_says_that_it_waits_and_what_to_do_without_a_server(
    tab: Browser, stage: Stage, views: dict[str, str], name: str
) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.go("#/nowhere")
    tab.network(latency_ms=3_000)
    tab.go(views[name])
    assert "Loading" in tab.find(".loading").text
    found = findings(tab)
    tab.shot(f"{name}-loading")

    tab.go("#/nowhere")
    tab.network(offline=True)
    tab.go(views[name])
    tab.sees("Cannot reach the server")
    assert not tab.all(".loading")
    found += findings(tab)
    tab.shot(f"{name}-offline")
    tab.sees("Try again")
    tab.network()
    # at once: some views try again by themselves, after a while
    tab.run("document.querySelector('.notice button')?.click()")

    tab.find(READY[name])
    assert not found


def test_a_view_that_does_not_exist_leads_home(
    tab: Browser, stage: Stage, views: dict[str, str]
) -> None:
    tab.sign_in(stage.url, TOKEN)
    for name in ("nowhere", "missing"):
        opened(tab, views, name)
        tab.sees("Not found")
        tab.press("Go to Home")
        tab.find(".view.home")


def test_nothing_is_wider_than_a_small_telephone(
    tab: Browser, stage: Stage, views: dict[str, str]
) -> None:
    tab.size(360, 740)
    tab.sign_in(stage.url, TOKEN)
    for name in views:
        opened(tab, views, name)
        wide = tab.run("return document.documentElement.scrollWidth")
        tab.shot(f"{name}-360")
        assert wide <= 360, name


def test_the_keyboard_alone_is_enough(tab: Browser, stage: Stage) -> None:
    tab.open(stage.url)
    tab.sign_out()
    tab.open(f"{stage.url}/?keys")
    tab.until(lambda: tab.run("return document.activeElement.id") == "token", "focus")
    ActionChains(tab.chrome).send_keys(TOKEN, Keys.ENTER).perform()
    tab.sees("You have no explorations yet")
    assert tab.run("return document.activeElement.localName") == "h1"
    tab.go("#/new")
    tab.until(lambda: tab.run("return document.activeElement.id") == "idea", "focus")
    ActionChains(tab.chrome).send_keys("Bees by keyboard").perform()
    ActionChains(tab.chrome).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    tab.find('.badge[data-status="queued"]')


def test_reduced_motion_is_kept(tab: Browser, stage: Stage, views: dict[str, str]) -> None:
    tab.prefer(prefers_reduced_motion="reduce")
    tab.sign_in(stage.url, TOKEN)
    opened(tab, views, "exploration")

    assert tab.run("return document.getAnimations().length") == 0


def test_a_report_prints(tab: Browser, stage: Stage, views: dict[str, str]) -> None:
    tab.sign_in(stage.url, TOKEN)
    opened(tab, views, "report")

    paper = tab.chrome.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})

    content = base64.b64decode(paper["data"])
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / "report.pdf").write_bytes(content)
    assert content.startswith(b"%PDF")
