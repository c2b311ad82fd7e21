"""The report page: verdict first, footnotes with passages, contents, downloads, paper."""

import base64
import json
import re
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from idea_explorer.console.page import POLICY
from idea_explorer.domain.claims import Claim, Verdict
from idea_explorer.domain.exploration import Exploration
from tests.browser.driver import ARTIFACTS, Browser
from tests.browser.stage import OWNER, TOKEN, Stage
from tests.browser.test_accessibility import findings
from tests.fakes.verified import store_verified

pytestmark = pytest.mark.slow

GROWTH = "Hive numbers in cities grow [by a tenth a year](https://bees.example/growth)."
PEOPLE = "[12,000 people](../market/hives.md) keep bees here, on page [page 2](https://bees.example/pdf)."
WRONG = "A box costs [$90](https://bees.example/growth) to pack."
REPORT = f"""# Boxes for urban beekeepers

## Problem

Beginners buy the wrong things at the wrong time. {GROWTH}

## Market

{PEOPLE} {WRONG} ⚠ not supported by its source

| Segment | People | Spend |
|---|---:|---:|
| Beginners | 12,000 | $180 |
| Clubs | 400 | $2,400 |

> A club that buys for all its members is worth forty beginners.

### What to pack

```python
def pack(month: int) -> list[str]:
    return BOXES[month] if month in BOXES else []
```

## Verdict

**Verdict: CONDITIONAL YES**

Worth doing if a first box of twelve can be packed for less than $40 and one club in three signs up for
a year. Start with the two clubs that have asked, and stop if neither renews.

## Sources

1. [Urban hives grow](https://bees.example/growth), May 2026 `0123456789ab`: “Hives in cities grew”
2. [Hives](../market/hives.md) `abcdef012345`
3. [A report on bees](https://bees.example/pdf) `00ff00ff00ff`
"""
PAGE = (
    "Bees are insects. " * 30
    + "Hives in cities grew by ten per cent a year from 2020 to 2025. " * 2
)


@pytest.fixture
def report(stage: Stage) -> Exploration:
    api = stage.api
    api.document("market/hives.md", "# Hives\n\nTwelve thousand people keep bees in the city.\n")
    site = ("https://bees.example/growth",)
    wrong = "the source does not say $90"
    claims = [
        Claim(text=GROWTH, sources=site, readable=1, verdict="supported", judge="model"),
        Claim(text=PEOPLE, sources=("../market/hives.md",), verdict="partly"),
        Claim(text=WRONG, sources=site, verdict="unsupported", reason=wrong),
    ]
    return store_verified(
        api,
        api.submitted(OWNER, idea="A subscription box for urban beekeepers"),
        REPORT,
        (site[0], PAGE),
        claims,
        title="Boxes for urban beekeepers",
        verdict="CONDITIONAL YES",
    )


def read(tab: Browser, stage: Stage, report: Exploration) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.complaints()  # those of other views
    tab.go(f"#/x/{report.id}/report")
    tab.sees("Boxes for urban beekeepers", "h1")


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["supported", "unsupported", "unchecked"], "1 of 3 claims supported, 1 not checked"),
        (["unchecked", "unchecked"], ""),
    ],
)
def test_the_report_counts_claims_only_if_some_were_checked(
    tab: Browser, stage: Stage, verdicts: list[Verdict], words: str
) -> None:
    claims = [Claim(text=GROWTH, sources=(), verdict=verdict) for verdict in verdicts]
    exploration = stage.api.submitted(OWNER)
    page = ("https://bees.example/growth", PAGE)
    read(tab, stage, store_verified(stage.api, exploration, REPORT, page, claims))

    found = re.search(r"\d+ of \d+ claims supported(, \d+ not checked)?", tab.text(".facts"))
    assert (found[0] if found else "") == words


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_verdict_comes_first(
    tab: Browser, stage: Stage, report: Exploration, width: int, scheme: str
) -> None:
    tab.size(width, 900 if width > 400 else 740)
    tab.prefer(prefers_color_scheme=scheme)
    read(tab, stage, report)

    assert tab.find(".conclusion .badge").text == "CONDITIONAL YES"
    assert "Worth doing if" in tab.text(".conclusion")
    assert "Verdict:" not in tab.text(".conclusion")
    tab.sees("1 of 3 claims supported", ".facts")
    left = tab.run("return document.querySelector('.beside').getBoundingClientRect().left")
    assert left > 600 if width > 1000 else left < 50  # beside the text, or above it
    assert tab.run("return document.documentElement.scrollWidth") <= width
    tab.shot(f"report-{width}-{scheme}")
    assert not findings(tab)
    assert not tab.complaints()


def test_a_report_that_begins_with_its_point_shows_it_once_and_with_its_sources(
    tab: Browser, stage: Stage
) -> None:
    text = REPORT.replace("## Problem", f"Clubs would pay. {GROWTH}\n\n## Problem", 1)
    text = re.sub(
        r"Worth doing if.*?renews\.\n", "### Reasons\n\n1. Clubs ask.\n", text, flags=re.DOTALL
    )
    claims = [Claim(text=GROWTH, sources=(), verdict="unchecked")]
    page = ("https://bees.example/growth", PAGE)
    idea = stage.api.submitted(OWNER)
    read(tab, stage, store_verified(stage.api, idea, text, page, claims, verdict="PASS"))

    assert "Clubs would pay." in tab.text(".conclusion")
    assert "Clubs would pay." not in tab.text(".report")
    tab.find(".conclusion a.cite").click()
    tab.sees("Urban hives grow", ".footnote")
    assert tab.run("return location.hash").endswith("/report")


