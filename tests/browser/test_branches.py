"""A deep exploration in the console: each of its questions shows its own work."""

from pathlib import Path

import pytest

from tests.browser.driver import Browser
from tests.browser.test_journeys import service, submit
from tests.fakes.anthropic_scripts import ByConversation, BySubject
from tests.fakes.anthropic_turns import answer, refusal, search_result, text, tool_use, web_search
from tests.fakes.branching import QUESTIONS, plan_of
from tests.fakes.reports import business
from tests.fakes.served import TOKEN

pytestmark = pytest.mark.slow

PAGE = "https://bees.example/growth"
FINDINGS = [
    answer(
        tool_use("read_research", {"path": "market/hives.md"}),
        web_search("hives", [search_result(PAGE, "Urban hives grow")]),
        drip=0.05,
    ),
    answer(text(f"# Findings\n\n- Hives grow. [Urban hives]({PAGE})"), drip=0.05),
]
DEEP = BySubject(
    {
        **{question: ByConversation(FINDINGS) for question in QUESTIONS[:3]},
        QUESTIONS[3]: ByConversation([refusal("I would rather not.")]),
        "": ByConversation(
            [answer(tool_use("write_plan", plan_of(*QUESTIONS))), answer(text(business("Bees")))]
        ),
    }
)


def test_each_question_of_a_deep_run_shows_its_own_work(tab: Browser, tmp_path: Path) -> None:
    with service(tmp_path, DEEP) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, depth="Deep")
        tab.find(".branch .call")
        tab.shot("branches-live")
        tab.sees("Researching the questions of the plan")
        tab.find(".report")
        tab.find(".activity > summary").click()

        asked = [branch.text for branch in tab.all(".branch .question")]
        assert asked == list(QUESTIONS)
        assert len(tab.all(".branch")[0].find_elements("css selector", ".call")) == 2
        tab.sees("Failed", ".branch:last-child")
        tab.shot("branches-done")
        assert not tab.complaints()
