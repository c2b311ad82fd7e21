"""The runs that are killed: what the model says in each, what a person decides, and how it ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from idea_explorer.usecases.approvals.decide import DecisionRequest
from tests.fakes.anthropic_scripts import Entry, Script
from tests.fakes.anthropic_turns import (
    answer,
    pending_web_search,
    refusal,
    search_result,
    text,
    thinking,
    tool_use,
    web_search,
    web_search_result,
)
from tests.fakes.branching import plan_of
from tests.fakes.reports import business

REPORT = business("Tea", "Tea rooms do well, [as known](../tea.md).", "PIVOT")
WRONG = business("Tea", "Robots pour everything soon, [as known](../tea.md).", "PIVOT")
FOUND = [search_result("https://example.org/tea", "Tea")]

QUESTIONS = ("Who drinks tea?", "What does tea cost?", "Who sells tea?", "What may stop it?")
FOURTH = "What may hinder it?"  # a person changes it to the last of the questions
FINDINGS = "# Findings\n\n- Tea sells, [as known](../tea.md).\n\n## Not found\n\nNothing."
# A report with a sentence that its source does not support, and its correction.
CORRECTED: Sequence[Entry] = (
    answer(tool_use("read_research", {"path": "tea.md"})),
    answer(text(WRONG)),
    answer(text(REPORT)),
)
# A plan that a person edits, a branch for each of its questions, one of which is declined, and a report that
# is corrected.
DEEP: Mapping[str, Sequence[Entry]] = {
    QUESTIONS[0]: (
        answer(tool_use("read_research", {"path": "tea.md"}), tool_use("list_research", {})),
        answer(text(FINDINGS)),
    ),
    QUESTIONS[1]: (answer(web_search("tea", FOUND), text(FINDINGS)),),
    QUESTIONS[2]: (refusal("I would rather not."),),
    QUESTIONS[3]: (
        answer(tool_use("read_research", {"path": "bees.md"})),
        answer(text(FINDINGS)),
    ),
    "": (
        answer(tool_use("write_plan", plan_of(*QUESTIONS[:3], FOURTH))),
        answer(text(WRONG)),
        answer(text(REPORT)),
    ),
}


def approve(number: int, plan: str) -> DecisionRequest:
    return DecisionRequest(decision="approve")


def edit(number: int, plan: str) -> DecisionRequest:
    """Another question in place of the last."""
    return DecisionRequest(decision="approve", content=plan.replace(FOURTH, QUESTIONS[3]))


def reject_first(number: int, plan: str) -> DecisionRequest:
    if number:
        return edit(number, plan)
    return DecisionRequest(decision="reject", reason="Ask what may hinder it.")


def leave_undecided(number: int, plan: str) -> None:
    """Nobody decides before the time for it is over."""


@dataclass(frozen=True)
class Scenario:
    """`review` is given the number of the plan and its text; None expires the request. Each run has to end
    with this status and so many commits."""

    script: Script
    fields: Mapping[str, object] = field(default_factory=dict)
    review: Callable[[int, str], DecisionRequest | None] = approve
    status: str = "completed"
    commits: int = 1
    calls_at_once: int = 1  # the most model calls that one kill can interrupt


REVIEWED: Mapping[str, object] = {"depth": "standard", "review_plan": True}
DEEP_RUN = Scenario(
    DEEP, {"depth": "deep", "review_plan": True}, edit, calls_at_once=len(QUESTIONS)
)
APPROVED_PLAN = Scenario(
    (answer(tool_use("write_plan", plan_of(QUESTIONS[0]))), answer(text(REPORT))), REVIEWED
)
REJECTED_PLAN = Scenario(
    (
        answer(tool_use("write_plan", plan_of(QUESTIONS[0]))),
        answer(tool_use("write_plan", plan_of(QUESTIONS[0], FOURTH))),
        answer(text(REPORT)),
    ),
    REVIEWED,
    reject_first,
)
UNDECIDED_PLAN = Scenario(
    (answer(tool_use("write_plan", plan_of(QUESTIONS[0]))),),
    REVIEWED,
    leave_undecided,
    status="partial",
    commits=0,
)
# Each of the first three has tools side by side; the second pauses in a search, the third is cut off and
# continued.
PLAIN: Sequence[Script] = (
    (
        answer(
            thinking("Look first."),
            tool_use("read_research", {"path": "tea.md"}),
            tool_use("list_research", {}),
        ),
        answer(tool_use("search_research", {"query": "honey"}), tool_use("read_research", {})),
        answer(text(REPORT)),
    ),
    (
        answer(pending_web_search("tea"), stop_reason="pause_turn"),
        answer(web_search_result(FOUND), tool_use("read_research", {"path": "bees.md"})),
        answer(text(REPORT)),
    ),
    (
        answer(web_search("tea", FOUND), tool_use("read_research", {"path": "tea.md"})),
        answer(text(REPORT[:20]), stop_reason="max_tokens"),
        answer(text(REPORT[20:])),
    ),
    CORRECTED,
)
SCENARIOS: Sequence[Scenario] = (
    *map(Scenario, PLAIN),
    DEEP_RUN,
    APPROVED_PLAN,
    REJECTED_PLAN,
    UNDECIDED_PLAN,
)
