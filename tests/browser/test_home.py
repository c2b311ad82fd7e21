"""Signing in, home, the box for a new idea, the library and the portfolio."""

import re
from datetime import timedelta

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats, Status
from idea_explorer.domain.toolsets import ToolsetName
from idea_explorer.usecases import spend
from tests.browser.driver import Browser
from tests.browser.stage import OWNER, TOKEN, Stage, proposed

pytestmark = pytest.mark.slow

IDEAS: list[tuple[str, str | None, Status, ToolsetName, float, float]] = [
    (
        "A subscription box for urban beekeepers",
        "CONDITIONAL YES",
        "completed",
        "research",
        0,
        0.41,
    ),
    ("Repair cafés inside public libraries", "STRONG YES", "completed", "research", 2, 0.38),
    ("A shared freezer for allotment gardeners", "PASS", "completed", "research", 3, 0.12),
    ("Where is the budget checked?", None, "completed", "code", 3, 0.22),
    ("Songs for a rainy drive", None, "completed", "discover", 6, 0.05),
    ("Rooftop gardens for renters", "PIVOT", "completed", "research", 120, 0.77),
    ("A heat pump calculator", None, "failed", "research", 1, 0.02),
]
DOCUMENTS = [
    ("2026-10-30", "Tool libraries run by neighbourhoods", "STRONG YES"),
    ("2026-09-12", "Hive sensors for backyard beekeepers", "PIVOT"),
    ("2026-03-11", "Rooftop garden kits for renters", "PASS"),
]


@pytest.fixture
def filled(stage: Stage) -> Stage:
    """A stage with explorations, research and something to decide."""
    for n, (idea, verdict, status, toolset, days_ago, usd) in enumerate(IDEAS):
        at = stage.api.clock.now() - timedelta(days=days_ago, minutes=n)
        made = Exploration.new(ExploreRequest(idea=idea, toolset=toolset), OWNER, at=at)
        stats = Stats(cost_usd=usd, steps=4)
        ended = made.replace(status=status, verdict=verdict, title=idea, stats=stats)
        stage.api.store.create(ended)
    for date, title, verdict in DOCUMENTS:
        text = f"---\nidea: {title}\nmode: business\ndate: '{date}'\n---\n\n# {title}\n\n"
        text += f"What the team found.\n\n## Verdict\n\n**Verdict: {verdict}**\n"
        stage.api.document(f"{date}-{title.split()[0].lower()}/research.md", text)
    return stage


def wait_for_decision(stage: Stage) -> Exploration:
    diff = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a = 1\n+b = 1\n"
    asking = stage.running(idea="Rename the counter", toolset="code")
    return stage.ask(asking, [proposed("src/a.py", "b = 1\n", diff, "Rename it")])


def add_newer(stage: Stage, count: int) -> None:
    for n in range(count):
        at = stage.api.clock.now() + timedelta(minutes=n + 1)
        made = Exploration.new(ExploreRequest(idea=f"Newer idea {n}"), OWNER, at=at)
        stage.api.store.create(made.replace(status="completed"))


def rows(tab: Browser) -> list[str]:
    return [row.text for row in tab.all("tbody th a")]


def pick(tab: Browser, selector: str, label: str) -> None:
    Select(tab.find(selector)).select_by_visible_text(label)


# Home


def test_home_shows_what_is_there_and_what_waits(tab: Browser, filled: Stage) -> None:
    wait_for_decision(filled)
    tab.size(1280)
    tab.sign_in(filled.url, TOKEN)
    tab.sees("Rename the counter", "section[aria-labelledby=waiting]")
    tab.sees("A heat pump calculator", "section[aria-labelledby=ended]")
    tab.sees("CONDITIONAL YES", "section[aria-labelledby=recent]")
    tab.sees("Tool libraries run by neighbourhoods", "section[aria-labelledby=library]")
    tab.sees("All research", "section[aria-labelledby=library]")
    tab.sees("$1.20", "section[aria-labelledby=spend]")
    assert len(tab.all(".chart rect")) == 30
    assert len(tab.all(".shares li")) == 3
    for scheme in ("light", "dark"):
        tab.prefer(prefers_color_scheme=scheme)
        tab.shot(f"home-filled-{scheme}")
    tab.press("Review", "section[aria-labelledby=waiting]")
    tab.sees("1 change needs your approval")
    assert not tab.complaints()


