"""A deep run for tests: a model that plans, answers each question in its own way, and writes the report."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.branches import BranchFindings
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import branch_id
from idea_explorer.domain.json import JsonObject, document_text
from idea_explorer.domain.transcript import BranchesFinished
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from idea_explorer.usecases.opening import QUESTION
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench
from tests.fakes.models import Reply, ScriptedModel, calls, judged, says

QUESTIONS = ("Who drinks tea?", "What does tea cost?", "Who sells tea?", "What may stop it?")
USAGE = Usage(input_tokens=1_000, output_tokens=100)
REPORT = "# A tea room\n\nTea sells. [Tea](../tea.md)\n\n## Verdict\n\n**Verdict: PASS**"


def plan_of(*questions: str) -> JsonObject:
    return {
        "must_know": ["Whether it pays"],
        "sub_questions": [
            {"question": question, "tool": "web_search", "why": "It decides."}
            for question in questions
        ],
        "known": [],
        "would_turn": ["Nobody drinks tea"],
    }


def found(text: str) -> Reply:
    return says(f"# Findings\n\n- {text} [Tea](../tea.md)\n\n## Not found\n\nNothing.", usage=USAGE)


@dataclass
class DeepModel:
    """Answers by what it is asked: the question of a branch, or the idea. Counts the calls of each. Finds
    every sentence supported that it is asked to verify."""

    questions: Sequence[str] = QUESTIONS
    answers: dict[str, Callable[[int], Reply]] = field(default_factory=dict)
    report: Callable[[ModelRequest], Reply] = lambda _: says(REPORT, usage=USAGE)
    plan_takes: Callable[[], None] = lambda: None
    calls: dict[str, int] = field(default_factory=dict)
    requests: list[ModelRequest] = field(default_factory=list)
    verifications: list[ModelRequest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        if request.schema is not None:
            self.verifications.append(request)
            return judged(request, usage=USAGE)
        question = question_of(request)
        with self._lock:
            number = self.calls.get(question, 0)
            self.calls[question] = number + 1
            self.requests.append(request)
        reply = self._reply(question, number, request)
        return ScriptedModel([reply]).answer(request, watcher, deadline)

    def _reply(self, question: str, number: int, request: ModelRequest) -> Reply:
        if question in self.answers:
            return self.answers[question](number)
        if question:
            read = calls(("read_research", {"path": "tea.md"}), usage=USAGE)
            return found(question) if number else read
        if number == 0:
            self.plan_takes()
            return calls(("write_plan", plan_of(*self.questions)), usage=USAGE)
        return self.report(request)


def question_of(request: ModelRequest) -> str:
    """The question that a branch was asked; "" in a run that is none."""
    first = request.messages[0]["content"]
    assert isinstance(first, list)
    blocks = [block for block in first if isinstance(block, dict)]
    return next((document_text(b) for b in blocks if b.get("title") == QUESTION), "")


class DeepBench(Bench):
    def __init__(self, root: Path, model: DeepModel, clock: ManualClock | None = None) -> None:
        research = research_tools(Folder(root), "web_search_20250305")
        tools = [plan_tool(most=len(model.questions)), *research.tools.values()]
        toolset = Toolset(tools, list(research.server_tools.values()))
        super().__init__(root, model, toolset=toolset, clock=clock)
        self.deep = model
        self.write("tea.md", "# Tea\n\nPeople drink tea.\n")

    def start(self, **fields: Any) -> Exploration:
        """Up to where the run waits for its branches."""
        return self.explore(depth="deep", **fields)

    def enter(self, exploration: Exploration, *, branched: bool = False) -> Exploration:
        run = exploration.run.number
        return explore(exploration.id, run, self.deps, branched=branched)

    def explore_all(self, **fields: Any) -> Exploration:
        """The run with its branches, as this machine runs it."""
        queued = self.submit(depth="deep", **fields)
        return explore_with_branches(queued.id, queued.run.number, self.deps, explore)

    def branch(self, exploration: Exploration, number: int) -> Exploration:
        return self.store.load(branch_id(exploration.id, number))

    def findings(self, exploration: Exploration) -> list[BranchFindings]:
        entries = [e for e in self.entries(exploration) if isinstance(e, BranchesFinished)]
        return [found for entry in entries for found in entry.findings]
