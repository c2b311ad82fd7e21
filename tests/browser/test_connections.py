"""A browser opens six connections to a server, for all its tabs: the console holds none without need."""

import time

import pytest

from tests.browser.driver import Browser
from tests.browser.stage import TOKEN, Stage, begun, said

pytestmark = pytest.mark.slow

SET_HIDDEN = """
Object.defineProperty(document, "hidden", { configurable: true, get: () => arguments_[0] });
document.dispatchEvent(new Event("visibilitychange"));
"""


def set_hidden(tab: Browser, *, hidden: bool) -> None:
    tab.run(f"const arguments_ = arguments; {SET_HIDDEN}", hidden)


def count_events(tab: Browser) -> int:
    return int(tab.run("return Number(window.timeline?.dataset.events ?? 0)"))


def test_a_hidden_tab_follows_nothing_until_it_is_shown(tab: Browser, stage: Stage) -> None:
    exploration = stage.running(idea="Bees")
    stage.tell(exploration, [begun(exploration)])
    tab.sign_in(stage.url, TOKEN)
    tab.go(f"#/x/{exploration.id}")
    tab.until(lambda: count_events(tab) == 2, "the first events")

    set_hidden(tab, hidden=True)
    stage.tell(exploration, [said("While nobody looks.")])
    time.sleep(1.5)
    assert count_events(tab) == 2

    set_hidden(tab, hidden=False)
    tab.until(lambda: count_events(tab) == 3, "what came meanwhile")
    assert not tab.complaints()