def test_home_says_at_least_where_not_everything_is_added_up(
    tab: Browser, filled: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spend, "MAX_EXPLORATIONS", 2)
    tab.sign_in(filled.url, TOKEN)
    tab.sees("at least $0.43", "section[aria-labelledby=spend]")


def test_a_decision_waits_on_home_however_many_ideas_are_newer(tab: Browser, stage: Stage) -> None:
    wait_for_decision(stage)
    add_newer(stage, 25)
    tab.sign_in(stage.url, TOKEN)
    tab.sees("Rename the counter", "section[aria-labelledby=waiting]")
    assert "Rename the counter" not in tab.text("section[aria-labelledby=recent]")


def test_home_says_where_no_model_was_called(tab: Browser, stage: Stage) -> None:
    stage.api.run_to(stage.api.submitted(OWNER), "completed", model_id=OFFLINE)
    tab.sign_in(stage.url, TOKEN)
    tab.sees("Research · business · offline model", "section[aria-labelledby=recent]")


def test_a_verdict_of_the_offline_model_is_none(tab: Browser, stage: Stage) -> None:
    made = Exploration.new(ExploreRequest(idea="Bees"), OWNER, at=stage.api.clock.now())
    ended = made.replace(status="completed", verdict="STRONG YES", model_id=OFFLINE)
    stage.api.store.create(ended)
    tab.sign_in(stage.url, TOKEN)

    tab.sees("Offline: no verdict", ".lines")
    tab.go("#/ideas")
    tab.sees("Offline: no verdict", "tbody")
    tab.press("No verdict", ".choice")
    tab.until(lambda: rows(tab) == ["Bees"], "the idea without a verdict")
    assert "STRONG YES" not in tab.text()
    tab.type("#search", "strong yes")
    tab.sees("No matches")


