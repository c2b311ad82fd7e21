"""What people do with the console, against `idea serve` and a model that says what its script says."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.browser.driver import Browser
from tests.fakes.anthropic_faults import http_error
from tests.fakes.anthropic_scripts import ByConversation, Entry, Model
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    answer,
    refusal,
    search_result,
    text,
    tool_use,
    web_search,
)
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.served import TOKEN, Served

pytestmark = pytest.mark.slow

IDEA = "A subscription box for urban beekeepers"
WORDS = " ".join(f"word{n}" for n in range(120))
REPORT = f"""# Boxes for urban beekeepers

## Problem

Beginners buy the wrong things at the wrong time.

## Market

Hive numbers grow [by a tenth a year](https://bees.example/growth), says one source;
[another](https://unseen.example/claim) says more.

| Segment | People | Spend |
|---|---|---|
| Beginners | 12,000 | $180 |
| Clubs | 400 | $2,400 |

## Use cases and personas

A beginner in her first spring; a club that buys for all its members.

## Feasibility

Twelve boxes a year can be packed by hand.

## Verdict

**Verdict: CONDITIONAL YES**

{WORDS}
"""
FOUND = [
    search_result("https://bees.example/growth", "Urban hives grow", page_age="May 2026"),
    search_result("https://bees.example/boxes", "Who buys boxes"),
]
RESEARCH: list[Entry] = [
    answer(text("I look at what there is."), tool_use("list_research", {}), drip=0.05),
    answer(
        text("Now the market."),
        web_search("urban beekeeping growth", FOUND),
        tool_use("read_research", {"path": "market/hives.md"}),
        tool_use("read_research", {"path": "missing.md"}),
        drip=0.05,
    ),
    answer(text(REPORT), drip=0.02),
]
# Our notes say twelve thousand, and the model stays with it when it is told so.
CLAIMED = REPORT.replace(
    "says more.", "says more. [13,000 people](../market/hives.md) keep bees here."
)
CLAIMS = [*RESEARCH[:2], *[answer(text(CLAIMED), drip=0.02)] * 2]
TRACKS = [
    {
        "isrc": "GBAYE0601498",
        "title": "Here Comes the Sun",
        "artist": "The Beatles",
        "reasoning": "It hums.",
    },
    {
        "isrc": "USRC17607839",
        "title": "Honey Bee",
        "artist": "A Band",
        "reasoning": "It is about bees.",
    },
]


@contextmanager
def service(folder: Path, script: list[Entry] | Model) -> Iterator[Served]:
    notes = folder / "ideas" / "market" / "hives.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Hives\n\nTwelve thousand people keep bees in the city.\n")
    model = script if callable(script) else ByConversation(script)
    with FakeAnthropic(model) as claude:
        env = {"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": claude.url}
        with Served(folder, env, keep_port=True) as served:
            yield served


def submit(tab: Browser, idea: str = IDEA, **fields: str) -> None:
    tab.press("New idea", "nav")
    tab.type("#idea", idea)
    for name, value in fields.items():
        tab.choose(name, value)
    tab.press("Explore", "form")


def shown_id(tab: Browser) -> str:
    return str(tab.run("return location.hash.split('/')[2]"))


def test_the_form_shows_the_price_as_the_depth_changes(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        tab.press("New idea", "nav")
        tab.sees("typical · at most $2.00", ".price")
        quick = tab.text(".price")
        defaults = (
            "return ['max_cost_usd', 'deadline_seconds', 'max_steps']"
            ".map((name) => document.getElementById(name).placeholder)"
        )
        assert tab.run(defaults) == ["2", "120", "5"]
        tab.choose("depth", "Standard")
        tab.until(lambda: tab.text(".price") not in ("", quick), "another price")
        assert tab.run(defaults) == ["2", "300", "10"]
        tab.shot("form-estimate")
        tab.choose("max_cost_usd", "0.05")
        tab.sees("must be at least 0.3", ".price")
        tab.choose("toolset", "Code")
        tab.sees("must be at least 0.1", ".price")


def test_a_search_stays_within_the_domains_and_the_place_that_the_form_names(
    tab: Browser, tmp_path: Path
) -> None:
    asked: list[dict[str, object]] = []
    script = ByConversation(RESEARCH)

    def model(request: JsonObject, index: int) -> Turn:
        asked.extend(tool for tool in request["tools"] if tool.get("name") == "web_search")
        return script(request, index)

    with service(tmp_path, model) as served:
        tab.sign_in(served.url, TOKEN)
        tab.press("New idea", "nav")
        tab.type("#idea", IDEA)
        fold = "document.querySelector('.options').open = arguments[0]"
        tab.run(fold, True)
        tab.type("#allowed_domains", "https://bees.example")
        tab.type("#user_location", "Berlin")
        tab.run(fold, False)  # an error opens it again
        tab.press("Explore", "form")
        tab.sees("Must be domains such as example.com", "#allowed_domains-error")
        tab.sees("Must have a city", "#user_location-error")
        tab.shot("form-domains")
        tab.type("#allowed_domains", "bees.example, hives.example")
        tab.type("#user_location", "city=Berlin, country=DE")
        tab.press("Explore", "form")
        tab.find('.badge[data-status="completed"]')
        tab.press("New idea", "nav")
        tab.choose("toolset", "Code")
        hidden = "return document.querySelector('#allowed_domains').closest('[hidden]') !== null"
        tab.until(lambda: tab.run(hidden), "no domains for code")
    assert asked[0]["allowed_domains"] == ["bees.example", "hives.example"]
    place = {"type": "approximate", "city": "Berlin", "country": "DE"}
    assert asked[0]["user_location"] == place


def test_an_idea_is_sent_watched_and_read(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, CLAIMS) as served:
        tab.open(served.url)
        tab.find("#token")
        tab.shot("sign-in")
        tab.sign_in(served.url, TOKEN)
        tab.sees("You have no explorations yet")
        tab.shot("home-empty")

        submit(tab, max_cost_usd="1.50")
        tab.find('.card[data-status="completed"]')
        tab.sees("of $1.50", ".meters")
        tab.shot("exploration-live")
        tab.find('.badge[data-status="completed"]')
        tab.sees("Boxes for urban beekeepers", "h1")
        tab.find(".live.done .report")  # the activity is folded by now
        tab.find(".activity > summary").click()
        states = [card.get_attribute("data-status") for card in tab.all(".card")]
        # calls of one turn run side by side, and begin in any order
        assert sorted(map(str, states)) == ["completed", "completed", "completed", "failed"]
        assert len(tab.all("#timeline .step")) == 4
        for summary in tab.all(".card summary"):
            summary.click()
        tab.sees("Twelve thousand people keep bees")
        tab.sees("Urban hives grow")
        tab.sees("File not found: missing.md")
        tab.shot("exploration-done")

        tab.go(f"#/x/{shown_id(tab)}/report")
        tab.find(".back")
        tab.sees("Boxes for urban beekeepers", "h1")
        (mark,) = tab.all(".report mark.unverified")
        assert mark.text == "⚠ not supported by its source"
        tab.sees("1 claim not supported", ".facts")
        assert not tab.all('.report a[href*="unseen"]')  # an address that the run did not find
        look = "return getComputedStyle(document.querySelector(arguments[0])).color"
        assert tab.run(look, ".report p a:not([href])") == tab.run(look, ".report p")
        tab.find('.report a[href="#source-1"]').click()
        tab.sees("Urban hives grow", ".footnote")
        tab.shot("report")

        tab.press("Portfolio", "nav")
        tab.sees("CONDITIONAL YES", "table.ideas")
        tab.type("#search", "nothing like it")
        tab.sees("No matches")
        assert not tab.complaints()


def test_a_restart_of_the_server_loses_and_repeats_nothing(tab: Browser, tmp_path: Path) -> None:
    slow = [*RESEARCH[:2], answer(text(REPORT), drip=0.15)]
    with service(tmp_path, slow) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.sees("Now the market.")
        exploration_id = shown_id(tab)
        served.end(signal.SIGKILL)
        tab.sees("Connection lost")
        tab.shot("reconnecting")
        served.start()

        tab.find('.badge[data-status="completed"]')
        with served.client() as client:
            told = all_events(client, exploration_id)
        tab.until(lambda: tab.run("return timeline.dataset.events") == str(len(told)), "all events")
        spoken = "".join(e["content"] for e in told if e["type"] == "text_delta")
        on_page = tab.run(
            "return [...document.querySelectorAll('#timeline .said')].map((e) => e.textContent).join(' ')"
        )
        words = re.compile(r"word\d+")
        assert words.findall(on_page) == words.findall(spoken)
        calls = {e["toolCallId"] for e in told if e["type"] == "tool_call_start"}
        assert len(tab.all(".card")) == len(calls)


def all_events(client: httpx.Client, exploration_id: str) -> list[dict[str, str]]:
    reply = client.get(
        f"/explorations/{exploration_id}/events", headers={"Accept": "application/json"}
    )
    return [event["data"] for event in reply.json()["events"]]


def test_a_wrong_token_says_what_to_do(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, RESEARCH) as served:
        tab.open(served.url)
        tab.type("#token", "wrong")
        tab.press("Sign in", "form")
        tab.sees("does not recognize this token")
        tab.shot("wrong-token")
        assert tab.run("return sessionStorage.length") == 0
        assert "wrong" not in str(tab.run("return location.href"))


def test_a_wait_for_the_model_is_told_until_it_is_over(tab: Browser, tmp_path: Path) -> None:
    limited = http_error(429, retry_after=3, times=1)
    with service(tmp_path, [answer(text(REPORT), fault=limited)]) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.sees("rate limit was reached. Trying again in 3 s (attempt 2 of 5).", "p.event")
        tab.shot("waiting")
        tab.find('.badge[data-status="completed"]')
        tab.sees("No more activity.")
        assert not tab.all("p.event")


def test_a_failed_run_shows_its_receipt(tab: Browser, tmp_path: Path) -> None:
    script: list[Entry] = [RESEARCH[0], refusal("This request was declined.")]
    with service(tmp_path, script) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.find('.badge[data-status="failed"]')
        tab.sees("declined", ".receipt")
        tab.find(".resume button")
        tab.sees("I look at what there is.", "#timeline")
        tab.shot("failed")


def test_what_is_wrong_is_said_at_its_field(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        tab.press("New idea", "nav")
        tab.press("Explore", "form")
        tab.sees("Enter an idea or a question.", "#idea-error")
        tab.type("#idea", IDEA)
        tab.choose("deadline_seconds", "100000")
        tab.press("Explore", "form")
        tab.until(lambda: tab.text("#deadline_seconds-error"), "a sentence at the field")
        assert tab.run("return document.activeElement.id") == "deadline_seconds"
        tab.shot("submit-errors")


def test_a_playlist_is_drawn(tab: Browser, tmp_path: Path) -> None:
    script: list[Entry] = [
        answer(tool_use("suggestPlaylist", {"title": "Songs for bees", "tracks": TRACKS})),
        answer(text("# Songs for bees\n\nTwo of them.")),
    ]
    with service(tmp_path, script) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Music for beekeepers", toolset="Music")
        tab.find('.badge[data-status="completed"]')
        tab.sees("Two of them.", ".report")
        tab.find(".activity > summary").click()
        tab.find(".card summary").click()
        tab.sees("Here Comes the Sun", ".playlist")
        assert "in library" in tab.text(".playlist")
        tab.shot("playlist")


def test_a_run_is_cancelled_and_resumed(tab: Browser, tmp_path: Path) -> None:
    script = [RESEARCH[0], answer(text(REPORT), drip=0.3)]
    with service(tmp_path, script) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.sees("Boxes for urban", "#timeline")
        tab.press("Cancel")
        tab.find('.badge[data-status="cancelled"]')
        tab.press("Resume")
        tab.find('.badge[data-status="running"]')


CODE = "".join(f"def hive_{n}() -> int:\n    return {n}\n\n\n" for n in range(8))
EDITED = CODE.replace("return 3", "return 33").replace("return 6", "return 66")
EDITS: list[Entry] = [
    answer(text("I read it first."), tool_use("read_file", {"path": "src/hives.py"})),
    answer(
        text("Two changes."),
        tool_use(
            "edit_file",
            {"path": "src/hives.py", "content": EDITED, "description": "Count the hives anew"},
        ),
        tool_use(
            "create_file",
            {"path": "NOTES.md", "content": "# Notes", "description": "Say what was done"},
        ),
    ),
    answer(text("# Hives counted\n\nOne change stands; the notes were not wanted.")),
]


@pytest.mark.core
def test_changes_are_edited_approved_and_rejected(tab: Browser, tmp_path: Path) -> None:
    source = tmp_path / "src" / "hives.py"
    source.parent.mkdir()
    source.write_text(CODE)
    with service(tmp_path, EDITS) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Count the hives anew", toolset="Code")
        tab.sees("2 changes need your approval")
        assert source.read_text() == CODE
        tab.shot("approvals-unified")
        tab.click(tab.find("#two"))
        tab.find("table.two")
        tab.sees("No newline at end of file")
        tab.shot("approvals-side-by-side")

        first = tab.find(".change")
        assert "src/hives.py" in first.text
        tab.press("Edit", ".change:first-of-type")
        area = tab.find(".change textarea")
        tab.click(tab.find(".change:nth-of-type(2) .heading input"))
        tab.sees("1 of 2 selected", ".bulk")
        tab.run(
            "arguments[0].value = arguments[0].value.replace('return 66', 'return 6');"
            "arguments[0].dispatchEvent(new Event('input'));"
            "document.querySelector('.bulk .primary').click()",
            area,
        )
        tab.sees("Look at your edit of src/hives.py before you approve it.")
        assert source.read_text() == CODE
        tab.sees("This is the change with your edits.")
        assert "return 66" not in tab.text(".change:first-of-type .diff")
        tab.shot("approvals-editing")
        tab.press("Approve as edited", ".change:first-of-type")
        tab.sees("1 change needs your approval")
        assert source.read_text() == CODE.replace("return 3", "return 33")
        tab.sees("approved with edits", "#approvals")
        tab.press("Reject", ".change")
        tab.type(".change .why input", "The notes are not wanted")
        tab.press("Reject it", ".change")

        tab.find('.badge[data-status="completed"]')
        tab.sees("One change stands", ".report")
        tab.find(".activity > summary").click()
        tab.sees("User rejected changes: The notes are not wanted", "#timeline")
        tab.shot("approvals-decided")
        tab.go(f"#/x/{shown_id(tab)}/report")
        tab.find(".back")
        tab.sees("One change stands", ".report")
        assert not tab.complaints()
    assert source.read_text() == CODE.replace("return 3", "return 33")
    assert not (tmp_path / "NOTES.md").exists()


MORE_EDITS: list[Entry] = [
    answer(
        text("Three changes."),
        tool_use(
            "edit_file",
            {
                "path": "src/hives.py",
                "replacements": [
                    {"old": "return 0", "new": "return 100"},
                    {"old": "return 7", "new": "return 700"},
                ],
                "description": "Count the hives anew",
            },
        ),
        tool_use("delete_file", {"path": "old.txt", "description": "Nobody reads it"}),
        tool_use(
            "move_file",
            {"path": "notes.txt", "new_path": "docs/notes.txt", "description": "Tidy up"},
        ),
    ),
    answer(text("# Done\n\nPart of it.")),
]


def test_a_part_of_a_change_is_approved_and_a_stale_one_is_told(
    tab: Browser, tmp_path: Path
) -> None:
    source = tmp_path / "src" / "hives.py"
    source.parent.mkdir()
    code = CODE.rstrip() + "\n"  # its last line changes too
    source.write_text(code)
    (tmp_path / "old.txt").write_text("old\n")
    (tmp_path / "notes.txt").write_text("notes\n")
    with service(tmp_path, MORE_EDITS) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Count the hives anew", toolset="Code")
        tab.sees("3 changes need your approval")
        tab.sees("Delete old.txt")
        tab.sees("Move notes.txt to docs/notes.txt")
        tab.sees("+2 −2", ".change .size")
        marked = [mark.text for mark in tab.all(".change .word")]
        assert marked == ["0", "100", "7", "700"]  # of each line only what has changed
        assert not tab.all(".change:last-of-type .size")[0].text  # of a file that is only moved
        boxes = tab.all(".change .hunk input")
        assert len(boxes) == 2
        tab.click(boxes[0])
        tab.sees("Approve 1 of 2 hunks")
        tab.sees("+1 −1", ".change .size")
        tab.press("unchanged lines", ".change")
        tab.sees("return 3", ".change .diff")
        tab.press("Show only the changes", ".change")
        assert "return 3" not in tab.text(".change .diff")
        tab.shot("approvals-hunks")
        tab.press("Approve 1 of 2 hunks")
        tab.sees("2 changes need your approval")
        tab.sees("approved with edits and written", "#approvals")
        assert source.read_text() == code.replace("return 7", "return 700")

        (tmp_path / "old.txt").write_text("somebody was here\n")
        tab.press("Approve selected")
        tab.find('.badge[data-status="completed"]')
        tab.sees(
            "old.txt not written: old.txt has changed since the proposal was made", "#approvals"
        )
        tab.shot("approvals-stale")
        assert not tab.complaints()
    assert (tmp_path / "docs/notes.txt").read_text() == "notes\n"
    assert (tmp_path / "old.txt").read_text() == "somebody was here\n"


PLANNED: list[Entry] = [
    answer(
        tool_use(
            "write_plan",
            {
                "must_know": ["Whether beginners would pay"],
                "sub_questions": [
                    {"question": "How many begin?", "tool": "web_search", "why": "The market."}
                ],
                "known": [],
                "would_turn": ["Nobody begins any more"],
            },
        )
    ),
    answer(text(REPORT)),
]


def test_a_plan_is_reviewed_edited_and_followed(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, PLANNED) as served:
        tab.sign_in(served.url, TOKEN)
        tab.press("New idea", "nav")
        tab.find("#depth")
        tab.run("document.querySelector('.options').open = true")
        assert not tab.all("#review_plan")[0].is_displayed()
        submit(tab, depth="Standard", review_plan="Let me")
        tab.sees("The plan needs your approval")
        tab.sees("How many begin?", ".change .prose ol")
        tab.sees("Waiting for your approval.")
        tab.shot("plan-review")
        tab.press("Edit the plan", ".change")
        area = tab.find(".change textarea")
        change = "arguments[0].value = {}; arguments[0].dispatchEvent(new Event('input'))"
        tab.run(change.format("'# Later'"), area)
        tab.press("Approve", ".change")
        tab.sees("The plan has no question", ".change")
        tab.run(change.format("'## Questions\\n- How many stay?'"), area)
        tab.press("Approve", ".change")

        tab.find('.badge[data-status="completed"]')
        tab.sees("Beginners buy the wrong things", ".report")
        tab.find(".activity > summary").click()
        tab.sees("The plan was accepted as you edited it.", "#timeline")
        tab.sees("How many stay?", ".questions")
        tab.shot("plan-followed")
        assert all("422" in said for said in tab.complaints())  # the edit that was refused


def test_several_changes_are_approved_at_once(tab: Browser, tmp_path: Path) -> None:
    source = tmp_path / "src" / "hives.py"
    source.parent.mkdir()
    source.write_text(CODE)
    with service(tmp_path, EDITS) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Count the hives anew", toolset="Code")
        tab.sees("2 changes need your approval")
        tab.press("Approve selected")
        tab.find('.badge[data-status="completed"]')
    assert source.read_text() == EDITED
    assert (tmp_path / "NOTES.md").read_text() == "# Notes"


BUILD_EDITS: list[Entry] = [
    answer(
        text("Two changes."),
        *(
            tool_use("create_file", {"path": path, "content": "new\n", "description": "Renew it"})
            for path in ("notes.md", "Makefile")
        ),
    ),
    answer(text("# Renewed\n\nBoth files.")),
]


def test_a_dangerous_change_is_approved_alone_and_after_it_was_read(
    tab: Browser, tmp_path: Path
) -> None:
    with service(tmp_path, BUILD_EDITS) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Renew both files", toolset="Code")
        tab.sees("2 changes need your approval")
        tab.press("Approve selected")
        tab.sees("1 change needs your approval")
        assert not (tmp_path / "Makefile").exists()

        tab.sees("This file runs when somebody builds or installs", ".change")
        tab.press("Approve", ".change")
        tab.sees("approve it alone with confirm_danger", ".change")
        assert not (tmp_path / "Makefile").exists()

        tab.click(tab.find(".change p.danger input"))
        tab.press("Approve", ".change")
        tab.find('.badge[data-status="completed"]')
    assert (tmp_path / "Makefile").read_text() == "new\n"


def test_similar_research_is_used_updated_or_followed_up(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.find('.badge[data-status="completed"]')

        tab.press("New idea", "nav")
        tab.type("#idea", "A box for urban beekeepers")
        tab.sees("Similar research already exists")
        tab.shot("similar")
        tab.press("Update", ".similar")
        tab.sees("Update of Boxes for urban beekeepers", ".purpose")
        assert tab.find("#idea").get_attribute("value") == IDEA  # by which the document is found
        tab.find('.go button[type="submit"], .go .primary')
        tab.press("Remove", ".purpose")
        tab.type("#idea", "A box for urban beekeepers")
        tab.press("Follow up", ".similar")
        tab.sees("Follow-up on Boxes for urban beekeepers", ".purpose")
        tab.shot("follow-up")
        tab.press("Remove", ".purpose")
        tab.type("#idea", "A box for urban beekeepers")
        tab.press("Use this", ".similar")
        tab.sees("Boxes for urban beekeepers", ".report-page h1")
        with served.client() as client:  # which has started nothing
            assert len(client.get("/explorations").json()["explorations"]) == 1


def test_an_update_adds_to_the_document(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        tab.find('.badge[data-status="completed"]')
        (document,) = (tmp_path / "ideas").glob("*/research.md")

        tab.press("Research", "nav")
        tab.press("Boxes for urban beekeepers", ".docs")
        tab.press("Update", ".actions")
        tab.sees("Update of", ".purpose")
        tab.press("Update", ".go")
        tab.find('.badge[data-status="completed"]')
    assert "## Update - " in document.read_text("utf-8")


def test_a_report_leads_to_its_update_which_says_if_the_document_is_gone(
    tab: Browser, tmp_path: Path
) -> None:
    def update_from_the_report() -> None:
        tab.find('.badge[data-status="completed"]')
        tab.press("Update", ".tools")
        tab.sees("Update of Boxes for urban beekeepers", ".purpose")
        tab.press("Update", ".go")
        tab.find('.badge[data-status="completed"]')

    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab)
        update_from_the_report()
        (document,) = (tmp_path / "ideas").glob("*/research.md")
        assert document.read_text("utf-8").count("## Update - ") == 1
        assert "There was no research" not in tab.text()
        document.unlink()
        update_from_the_report()
        tab.sees("There was no research of this idea to update, so this is a new document.")


def test_the_idea_and_the_framework_of_an_update_stay_as_they_are(
    tab: Browser, tmp_path: Path
) -> None:
    fixed = (
        "const { idea, mode } = document.forms[0].elements;"
        "return [idea.readOnly, mode.disabled, document.querySelector('#toolset').disabled]"
    )
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, mode="Exploration")
        tab.find('.badge[data-status="completed"]')
        tab.press("New idea", "nav")
        tab.type("#idea", "A box for urban beekeepers")
        tab.press("Update", ".similar")
        tab.sees("Update of Boxes for urban beekeepers", ".purpose")
        assert tab.run(fixed) == [True, True, True]
        assert tab.run("return document.forms[0].elements.mode.value") == "exploration"
        tab.press("Remove", ".purpose")
        assert tab.run(fixed) == [False, False, False]
        assert tab.find("#idea").get_attribute("value") == "A box for urban beekeepers"


def test_files_are_sent_along(tab: Browser, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Twelve hives stand on the roof.\n")
    with service(tmp_path, RESEARCH) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, toolset="Assistant", files=str(notes))
        tab.find('.badge[data-status="completed"]')
        assert not tab.complaints()
