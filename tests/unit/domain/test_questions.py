"""Which question of a plan a tool call looks into."""

import pytest

from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import Plan, SubQuestion
from idea_explorer.domain.questions import Questions

PLAN = Plan(
    sub_questions=(
        SubQuestion(question="How many people keep bees in large US cities?"),
        SubQuestion(question="What do rival bee boxes cost in US cities?"),
        SubQuestion(question="Which permits do beekeepers need?"),
    )
)


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({"query": "number of people who keep bees large cities"}, 1),
        ({"query": "rival bee box cost"}, 2),
        ({"query": "beekeeper permit rules Berlin", "limit": 5}, 3),
        ({"query": "US cities"}, None),  # two questions have these words
        ({"query": "permits"}, None),  # one word is in many texts
        ({"query": "submarine cables"}, None),
        ({"path": "market/2024-06.md"}, None),
        ({}, None),
    ],
)
def test_a_call_looks_into_the_question_whose_words_it_has(
    given: JsonObject, number: int | None
) -> None:
    assert Questions(PLAN).find(given) == number


def test_words_that_other_questions_have_too_do_not_name_a_question() -> None:
    questions = (
        "How many people keep bees in large US cities?",
        "What do competitors charge for a beekeeping subscription box?",
        "Which laws limit beekeeping in cities?",
    )
    plan = Plan(sub_questions=tuple(SubQuestion(question=question) for question in questions))
    asked = Questions(plan)

    assert asked.find({"query": "urban beekeeping statistics number of keepers US cities"}) is None
    assert asked.find({"query": "beekeeping laws in European cities"}) == 3
