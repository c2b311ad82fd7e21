"""A run that plans before it researches, and the person who may review the plan."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.agent.plans import accepted_plan
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.event_json import dump_event
from idea_explorer.domain.events import (
    ApprovalRequested,
    PlanAccepted,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.plan import Plan, count_questions
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import ModelCallStarted
from idea_explorer.observability.log_sink import LogSink
from idea_explorer.ports import Model, ModelAnswer
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.approvals.wait import expire
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.outcome import NOT_PLANNED
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, calls, raw, says, scripted, tool_results

PLAN: JsonObject = {
    "must_know": ["Whether people pay"],
    "sub_questions": [{"question": "Who pays?", "tool": "web_search", "why": "The market."}],
    "known": [],
    "would_turn": ["Nobody pays"],
}
OTHER: JsonObject = {**PLAN, "must_know": ["What it costs"]}
EDITED = "## Questions\n1. Who pays twice?\n   - Tool: search_research\n"
SEARCH: tuple[str, JsonObject] = ("search_research", {"query": "tea"})
WRITE = calls(("write_plan", PLAN))
REPORT = says("# Report")


def write_again(plan: JsonObject, number: int) -> ModelAnswer:
    """Another call, with an id of its own, as the API gives it."""
    block: Block = {"type": "tool_use", "id": f"call_{number}", "name": "write_plan", "input": plan}
    return raw(block, stop_reason="tool_use")


class Planning:
    """A folder with one document, and a model that is asked to plan."""

    def __init__(self, root: Path, model: Model, *, depth: str = "standard", review: bool = False):
        self.fields: dict[str, Any] = {"depth": depth, "review_plan": review}
        root.mkdir(exist_ok=True)
        most = count_questions(ExploreRequest(idea="Tea", depth=depth).depth_limits)
        plan = plan_tool(most=most, is_reviewed=review)
        tools = research_tools(Folder(root), "web_search_20250305", plan=plan)
        self.bench = Bench(root, model, toolset=tools)
        self.bench.write("tea/research.md", "# Tea rooms\n\nA tea room in Leeds.")

    def explore(self) -> Exploration:
        return self.bench.explore(**self.fields)

    def go_on(self, exploration: Exploration) -> Exploration:
        return explore(exploration.id, exploration.run.number, self.bench.deps)

    def asked(self, exploration: Exploration) -> Sequence[Approval]:
        return self.bench.deps.approvals.approvals(exploration.id)

    def decide(self, exploration: Exploration, **fields: Any) -> Exploration:
        pending = next(a for a in self.asked(exploration) if a.decision is None)
        request = DecisionRequest.model_validate(fields)
        decide(exploration.id, pending.id, request, "tester", self.bench.deps)
        return self.go_on(exploration)

    def plan(self, exploration: Exploration) -> Plan | None:
        return accepted_plan(self.bench.entries(exploration))


def test_the_plan_comes_first_and_is_shown(tmp_path: Path) -> None:
    model = scripted([WRITE, calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model)
    done = planning.explore()
    assert (done.run.outcome, done.publication.notice) == ("completed", None)
    assert planning.plan(done) == Plan.model_validate(PLAN)
    (event,) = planning.bench.seen.of(PlanAccepted)
    assert event == PlanAccepted(plan=Plan.model_validate(PLAN))
    assert "Plan first." in str(model.requests[0].messages[0])
    LogSink(planning.bench.log, done).emit(event)
    (line,) = planning.bench.log.of("plan_accepted")
    assert (line["questions"], line["tools"], line["edited"]) == (1, {"web_search": 1}, False)


def test_a_call_says_which_question_of_the_plan_it_looks_into(tmp_path: Path) -> None:
    asked: list[JsonValue] = [
        {"question": question, "tool": "search_research", "why": "It decides."}
        for question in ("Who pays for tea?", "What do rents in Leeds cost?")
    ]
    about: JsonObject = {"query": "rents in Leeds"}
    first = calls(("search_research", about))
    planned = write_again({**PLAN, "sub_questions": asked}, 1)
    planning = Planning(tmp_path, scripted([first, planned, first, REPORT]))
    planning.explore()
    seen = planning.bench.seen.of(ToolCallStart)
    started = [event for event in seen if isinstance(event, ToolCallStart)]
    assert [event.question for event in started] == [None, None, 2]
    assert '"question":2' in dump_event(started[-1])


def test_a_quick_run_has_no_plan(tmp_path: Path) -> None:
    model = scripted([calls(SEARCH), REPORT])
    done = Bench(tmp_path, model).explore(depth="quick")
    assert (done.run.outcome, done.publication.notice) == ("completed", None)
    assert "Plan first." not in str(model.requests[0].messages[0])


def test_nothing_else_runs_before_the_plan(tmp_path: Path) -> None:
    model = scripted([calls(SEARCH, ("write_plan", PLAN)), calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model)
    done = planning.explore()
    refused, accepted = tool_results(model.requests[1])
    assert "plan_first" in str(refused["content"])
    assert '"decision":"accept"' in str(accepted["content"])
    assert "Tea rooms" in str(tool_results(model.requests[2])[0]["content"])
    assert done.publication.notice is None


def test_a_model_that_will_not_plan_works_without_and_the_result_says_so(tmp_path: Path) -> None:
    model = scripted([calls(SEARCH), calls(SEARCH), calls(SEARCH), REPORT])
    done = Planning(tmp_path, model).explore()
    contents = [str(tool_results(request)[0]["content"]) for request in model.requests[1:]]
    assert ["plan_first" in content for content in contents] == [True, True, False]
    assert (done.run.outcome, done.publication.notice) == ("completed", NOT_PLANNED)


def test_a_bad_plan_is_answered_with_an_example(tmp_path: Path) -> None:
    bad: JsonObject = {**PLAN, "sub_questions": [{"question": "Who?"}]}
    model = scripted([calls(("write_plan", bad)), WRITE, REPORT])
    planning = Planning(tmp_path, model)
    done = planning.explore()
    answer = str(tool_results(model.requests[1])[0]["content"])
    assert "write_plan requires 'sub_questions' parameter" in answer
    assert "Example: " in answer
    assert planning.plan(done) == Plan.model_validate(PLAN)


def test_one_plan_is_accepted_and_no_other(tmp_path: Path) -> None:
    both = calls(("write_plan", PLAN), ("write_plan", OTHER))
    model = scripted([both, calls(("write_plan", OTHER)), REPORT])
    planning = Planning(tmp_path, model)
    done = planning.explore()
    assert planning.plan(done) == Plan.model_validate(PLAN)
    assert len(planning.bench.seen.of(PlanAccepted)) == 1
    assert len(planning.bench.seen.of(ToolCallError)) == 2


def test_a_deep_plan_has_a_question_for_each_branch_at_most(tmp_path: Path) -> None:
    question: JsonObject = {"question": "Who?", "tool": "web_search", "why": "It matters."}
    five: JsonObject = {**PLAN, "sub_questions": [question] * 5}
    model = scripted([calls(("write_plan", five)), WRITE])
    planning = Planning(tmp_path, model, depth="deep", review=True)
    waiting = planning.explore()
    assert "at most 4 questions" in str(tool_results(model.requests[1])[0]["content"])
    with pytest.raises(InvalidRequestError, match="5 questions"):
        planning.decide(waiting, decision="approve", content="## Questions\n" + "- Who?\n" * 5)


def test_a_reviewed_plan_waits_and_costs_nothing_meanwhile(tmp_path: Path) -> None:
    model = scripted([WRITE, calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model, review=True)
    waiting = planning.explore()
    assert waiting.status == "awaiting_approval"
    (approval,) = planning.asked(waiting)
    assert (approval.proposal.kind, approval.proposal.path) == ("plan", "plan.md")
    assert "1. Who pays?\n   - Tool: web_search" in approval.proposal.content
    (asked,) = planning.bench.seen.of(ApprovalRequested)
    assert isinstance(asked, ApprovalRequested)
    assert asked.description == "Plan with 1 question"
    planning.bench.clock.pass_time(3 * 24 * 3_600)
    assert planning.go_on(waiting).status == "awaiting_approval"
    assert len(model.requests) == 1
    done = planning.decide(waiting, decision="approve")
    assert done.run.outcome == "completed"
    assert planning.plan(done) == Plan.model_validate(PLAN)
    (event,) = planning.bench.seen.of(PlanAccepted)
    assert event == PlanAccepted(plan=Plan.model_validate(PLAN))
    assert replay(planning.bench.entries(done)).divergence == ""


def test_the_model_follows_the_plan_as_the_person_edited_it(tmp_path: Path) -> None:
    model = scripted([WRITE, REPORT])
    planning = Planning(tmp_path, model, review=True)
    done = planning.decide(planning.explore(), decision="approve", content=EDITED)
    plan = planning.plan(done)
    assert plan is not None
    assert [asked.question for asked in plan.sub_questions] == ["Who pays twice?"]
    assert "Who pays twice?" in str(tool_results(model.requests[1])[0]["content"])
    (event,) = planning.bench.seen.of(PlanAccepted)
    assert event == PlanAccepted(plan=plan, edited=True)


def test_an_edit_that_is_no_plan_is_refused_and_can_be_corrected(tmp_path: Path) -> None:
    planning = Planning(tmp_path, scripted([WRITE, REPORT]), review=True)
    waiting = planning.explore()
    with pytest.raises(InvalidRequestError, match="The plan has no question") as refused:
        planning.decide(waiting, decision="approve", content="# Later")
    assert "content" in refused.value.fields
    assert planning.decide(waiting, decision="approve", content=EDITED).run.outcome == "completed"


@pytest.mark.parametrize("more", ["\n## Out of scope\n- Honey\n", "\n### Later\n"])
def test_an_edit_that_was_accepted_before_is_followed_though_it_would_be_refused_now(
    tmp_path: Path, more: str
) -> None:
    planning = Planning(tmp_path, scripted([WRITE, REPORT]), review=True)
    waiting = planning.explore()
    with pytest.raises(InvalidRequestError, match="is no heading of a plan"):
        planning.decide(waiting, decision="approve", content=EDITED + more)
    (asked,) = planning.asked(waiting)
    accepted = {"decision": "approve", "content": f"Mine:\n{EDITED}{more}"}
    planning.bench.deps.approvals.decide(asked.model_copy(update=accepted))
    done = planning.go_on(waiting)
    assert done.run.outcome == "completed"
    plan = planning.plan(done)
    assert plan is not None
    assert plan.sub_questions[0].question == "Who pays twice?"
    again = DecisionRequest.model_validate(accepted)
    decide(done.id, asked.id, again, "tester", planning.bench.deps)  # repeated: it is stored


def test_after_a_rejection_the_model_writes_another_plan(tmp_path: Path) -> None:
    model = scripted([WRITE, write_again(OTHER, 2), write_again(PLAN, 3), calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model, review=True)
    waiting = planning.decide(planning.explore(), decision="reject", reason="Ask for the cost.")
    assert "The plan was rejected: Ask for the cost." in str(tool_results(model.requests[1]))
    assert waiting.status == "awaiting_approval"
    waiting = planning.decide(waiting, decision="reject", reason="Ask for the rent.")
    assert waiting.status == "awaiting_approval"
    done = planning.decide(waiting, decision="approve", content=EDITED)
    assert (done.run.outcome, done.publication.notice) == ("completed", None)
    assert len(planning.asked(done)) == 3


def test_without_an_accepted_plan_no_tool_of_a_reviewed_run_runs(tmp_path: Path) -> None:
    searches = [calls(("search_research", {"query": f"tea {n}"})) for n in range(9)]
    model = scripted([*searches, REPORT])
    planning = Planning(tmp_path, model, review=True)
    done = planning.explore()
    ran = [result for entry in planning.bench.entries(done) for result in _results(entry)]
    assert len(ran) == 9
    assert {result.record.error_type for result in ran} == {"plan_first"}
    assert (done.run.outcome, done.run.stats.stop_reason) == ("partial", "plan_not_accepted")


def test_a_run_whose_plans_were_all_rejected_publishes_nothing_and_can_be_resumed(
    tmp_path: Path,
) -> None:
    model = scripted([WRITE, REPORT, write_again(OTHER, 2), REPORT])
    planning = Planning(tmp_path, model, review=True)
    planning.fields["max_steps"] = 2
    reached = planning.decide(planning.explore(), decision="reject", reason="No.")
    ended = planning.bench.publish(reached)
    assert (ended.status, ended.publication.document) == ("partial", None)
    assert ended.run.receipt is not None
    assert ended.run.receipt.message.startswith("No plan was accepted, so nothing was researched")
    assert (ended.run.receipt.has_partial_text, bool(ended.run.receipt.resume)) == (True, True)
    assert planning.bench.store.load_report(ended.id)
    assert replay(planning.bench.entries(ended)).divergence == ""
    waiting = planning.bench.resume(ended)
    assert waiting.status == "awaiting_approval"
    done = planning.bench.publish(planning.decide(waiting, decision="approve"))
    assert done.status == "completed"
    assert done.publication.document


def _results(entry: Any) -> Sequence[Any]:
    return getattr(entry, "results", ())


def test_nothing_is_searched_before_a_person_has_accepted_the_plan(tmp_path: Path) -> None:
    model = scripted([WRITE, write_again(OTHER, 2), calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model, review=True)
    waiting = planning.decide(planning.explore(), decision="reject", reason="No.")
    done = planning.decide(waiting, decision="approve")
    names = [[tool.get("name") for tool in request.tools] for request in model.requests]
    assert ["web_search" in offered for offered in names] == [False, False, True, True]
    assert ["write_plan" in offered for offered in names] == [True] * 4
    started = [e for e in planning.bench.entries(done) if isinstance(e, ModelCallStarted)]
    assert [call.reserved.searches > 0 for call in started[:3]] == [False, False, True]
    assert replay(planning.bench.entries(done)).divergence == ""


def test_a_plan_that_nobody_decides_on_ends_the_run_and_a_resume_plans_again(
    tmp_path: Path,
) -> None:
    model = scripted([WRITE, write_again(OTHER, 2), REPORT])
    planning = Planning(tmp_path, model, review=True)
    waiting = planning.explore()
    expire(waiting.id, waiting.run.number, planning.bench.deps)
    ended = planning.bench.publish(planning.go_on(waiting))
    assert (ended.status, ended.run.stats.stop_reason) == ("partial", "approval_expired")
    assert ended.run.stats.steps == 1
    assert ended.publication.document is None
    assert ended.run.receipt is not None
    assert ended.run.receipt.message == "Nobody decided in time; the work so far is kept."
    resumed = planning.bench.resume(ended)
    assert resumed.status == "awaiting_approval"
    assert planning.decide(resumed, decision="approve").run.outcome == "completed"


def test_a_waiting_plan_survives_the_process(tmp_path: Path) -> None:
    waiting = Planning(tmp_path, scripted([WRITE]), review=True).explore()
    model = scripted([calls(SEARCH), REPORT])
    other = Planning(tmp_path, model, review=True)
    other.bench.clock.pass_time(60)
    done = other.decide(waiting, decision="approve", content=EDITED)
    assert done.run.outcome == "completed"
    assert "Who pays twice?" in str(tool_results(model.requests[0]))
    assert done.run.stats.steps == 3


class Killed(BaseException):
    """The end of a process, which nothing catches."""


def test_a_worker_killed_between_plan_and_question_asks_once(tmp_path: Path) -> None:
    planning = Planning(tmp_path, scripted([WRITE, REPORT]), review=True)
    queued = planning.bench.submit(**planning.fields)
    approvals = planning.bench.deps.approvals
    ask = approvals.request_approval

    def die(approval: Approval) -> None:
        ask(approval)
        raise Killed

    approvals.request_approval = die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        planning.go_on(queued)
    approvals.request_approval = ask  # type: ignore[method-assign]
    waiting = planning.go_on(queued)
    assert (waiting.status, len(planning.asked(waiting))) == ("awaiting_approval", 1)
    assert planning.decide(waiting, decision="approve").run.outcome == "completed"
    assert waiting.run.stats.steps == 1


def test_the_offline_model_plans_too(tmp_path: Path) -> None:
    planning = Planning(tmp_path, OfflineModel(), review=True)
    waiting = planning.explore()
    waiting = planning.decide(waiting, decision="reject", reason="What about the rent?")
    planned = planning.asked(waiting)[1].proposal.content
    assert "1. What about the rent?: what does" in planned
    done = planning.decide(waiting, decision="approve")
    assert done.run.outcome == "completed"
    assert [record.name for record in done.run.stats.tool_calls] == [
        "write_plan", "write_plan", "list_research", "search_research", "read_research",
    ]  # fmt: skip
    assert isinstance(planning.bench.engine.model, OfflineModel)


def test_a_rejection_without_a_reason_is_no_question_of_an_offline_plan(tmp_path: Path) -> None:
    planning = Planning(tmp_path, OfflineModel(), review=True)
    waiting = planning.decide(planning.explore(), decision="reject")
    first, second = (approval.proposal.content for approval in planning.asked(waiting))
    assert first == second


def test_a_scripted_run_is_replayed(tmp_path: Path) -> None:
    model: ScriptedModel = scripted([calls(SEARCH), WRITE, calls(SEARCH), REPORT])
    planning = Planning(tmp_path, model)
    assert replay(planning.bench.entries(planning.explore())).divergence == ""