def test_an_empty_home_offers_samples_that_start_nothing(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.sees("You have no explorations yet")
    tab.press("Repair cafés inside public libraries", ".samples")
    tab.until(lambda: "Repair" in str(tab.find("#idea").get_attribute("value")), "the sample")
    assert tab.run("return document.activeElement.id") == "idea"
    assert stage.api.queued() == 0
    tab.press("Explore", "form")
    tab.find('.badge[data-status="queued"]')
    assert stage.api.queued() == 1


# The box


def test_the_box_changes_with_what_it_is_to_do(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("New idea", "nav")
    tab.until(lambda: tab.run("return document.activeElement.id") == "idea", "focus")
    tab.find("#depth")
    tab.choose("toolset", "Assistant")
    tab.find("#files")
    tab.sees("Answers a question", "#about")
    assert not tab.all("#depth")[0].is_displayed()
    tab.shot("new-assistant")
    tab.choose("toolset", "Code")
    tab.find("#repository")
    tab.press("Where is the budget checked?", ".examples")
    tab.shot("new-code")
    assert not tab.all(".examples")[0].is_displayed()
    tab.press("Home", "nav")
    kept = tab.find("#idea").get_attribute("value")
    assert kept == "Where is the budget checked?"  # also after a look at another view


LOSE_THE_RESPONSE = """
    const send = window.fetch;
    window.fetch = async (path, options) => {
        const response = await send(path, options);
        if (path !== "explorations" || options.method !== "POST") return response;
        window.fetch = send;
        throw new TypeError("Failed to fetch");
    };
"""


def test_an_idea_whose_response_is_lost_starts_once(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("New idea", "nav")
    tab.type("#idea", "Rooftop gardens for renters")
    tab.run(LOSE_THE_RESPONSE)
    tab.press("Explore", "form")
    tab.sees("No connection")
    assert stage.api.queued() == 1
    tab.press("Home", "nav")
    tab.find(".home")
    tab.press("New idea", "nav")  # the form is a new one, the idea is not
    tab.find(".view.new")
    tab.press("Explore", "form")
    tab.find('.badge[data-status="queued"]')
    assert stage.api.queued() == 1

    tab.press("New idea", "nav")  # whoever asks again after that wants it again
    tab.type("#idea", "Rooftop gardens for renters")
    tab.press("Explore", "form")
    tab.until(lambda: stage.api.queued() == 2, "a second exploration")


def test_a_price_in_tokens_has_its_thousands_apart(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("New idea", "nav")
    tab.choose("toolset", "Assistant")
    tab.until(lambda: tab.text(".price").startswith("about 1,"), "a million tokens")
    assert re.match(r"about \d,\d{3},000 tokens", tab.text(".price"))


def test_what_people_wrote_is_not_offered_for_an_update(tab: Browser, stage: Stage) -> None:
    stage.api.document(
        "notes/hives.md", "# Hive sensors for backyard beekeepers\n\nWe like them.\n"
    )
    typed = "Hive sensors for all backyard beekeepers"
    tab.sign_in(stage.url, TOKEN)
    tab.press("New idea", "nav")
    tab.type("#idea", typed)
    tab.sees("Similar research already exists")
    assert [button.text for button in tab.all(".similar .actions > *")] == ["Use this"]
    assert "“Update”" not in tab.text(".similar")  # nobody is told about a button that is not there
    tab.go("#/new?document=ideas/notes/hives.md")
    tab.sees("This document cannot be updated")
    assert tab.find("#idea").get_attribute("value") == typed
    assert not tab.all(".purpose")[0].is_displayed()


# Library


def test_the_library_is_searched_and_read(tab: Browser, filled: Stage) -> None:
    tab.size(1280)
    tab.sign_in(filled.url, TOKEN)
    tab.press("Research", "nav")
    tab.sees("3 documents")
    first, *_, last = tab.all(".doc")
    assert "Stale" in last.text
    assert "Stale" not in first.text
    tab.shot("library-filled")
    tab.type("#search", "sensors")
    tab.sees("1 document")
    tab.until(lambda: len(tab.all(".doc")) == 1, "one document")
    assert str(tab.run("return location.hash")) == "#/research?search=sensors"
    tab.press("Hive sensors for backyard beekeepers", ".docs")
    tab.sees("What the team found.", ".conclusion")
    assert tab.find(".conclusion .badge").text == "PIVOT"
    tab.shot("document-filled")
    tab.press("Update", ".actions")
    tab.sees("Update of Hive sensors for backyard beekeepers", ".purpose")
    tab.shot("update")
    tab.go("#/research?search=nothing%20like%20it")
    tab.sees("No matches")
    assert not tab.complaints()


def test_home_leads_to_a_search_of_the_library(tab: Browser, filled: Stage) -> None:
    tab.sign_in(filled.url, TOKEN)
    tab.find(".quick input").send_keys("rooftop", Keys.ENTER)
    tab.sees("1 document")
    assert tab.find("#search").get_attribute("value") == "rooftop"


def test_an_empty_library_says_what_to_do(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("Research", "nav")
    tab.sees("No research yet")
    tab.shot("library-empty")


# Portfolio


def test_the_portfolio_is_filtered_and_sorted(tab: Browser, filled: Stage) -> None:
    tab.size(1280)
    tab.sign_in(filled.url, TOKEN)
    tab.press("Portfolio", "nav")
    tab.sees("7 ideas · $1.97")
    assert rows(tab)[0] == "A subscription box for urban beekeepers"
    assert "Rooftop" in rows(tab)[-1]
    tab.sees("Stale", "tbody tr:last-child")
    tab.shot("portfolio-filled")

    pick(tab, "#sort", "Best verdict first")
    tab.until(lambda: rows(tab)[0] == "Repair cafés inside public libraries", "the best verdict")
    pick(tab, "#sort", "Most expensive first")
    tab.until(lambda: rows(tab)[0] == "Rooftop gardens for renters", "the highest cost")
    tab.press("PASS", ".choice")
    tab.until(lambda: rows(tab) == ["A shared freezer for allotment gardeners"], "one verdict")
    tab.press("All", ".choice")
    tab.find("#stale").click()
    tab.until(lambda: rows(tab) == ["Rooftop gardens for renters"], "the stale one")
    tab.find("#stale").click()
    pick(tab, "#toolset", "Code")
    tab.until(lambda: rows(tab) == ["Where is the budget checked?"], "one toolset")
    tab.type("#search", "nothing like it")
    tab.sees("No matches")
    assert not tab.complaints()


def test_the_address_keeps_what_was_chosen_in_the_portfolio(tab: Browser, filled: Stage) -> None:
    tab.sign_in(filled.url, TOKEN)
    tab.go("#/ideas")
    tab.press("STRONG YES", ".choice")
    pick(tab, "#sort", "Oldest first")
    tab.type("#search", "caf")
    tab.press("Repair cafés", "tbody")
    tab.find("#timeline, .report-page, .live")
    tab.run("history.back()")

    tab.until(lambda: rows(tab) == ["Repair cafés inside public libraries"], "the same choice")
    assert tab.find("#search").get_attribute("value") == "caf"
    assert Select(tab.find("#sort")).first_selected_option.text == "Oldest first"


def test_a_choice_that_the_portfolio_does_not_know_is_none(tab: Browser, filled: Stage) -> None:
    tab.sign_in(filled.url, TOKEN)
    tab.go("#/ideas?verdict=FOO&status=FOO&toolset=FOO&sort=FOO")

    tab.until(lambda: len(rows(tab)) == len(IDEAS), "all ideas")
    assert "FOO" not in tab.text()
    tab.go("#/ideas?verdict=none")
    tab.until(lambda: 0 < len(rows(tab)) < len(IDEAS), "those without a verdict")


def test_the_portfolio_finds_what_is_older_than_its_first_page(tab: Browser, filled: Stage) -> None:
    waiting = wait_for_decision(filled)
    add_newer(filled, 100)
    tab.sign_in(filled.url, TOKEN)
    tab.press("Portfolio", "nav")
    tab.sees("100 ideas · $0.00 · older ones are not loaded yet")
    pick(tab, "#toolset", "Music")
    tab.until(lambda: rows(tab) == ["Songs for a rainy drive"], "one toolset")
    pick(tab, "#toolset", "Any toolset")
    pick(tab, "#status", "Needs approval")
    tab.until(lambda: rows(tab) == ["Rename the counter"], "one status")
    ended = waiting.finished("completed", at=filled.api.clock.now())
    filled.api.store.save(ended)
    tab.sees("No matches")  # without a reload
    pick(tab, "#status", "Any status")
    tab.until(lambda: len(rows(tab)) == 100, "all ideas")
    tab.press("Load older ideas")
    tab.sees("108 ideas")


def test_an_empty_portfolio_says_what_to_do(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("Portfolio", "nav")
    tab.sees("No ideas yet")
    tab.shot("portfolio-empty")


# Signing in and out


def storage(tab: Browser) -> list[int]:
    script = "return [sessionStorage, localStorage].map((s) => Number(arguments[0] in s))"
    found: list[int] = tab.run(script, "idea-explorer-token")
    return found


def test_a_link_signs_in_once_and_leaves_no_trace(tab: Browser, stage: Stage) -> None:
    tab.open(stage.url)
    tab.sign_out()
    link = stage.url + stage.links.path
    tab.open("about:blank")
    tab.open(link)
    tab.sees("What do you want to find out?")
    assert storage(tab) == [1, 0]
    assert str(tab.run("return location.href")) == f"{stage.url}/#/"
    history = tab.chrome.execute_cdp_cmd("Page.getNavigationHistory", {})
    assert not [e["url"] for e in history["entries"] if "sign-in" in e["url"] or TOKEN in e["url"]]
    assert not tab.complaints()

    tab.sign_out()
    tab.open("about:blank")
    tab.open(link)
    tab.sees("This link no longer works")
    tab.find("#token")
    tab.shot("used-link")
    assert storage(tab) == [0, 0]


def test_a_device_remembers_only_if_the_person_says_so(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    assert storage(tab) == [1, 0]
    tab.press("Account", "header")
    tab.find("#remember").click()
    assert storage(tab) == [0, 1]
    tab.shot("account")
    tab.open("about:blank")
    tab.open(stage.url)
    tab.find("#nav a")

    tab.press("Account", "header")
    tab.press("Sign out", "#menu")
    tab.find("#token")
    assert storage(tab) == [0, 0]
    tab.find("#stay").click()
    tab.type("#token", TOKEN)
    tab.press("Sign in", "form")
    tab.find("#nav a")
    assert storage(tab) == [0, 1]


def test_a_sign_out_in_one_tab_holds_for_the_others(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.press("Account", "header")
    tab.find("#remember").click()
    first = tab.chrome.current_window_handle
    tab.chrome.switch_to.new_window("tab")
    tab.open(stage.url)
    tab.press("Account", "header")
    tab.press("Sign out", "#menu")
    tab.find("#token")
    tab.chrome.close()
    tab.chrome.switch_to.window(first)
    tab.find("#token")


# How it looks


def test_a_theme_is_chosen_and_remembered(tab: Browser, stage: Stage) -> None:
    tab.sign_in(stage.url, TOKEN)
    scheme = "return getComputedStyle(document.documentElement).colorScheme"
    tab.press("Account", "header")
    tab.find("#theme").send_keys("Dark")
    assert tab.run(scheme) == "dark"
    tab.open(f"{stage.url}/?again")
    tab.find("h1")
    assert tab.run(scheme) == "dark"
    tab.sign_out()


def test_a_letter_outside_a_field_does_nothing(tab: Browser, filled: Stage) -> None:
    """Whoever speaks to the computer would set off commands that are single letters (WCAG 2.1.4)."""
    tab.sign_in(filled.url, TOKEN)
    tab.go("#/research")
    tab.sees("3 documents")
    tab.run("document.activeElement.blur()")
    ActionChains(tab.chrome).send_keys("n/").perform()

    assert tab.run("return [location.hash, document.activeElement.tagName]") == [
        "#/research",
        "BODY",
    ]


def test_only_the_keyboard_draws_frames(tab: Browser, stage: Stage) -> None:
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    tab.sign_in(stage.url, TOKEN)
    tab.find("#nav a.primary").click()
    tab.until(lambda: tab.run("return document.activeElement.id") == "idea", "focus")
    assert tab.run(outline) == "none"
    ActionChains(tab.chrome).send_keys(Keys.TAB).perform()
    ActionChains(tab.chrome).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    assert tab.run("return document.activeElement.id") == "idea"
    assert tab.run(outline) == "solid"


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_views_fit_their_screen(tab: Browser, filled: Stage, width: int, scheme: str) -> None:
    wait_for_decision(filled)
    tab.size(width, 800)
    tab.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    tab.open(filled.url)
    tab.sign_out()
    tab.open(f"{filled.url}/?fit")
    tab.find("#token")
    tab.shot(f"look-sign-in-{width}-{scheme}")
    tab.sign_in(filled.url, TOKEN)
    views = {"home": "#spend", "new": ".price .strong", "ideas": "tbody tr", "research": ".doc"}
    for name, ready in views.items():
        tab.go(f"#/{'' if name == 'home' else name}")
        tab.find(ready)
        tab.shot(f"look-{name}-{width}-{scheme}")
        assert tab.run("return document.documentElement.scrollWidth") <= width, name
        assert tab.run("return document.getAnimations().length") == 0, name
