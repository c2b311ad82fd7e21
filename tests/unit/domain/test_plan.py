"""A plan as Markdown, and what people do to it."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.plan import (
    MAX_ITEMS,
    MAX_PLAN_CHARS,
    MAX_QUESTIONS,
    MAX_TEXT,
    MAX_TOOL,
    Plan,
    SubQuestion,
    parse_plan,
    render_plan,
)

PLAN = Plan(
    must_know=("How many people keep bees in cities", "What they spend in a year"),
    sub_questions=(
        SubQuestion(question="How many are there?", tool="web_search", why="It sizes the market."),
        SubQuestion(question="Do boxes keep their subscribers?", tool="search_research"),
    ),
    known=("Interviews of May: price matters most",),
    would_turn=("Fewer than 10,000 keepers: PASS",),
)
RENDERED = """\
# Research plan

## What we need to know to decide

- How many people keep bees in cities
- What they spend in a year

## Questions

1. How many are there?
   - Tool: web_search
   - Why: It sizes the market.
2. Do boxes keep their subscribers?
   - Tool: search_research

## What the team already knows

- Interviews of May: price matters most

## What would change the verdict

- Fewer than 10,000 keepers: PASS
"""


def test_a_plan_reads_as_markdown() -> None:
    assert render_plan(PLAN) == RENDERED


MARKS = st.sampled_from(
    "- |* |1. |# |## Questions|**Tool:** |Tool: |Why: |---|```|`|[ ] |:|\n|\u2028|\x1c|  |é|水|a|b".split(
        "|"
    )
)
TEXT = (
    st.lists(MARKS, min_size=1, max_size=8)
    .map("".join)
    .filter(lambda text: bool(text.split()))
)  # fmt: skip
TOOL = TEXT.filter(lambda text: bool(" ".join(text.split()).strip("` "))) | st.just("")
ITEMS = st.lists(TEXT, max_size=4).map(tuple)
PLANS = st.builds(
    Plan,
    must_know=ITEMS,
    sub_questions=st.lists(
        st.builds(SubQuestion, question=TEXT, tool=TOOL, why=TEXT | st.just("")),
        min_size=1,
        max_size=MAX_QUESTIONS,
    ).map(tuple),
    known=ITEMS,
    would_turn=ITEMS,
)


@settings(max_examples=80, deadline=None)
@given(PLANS)
def test_what_was_rendered_is_read_back(plan: Plan) -> None:
    assert parse_plan(render_plan(plan)) == plan


@settings(max_examples=80, deadline=None)
@given(st.lists(MARKS | st.just("\n"), max_size=30).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidRequestError):
        plan = parse_plan(text)
        assert parse_plan(render_plan(plan)) == plan


@pytest.mark.parametrize(
    "edited",
    [
        RENDERED.replace("- ", "* ").replace("1. ", "7) ").replace("2. ", "- "),
        RENDERED.replace("\n", "\r\n"),
        RENDERED.replace("\n", "\n\n"),
        RENDERED.replace("   - Tool", "- Tool").replace("   - Why", "- **Why**"),
        RENDERED.replace("- Tool: web_search", "- **Tool:** `web_search`"),
        RENDERED.replace("## ", "#### ").replace("# Research plan\n", ""),
        RENDERED.replace("## Questions", "**Questions:**"),
        RENDERED.replace("## Questions", "Questions\n---------"),
        RENDERED.replace("would change", "would turn").replace(
            "we need to know", "has to be known"
        ),
        RENDERED.replace("## What would change the verdict", "What would turn the verdict"),
        RENDERED.replace("## What we need to know to decide", "What has to be known to decide"),
        RENDERED.replace("## Questions", "## Open questions for the run"),
        RENDERED.replace("keep bees\n", "keep bees").replace("in cities", "\n  in cities"),
        f"\ufeff```markdown\n{RENDERED}```\n",
        "\n".join(f"  {line}" for line in RENDERED.splitlines()),
    ],
)
def test_what_people_do_to_markdown_changes_no_plan(edited: str) -> None:
    assert parse_plan(edited) == PLAN


def test_sections_may_stand_in_any_order_and_be_left_out() -> None:
    text = "## What would change the verdict\n- No keepers\n\n## Questions\n- How many?"
    plan = parse_plan(text)
    assert plan.sub_questions == (SubQuestion(question="How many?"),)
    assert (plan.would_turn, plan.must_know, plan.known) == (("No keepers",), (), ())


@pytest.mark.parametrize("text", ["No, stop this.", "# Bees\n\n- How many?"])
def test_a_text_without_headings_is_no_plan(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="stands below no heading"):
        parse_plan(text)


def test_a_plan_of_an_earlier_version_without_headings_is_a_list_of_questions() -> None:
    text = "# Bees\n\nAsk this:\n\n- How many?\n- What do they pay?\n\nWho else sells?"
    plan = parse_plan(text, ignore_strays=True)
    assert [asked.question for asked in plan.sub_questions] == [
        "How many?", "What do they pay?", "Who else sells?",
    ]  # fmt: skip


def test_lines_that_go_on_belong_to_their_item() -> None:
    text = "## Questions\n1. How many\nkeepers?\n   - Why: the\n     size\n     - and growth\n"
    asked = SubQuestion(question="How many keepers?", why="the size and growth")
    assert parse_plan(text).sub_questions == (asked,)


@pytest.mark.parametrize("text", ["", "# Research plan", "## What the team already knows\n- All"])
def test_a_plan_without_a_question_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"no question\. List at least one below"):
        parse_plan(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("## Questions\n" + "- a?\n" * (MAX_QUESTIONS + 1), f"has {MAX_QUESTIONS + 1} questions"),
        ("## Questions\n- " + "a" * (MAX_TEXT + 1), f"longer than {MAX_TEXT} characters"),
        (
            f"## Questions\n- a\n  - Tool: {'b' * (MAX_TOOL + 1)}",
            f"longer than {MAX_TOOL} characters",
        ),
        ("- a\n" + " " * MAX_PLAN_CHARS, "longer than 40,000 characters"),
        ("## Questions\n- a\n## Already known\n" + "- b\n" * (MAX_ITEMS + 1), "more than 12 items"),
    ],
)
def test_sizes_are_bounded(text: str, sentence: str) -> None:
    with pytest.raises(InvalidRequestError, match=sentence):
        parse_plan(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{RENDERED}\n## Out of scope\n- Honey\n", "'Out of scope' is no heading of a plan."),
        (f"Leave out honey.\n\n{RENDERED}", "'Leave out honey.' stands above the first heading."),
    ],
)
def test_text_that_belongs_to_no_section_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_plan(text)
    assert refused.value.message == sentence
    assert "'Questions', 'What the team already knows'" in refused.value.hint


def test_a_run_may_research_fewer_questions() -> None:
    with pytest.raises(InvalidRequestError, match=r"2 questions, and this .* 1 question at most"):
        parse_plan(RENDERED, most=1)
