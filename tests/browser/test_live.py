"""The live view: text as it streams, tools in words, the plan, branches, and the end of a run."""

from dataclasses import replace
from typing import Any

import pytest

from idea_explorer.domain.events import (
    BranchFinished,
    BranchStarted,
    PlanAccepted,
    StatusChanged,
    ThinkingDelta,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import Plan, SubQuestion
from idea_explorer.domain.run import Stats
from tests.browser.driver import Browser
from tests.browser.stage import TOKEN, Stage, begun, called, failed, said, step
from tests.browser.test_accessibility import findings

pytestmark = pytest.mark.slow

HITS: list[JsonObject] = [
    {"url": "https://www.bees.example/growth", "title": "Urban hives grow", "page_age": "May 2026"},
    {"url": "https://bees.example/boxes", "title": "Who buys boxes"},
    {"url": "https://market.example/2026", "title": "Hobby spending in 2026"},
    {"url": "https://city.example/rules", "title": "Rules for hives on roofs"},
    {"url": "https://forum.example/t/1", "title": "First year mistakes"},
    {"url": "https://club.example", "title": "The city club of beekeepers"},
]
QUESTIONS = ["How many people begin each year?", "What do they buy in the first year?"]
PLAN = Plan(
    must_know=("Whether beginners would pay",),
    sub_questions=tuple(
        SubQuestion(question=asked, tool="web_search", why="The market.") for asked in QUESTIONS
    ),
    known=("Clubs buy together",),
    would_turn=("Nobody begins any more",),
)
TEXT = """I look at **what there is** before I search.

## What I know so far

- Hives grow [by a tenth](https://bees.example/growth) a year
- Clubs buy for `400` members
  - some for fewer

| Segment | People | Spend |
|---|---:|---:|
| Beginners | 12,000 | $180 |
| Clubs | 400 | $2,400 |

> Beginners buy the wrong things.
"""


def stream(words: str, size: int = 9) -> list[Any]:
    return [said(words[at : at + size]) for at in range(0, len(words), size)]


@pytest.fixture
def running(stage: Stage) -> Exploration:
    going = stage.running(
        idea="A subscription box for urban beekeepers", max_cost_usd=1.0, depth="deep"
    )
    going = going.replace(stats=Stats(steps=1, cost_usd=0.03))
    stage.api.store.save(going)
    document: JsonObject = {"path": "market/hives.md", "title": "Hives", "content": "12,000 people"}
    stage.tell(
        going,
        [
            begun(going),
            ThinkingDelta(content="The market comes first.\nThen the price, and "),
            ThinkingDelta(content="what clubs already do."),
            *stream(TEXT),
            *called(1, "read_research", {"path": "market/hives.md"}, document),
            *called(2, "web_search", {"query": "urban beekeeping growth"}, {"results": [*HITS]}),
            *failed(3, "http_fetch", {"url": "https://closed.example/x"}, "The page is closed."),
            step(1),
            PlanAccepted(plan=PLAN),
            BranchStarted(branch=1, question=QUESTIONS[0]),
            BranchStarted(branch=2, question=QUESTIONS[1]),
            ToolCallStart(
                tool_call_id="b1", tool_name="web_search", input={"query": "hives"}, branch=1
            ),
            BranchFinished(branch=1, status="completed", cost=0.02),
            ToolCallStart(
                tool_call_id="b2", tool_name="web_search", input={"query": "boxes"}, branch=2
            ),
        ],
    )
    return going


def watch(tab: Browser, stage: Stage, exploration: Exploration) -> None:
    tab.sign_in(stage.url, TOKEN)
    tab.complaints()  # those of other views
    tab.go(f"#/x/{exploration.id}")
    tab.find("#timeline .branch")


def test_the_questions_of_a_run_without_branches_are_ticked_as_it_looks_into_them(
    tab: Browser, stage: Stage
) -> None:
    going = stage.running(idea="A box for beekeepers", depth="standard")

    started, ended = called(1, "web_search", {"query": "hives"}, {"results": []})
    asked = [replace(started, tool_call_id=f"call-{number}", question=number) for number in (1, 2)]
    stage.tell(going, [begun(going), PlanAccepted(plan=PLAN), asked[0], ended, asked[1]])
    tab.sign_in(stage.url, TOKEN)
    tab.go(f"#/x/{going.id}")
    tab.sees("looked into", ".questions")
    ticks = [row.get_attribute("data-status") for row in tab.all(".questions li")]
    assert ticks == ["searched", "running"]
    assert not tab.complaints()


def test_a_question_is_looked_into_when_its_last_open_call_has_ended(
    tab: Browser, stage: Stage
) -> None:
    going = stage.running(idea="A box for beekeepers", depth="standard")
    started, ended = called(1, "web_search", {"query": "hives"}, {"results": []})
    first = replace(started, question=3)
    asked = [first, replace(first, tool_call_id="call-2")]
    same = SubQuestion(question=QUESTIONS[0])
    plan = Plan(sub_questions=(same, same, SubQuestion(question=QUESTIONS[1])))

    def ticks() -> list[str | None]:
        return [row.get_attribute("data-status") for row in tab.all(".questions li")]

    stage.tell(
        going, [begun(going), PlanAccepted(plan=plan), *asked, ended, ended, said("One is left.")]
    )
    tab.sign_in(stage.url, TOKEN)
    tab.go(f"#/x/{going.id}")
    tab.sees("One is left.", "#timeline")
    assert ticks() == ["open", "open", "running"]
    stage.tell(going, [replace(ended, tool_call_id="call-2")])
    tab.until(lambda: ticks() == ["open", "open", "searched"], "the end of both calls")
    assert not tab.complaints()


def test_a_branch_marks_each_of_its_questions(tab: Browser, stage: Stage) -> None:
    going = stage.running(idea="A box for beekeepers", depth="deep")
    questions = [*QUESTIONS, "Who sells to them?", "What do clubs do?", "Which laws matter?"]
    plan = Plan(sub_questions=tuple(SubQuestion(question=asked) for asked in questions))
    together = "\n".join((questions[0], questions[4]))
    stage.tell(
        going,
        [
            begun(going),
            PlanAccepted(plan=plan),
            BranchStarted(branch=1, question=together),
            *(BranchStarted(branch=n + 1, question=questions[n]) for n in (1, 2, 3)),
            BranchFinished(branch=1, status="completed", cost=0.02),
            BranchFinished(branch=2, status="failed", error="It broke."),
        ],
    )
    tab.sign_in(stage.url, TOKEN)
    tab.go(f"#/x/{going.id}")
    tab.sees("It broke.", "#timeline")

    ticks = [row.get_attribute("data-status") for row in tab.all(".questions li")]
    assert ticks == ["completed", "failed", "running", "running", "completed"]
    tab.sees("2 of 5", ".side .count")  # one was not answered
    assert tab.find(".branch .question").text == together  # each on a line of its own
    assert not tab.complaints()


def test_what_turns_makes_the_page_no_wider(tab: Browser, stage: Stage) -> None:
    """Words that only screen readers see stand far to the left of it, and would turn with it."""
    tab.size(360, 740)
    tab.prefer(prefers_reduced_motion="no-preference")
    going = stage.running(idea="A box for beekeepers", depth="deep")
    stage.tell(
        going,
        [begun(going), PlanAccepted(plan=PLAN), BranchStarted(branch=1, question=QUESTIONS[0])],
    )
    tab.sign_in(stage.url, TOKEN)
    tab.go(f"#/x/{going.id}")
    tab.find(".side summary").click()
    tab.find('.questions li[data-status="running"]')

    widths = """const turns = document.getAnimations().filter((a) => a.animationName === "turn");
        return turns.flatMap((turn) => [0, 300, 600, 900].map((at) => {
          turn.pause(); turn.currentTime = at; return document.documentElement.scrollWidth;
        }))"""
    assert set(tab.run(widths)) == {360}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_a_run_is_told_in_words(
    tab: Browser, stage: Stage, running: Exploration, width: int, scheme: str
) -> None:
    tab.size(width, 900 if width > 400 else 740)
    tab.prefer(prefers_color_scheme=scheme)
    watch(tab, stage, running)
    tab.sees("Searched the web")

    assert "**" not in tab.text("#timeline")
    assert [cell.text for cell in tab.all("#timeline td.end")][:2] == ["12,000", "$180"]
    assert len(tab.all("#timeline .said li")) == 3
    tools = tab.run(
        "return [...document.querySelectorAll('.card .tool')].map((e) => e.textContent)"
    )
    assert tools[:3] == ["Read your team’s research", "Searched the web", "Opening a page"]
    assert tools[3:] == ["Searching the web …"] * 2
    chips = [chip.text for chip in tab.all(".sites > *")]
    assert chips == ["bees.example", "market.example", "city.example", "forum.example", "+1"]
    assert tab.find(".thought summary").text == "Then the price, and what clubs already do."
    ticks = [row.get_attribute("data-status") for row in tab.all(".questions li")]
    assert ticks == ["completed", "running"]
    tab.sees("$0.03 of $1.00", ".meters")
    left = tab.run("return document.querySelector('.beside').getBoundingClientRect().left")
    assert left > 600 if width > 1000 else left < 50
    assert tab.run("return document.documentElement.scrollWidth") <= width
    tab.run("scrollTo(0, 0)")
    tab.shot(f"live-{width}-{scheme}")
    assert not findings(tab)
    assert not tab.complaints()


AT_END = "return document.querySelector('.activity .end').getBoundingClientRect().top < innerHeight"


def tell_more(stage: Stage, exploration: Exploration, word: str) -> None:
    events = [each for n in range(20) for each in (*stream(f"{word} {n}.\n\n"), step(n + 2))]
    stage.tell(exploration, events)


def test_the_newest_output_stays_in_view_until_somebody_scrolls_up(
    tab: Browser, stage: Stage, running: Exploration
) -> None:
    watch(tab, stage, running)
    tell_more(stage, running, "Paragraph")
    tab.sees("Paragraph 19.", "#timeline")
    tab.until(lambda: tab.run(AT_END), "the end of the output")
    assert not tab.find("main").find_element("css selector", ".jump").is_displayed()

    tab.run("scrollTo(0, 0)")
    stage.tell(running, stream("The last paragraph.\n\n"))
    tab.find(".jump button")
    assert tab.run("return scrollY") == 0
    tab.press("Jump to latest")
    tab.until(lambda: tab.run(AT_END), "the end of the output")


def test_a_run_that_is_resumed_is_followed_again(
    tab: Browser, stage: Stage, running: Exploration
) -> None:
    watch(tab, stage, running)
    stage.api.store.save_report(running.id, running.lease, "# Boxes\n\nThey sell.")
    ended = running.finished("partial", at=stage.api.clock.now(), title="Boxes")
    stage.api.store.save(ended)
    stage.tell(ended, [StatusChanged(from_="running", to="partial")])
    tab.sees("They sell.", ".report")

    tab.press("Resume")
    tab.find('.badge[data-status="queued"]')
    resumed = stage.api.run_to(stage.api.store.load(running.id), "running")
    tell_more(stage, resumed, "Later")
    tab.sees("Later 19.", "#timeline")
    tab.until(lambda: tab.run(AT_END), "the end of the output")
    assert not tab.complaints()


def test_a_run_folds_itself_into_its_report(
    tab: Browser, stage: Stage, running: Exploration
) -> None:
    watch(tab, stage, running)
    stage.api.store.save_report(running.id, running.lease, "# Boxes\n\nThey sell.")
    ended = running.finished("completed", at=stage.api.clock.now(), title="Boxes")
    stage.api.store.save(ended)
    stage.tell(ended, [StatusChanged(from_="running", to="completed")])

    tab.sees("They sell.", ".report")
    assert tab.text("h1") == "Boxes"
    assert not tab.find(".activity").get_attribute("open")
    tab.press("Follow up")
    tab.find("#idea")
