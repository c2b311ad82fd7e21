"""write_plan: what a research run will look into, before it does."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from idea_explorer.agent.toolset import Arguments, Rule, Tool, tool
from idea_explorer.domain.approvals import Proposal, content_hash
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.plan import (
    MAX_ITEMS,
    MAX_QUESTIONS,
    MAX_TEXT,
    MAX_TOOL,
    PLAN_PATH,
    Plan,
    render_plan,
)
from idea_explorer.domain.text import is_blank, pluralize
from idea_explorer.domain.tools import ToolResult


def _with_words(text: str) -> str:
    if is_blank(text):
        raise ValueError("must not be blank")
    return text


Item = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(_with_words)]
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS)]
SomeItems = Annotated[Items, Field(min_length=1)]


class PlannedQuestion(Arguments):
    question: Item
    tool: Annotated[
        str,
        Field(min_length=1, max_length=MAX_TOOL),
        AfterValidator(_with_words),
    ]
    why: Annotated[Item, Field(description="What the answer decides")]


class WritePlan(Arguments):
    must_know: Annotated[
        SomeItems,
        Field(description="What has to be known to decide"),
        Rule(f"a list of 1 to {MAX_ITEMS} texts: what has to be known to decide"),
    ]
    sub_questions: Annotated[
        list[PlannedQuestion],
        Field(min_length=1, max_length=MAX_QUESTIONS),
        Field(description="The one that decides most first"),
        Rule(f"a list of 1 to {MAX_QUESTIONS} objects with question, tool and why"),
    ]
    known: Annotated[
        Items,
        Field(description="What the team's own research already answers, with its document"),
        Rule(f"a list of at most {MAX_ITEMS} texts; [] where the team has researched nothing"),
    ]
    would_turn: Annotated[
        SomeItems,
        Field(description="Findings that would change the verdict"),
        Rule(f"a list of 1 to {MAX_ITEMS} texts: findings that would change the verdict"),
    ]


def plan_tool(*, most: int = MAX_QUESTIONS, is_reviewed: bool = False) -> Tool[WritePlan]:
    """`most` is how many questions a plan may ask. A plan that is reviewed waits for a person."""
    return Tool.of(_PlanCalls(most, is_reviewed).write_plan, most=most)


@dataclass(frozen=True, slots=True)
class _PlanCalls:
    most: int
    is_reviewed: bool

    @tool(
        example={
            "must_know": ["Whether city beekeepers would pay 25 a month"],
            "sub_questions": [
                {
                    "question": "How many people keep bees in large US cities?",
                    "tool": "web_search",
                    "why": "It sizes the market.",
                }
            ],
            "known": ["Retention: 2024-06-boxes/research.md"],
            "would_turn": ["Fewer than 10,000 keepers: PASS"],
        },
        reads_only=False,
    )
    def write_plan(self, arguments: WritePlan) -> ToolResult:
        """Write the plan of this research, with at most $most questions, before any other tool is used. A
        person may change or reject it; the result has the plan to follow. NOT for the report."""
        if len(arguments.sub_questions) > self.most:
            message = f"A plan of this exploration has at most {pluralize(self.most, 'question')}."
            raise ToolError("invalid_arguments", message)
        plan = Plan.model_validate(arguments.model_dump())
        count = pluralize(len(plan.sub_questions), "question")
        if not self.is_reviewed:
            fields = {"decision": "accept", "message": "Follow this plan now."}
            return ToolResult.success({**fields}, f"Plan with {count}")
        content = render_plan(plan)
        return ToolResult.success(
            {"decision": "pending"},
            f"Plan with {count}",
            proposal=Proposal(
                path=PLAN_PATH,
                kind="plan",
                content=content,
                diff="",
                base_sha=None,
                content_hash=content_hash(content),
                description=f"Plan with {count}",
            ),
        )