def test_a_verdict_without_a_conclusion_says_what_it_means(tab: Browser, stage: Stage) -> None:
    text = "# Boxes for urban beekeepers\n\n## Verdict\n\n**Verdict: PASS**\n"
    page = ("https://bees.example/growth", PAGE)
    idea = stage.api.submitted(OWNER)
    read(tab, stage, store_verified(stage.api, idea, text, page, [], verdict="PASS"))

    assert "The time is better spent elsewhere." in tab.text(".conclusion")


def test_a_short_conclusion_is_not_taken_for_the_verdict(tab: Browser, stage: Stage) -> None:
    head = "# Boxes for urban beekeepers\n\n## Verdict\n\n**Verdict: PASS**"
    text = f"{head}\n\nCompass does it already.\n"
    page = ("https://bees.example/growth", PAGE)
    idea = stage.api.submitted(OWNER)
    read(tab, stage, store_verified(stage.api, idea, text, page, [], verdict="PASS"))

    assert "Compass does it already." in tab.text(".conclusion")
    assert "Verdict:" not in tab.text(".conclusion")


def test_the_report_says_what_its_marks_mean_and_takes_a_question(
    tab: Browser, stage: Stage, report: Exploration
) -> None:
    read(tab, stage, report)
    tab.find(".legend summary").click()
    tab.sees("Worth doing if the conditions in the report hold.", ".legend")
    tab.sees("The source does not say so", ".legend")
    tab.shot("report-legend")

    tab.type(".follow-up input", "Who sells to clubs & shops?")
    tab.press("Continue", ".follow-up")
    tab.sees("Follow-up on", ".purpose")
    field = tab.find("#idea")
    tab.until(lambda: field.get_attribute("value") == "Who sells to clubs & shops?", "the question")


def test_a_footnote_shows_its_passage_and_opens_it(
    tab: Browser, stage: Stage, report: Exploration
) -> None:
    tab.size(1280)
    read(tab, stage, report)
    mark = tab.find(".report a.cite")
    ActionChains(tab.chrome).move_to_element(mark).perform()
    tab.sees("Hives in cities grew by ten per cent a year from 2020", ".footnote blockquote")
    tab.sees("Supported by its source", ".footnote")
    opened = str(tab.find(".footnote a").get_attribute("href"))
    assert opened.startswith("https://bees.example/growth#:~:text=")
    picture = tab.chrome.get_screenshot_as_png()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / "report-footnote.png").write_bytes(picture)

    ActionChains(tab.chrome).move_to_element(tab.find("h1")).perform()
    tab.until(lambda: not tab.all(".footnote:not([hidden])"), "no card")
    mark.click()
    ActionChains(tab.chrome).move_to_element(tab.find("h1")).perform()
    tab.press("Show in the list of sources", ".footnote")
    assert tab.run("return document.activeElement.id") == "source-1"

    mark.send_keys(Keys.ENTER)
    tab.find(".footnote")
    ActionChains(tab.chrome).send_keys(Keys.ESCAPE).perform()
    tab.until(lambda: not tab.all(".footnote:not([hidden])"), "no card")
    assert tab.run("return document.activeElement.className") == "cite"


def test_claims_are_marked_as_verification_judged_them(
    tab: Browser, stage: Stage, report: Exploration
) -> None:
    read(tab, stage, report)
    marks = [mark.text for mark in tab.all(".report a.claim")]
    assert marks == ["✓", "◐", "✕"]
    tab.all(".report a.claim")[2].click()
    tab.sees("the source does not say $90", ".footnote")


def test_a_document_of_the_team_opens_in_folder_mode(
    tab: Browser, stage: Stage, report: Exploration
) -> None:
    read(tab, stage, report)
    tab.press("12,000 people", ".report")
    tab.sees("Twelve thousand people keep bees in the city.")
    assert tab.run("return location.hash") == "#/research/ideas/market/hives.md"


def test_a_report_is_taken_along(
    tab: Browser, stage: Stage, report: Exploration, tmp_path: Path
) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    tab.chrome.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    read(tab, stage, report)
    name = "boxes-for-urban-beekeepers"
    for kind, ending in {"Markdown": "md", "HTML": "html", "JSON": "json"}.items():
        tab.find(".more summary").click()
        tab.press(kind, ".more")
        tab.until((folder / f"{name}.{ending}").is_file, kind)

    assert (folder / f"{name}.md").read_text("utf-8") == REPORT
    html = (folder / f"{name}.html").read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert "grew by ten per cent a year from 2020" in html
    assert POLICY in html
    assert "12,000 people" in html
    assert "#/research/" not in html  # it opens outside of the console
    stored = json.loads((folder / f"{name}.json").read_text("utf-8"))
    assert (stored["report"], stored["verdict"]) == (REPORT, "CONDITIONAL YES")
    assert not tab.complaints()


def test_a_report_is_printed_without_the_page_around_it(
    tab: Browser, stage: Stage, report: Exploration
) -> None:
    read(tab, stage, report)
    paper = tab.chrome.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    content = base64.b64decode(paper["data"])
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / "report-printed.pdf").write_bytes(content)
    assert content.startswith(b"%PDF")
    tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not tab.run("return document.querySelector('.beside').checkVisibility()")
    assert not tab.run("return document.querySelector('.tools').checkVisibility()")
    tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
