"""How fast the first view is there, and what many events cost. Prints what it measured."""

import pytest

from idea_explorer.console.assets import list_assets
from idea_explorer.domain.json import JsonObject
from tests.browser.driver import Browser
from tests.browser.stage import TOKEN, Stage, begun, called, said, step
from tests.browser.trace import list_tasks, trace
from tests.unit.console.test_console import weigh, weigh_sent

pytestmark = pytest.mark.slow

EVENTS = 2_000
LONGEST_FRAME_MS = 50  # of CPU time: where other programs use the cores, a frame waits for them too
ROUNDS = 3


def test_the_first_view_is_soon_usable(tab: Browser, stage: Stage) -> None:
    times = []
    for n in range(5):
        tab.open(f"{stage.url}/?{n}")
        tab.find("#token")
        entry = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
        times.append(float(tab.run(f"return {entry}")))
    sent, weight = weigh_sent(list_assets()), weigh(list_assets())

    print(f"\nfirst view: {min(times):.0f} ms at best, {max(times):.0f} ms at worst;", end=" ")
    print(f"all files: {sent:,} bytes as they are sent, {weight:,} as they are stored")
    assert min(times) < 1_000


def test_two_thousand_events_stay_smooth(tab: Browser, stage: Stage) -> None:
    exploration = stage.running(idea="A long run")
    stage.tell(exploration, [begun(exploration)])
    told = 2  # with the change of status before
    for n in range(250):
        hit: JsonObject = {"url": f"https://a.example/{n}", "title": f"Page {n}"}
        events = called(n, "web_search", {"query": f"bees {n}"}, {"ok": True, "results": [hit] * 5})
        deltas = [said(f"Some more words, number {n}, part {part}. ") for part in range(5)]
        stage.tell(exploration, [*deltas, *events, step(n + 1)])
        told += 8
    assert told >= EVENTS
    tab.sign_in(stage.url, TOKEN)
    longest = [watch(tab, exploration.id, told) for _ in range(ROUNDS)]

    assert len(tab.all(".card")) == 250
    assert max(longest) < LONGEST_FRAME_MS


def watch(tab: Browser, exploration_id: str, told: int) -> float:
    """The longest task of the page in milliseconds of CPU time while all events are drawn. Scripts, style,
    layout and paint of one frame are one task."""
    tab.go("#/nowhere")
    tab.find(".notice")
    with trace(tab) as events:
        tab.go(f"#/x/{exploration_id}")
        tab.until(lambda: tab.run("return timeline.dataset.events") == str(told), "all events")
    frames = sorted(task["cpu"] for task in list_tasks(events))
    print(
        f"\n{told} events: {sum(frames):.0f} ms of CPU time in {len(frames)} tasks,"
        f" the longest {frames[-1]:.0f} ms"
    )
    return float(frames[-1])
