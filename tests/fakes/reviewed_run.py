"""A deep run over the wire, for tests that run it on this machine and in the deployed service: a plan that a
person edits, four branches of which one is declined, and a report of which two claims are false and stay so
when it is asked for again."""

from collections.abc import Mapping

from idea_explorer.domain.report_phrases import UNSUPPORTED
from idea_explorer.domain.run import Stats
from tests.fakes.anthropic_scripts import ByConversation, Model
from tests.fakes.anthropic_turns import (
    answer,
    citation,
    refusal,
    search_result,
    text,
    tool_use,
    web_search,
)
from tests.fakes.branching import plan_of
from tests.fakes.reports import business

IDEA = "A tea room on a boat that follows the tide"
QUESTIONS = ("Who drinks tea on boats?", "What does a boat cost?", "Who rents piers?", "Why not?")
EDITED = "What does a used barge cost?"  # in place of the second
ASKED = (QUESTIONS[0], EDITED, QUESTIONS[2], QUESTIONS[3])
PAGES = {name: f"https://example.org/{name}" for name in ("guests", "barges", "law")}
FACTS = {
    "guests": "In 2024 the boats of the harbour had 48,000 guests, its office says.",
    "barges": "A used barge of 20 metres costs 35,000 euros, brokers say.",
    "law": "A boat that serves food needs a permit of the harbour office.",
}
TRUE = (
    f"In 2024 the boats of the harbour had 48,000 guests ([guests]({PAGES['guests']})).",
    f"A used barge of 20 metres costs 35,000 euros ([barges]({PAGES['barges']})).",
)
FALSE = (
    f"A new barge of 20 metres costs 53,000 euros ([barges]({PAGES['barges']})).",
    f"Robots will soon replace every waiter in Europe ([law]({PAGES['law']})).",
)
REPORT = business("Tea on a boat", " ".join([*TRUE, *FALSE]), "PIVOT")


def find_fact(page: str) -> ByConversation:
    found = web_search(page, [search_result(PAGES[page], page)])
    said = text(FACTS[page], citations=[citation(PAGES[page], page, FACTS[page])])
    rest = text("\n\n## Not found\n\nNothing.")
    return ByConversation([answer(found, text("# Findings\n\n- "), said, rest)])


def answer_questions(last: Model) -> Mapping[str, Model]:
    """By what they are asked: the models of the branches, and that of the run. `last` answers the last
    question."""
    planned = answer(tool_use("write_plan", plan_of(*QUESTIONS)))
    return {
        QUESTIONS[0]: find_fact("guests"),
        EDITED: find_fact("barges"),
        QUESTIONS[2]: ByConversation([refusal("I would rather not.")]),
        QUESTIONS[3]: last,
        IDEA: ByConversation([planned, answer(text(REPORT)), answer(text(REPORT))]),
    }


def edit_plan(plan: str) -> str:
    return plan.replace(QUESTIONS[1], EDITED)


def check_claims(report: str, stats: Stats) -> None:
    """Both false claims are marked, and nothing else is."""
    marked = [f"{claim} {UNSUPPORTED}" in report for claim in (*TRUE, *FALSE)]
    assert (marked, report.count(UNSUPPORTED)) == ([False, False, True, True], 2)
    assert stats.verification is not None
    assert (stats.verification.supported, stats.verification.unsupported) == (2, 2)
