"""The depth of a request, and what it sets."""

import pytest
from pydantic import ValidationError

from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain.depths import DEPTHS
from idea_explorer.domain.request import ExploreRequest


@pytest.mark.parametrize("name", DEPTHS)
def test_a_depth_sets_steps_and_deadline(name: str) -> None:
    request = ExploreRequest(idea="Tea", depth=name)
    depth = DEPTHS[name]
    assert (request.steps, request.seconds) == (depth.steps, depth.deadline_seconds)


def test_what_the_request_says_itself_wins() -> None:
    request = ExploreRequest(idea="Tea", depth="deep", max_steps=3, deadline_seconds=90)
    assert (request.steps, request.seconds) == (3, 90)


def test_toolsets_without_depths_have_their_own_limits() -> None:
    request = ExploreRequest(idea="Tea", toolset="assistant")
    assert (request.depth_limits, request.steps, request.seconds) == (None, 10, 120)


def test_a_plan_is_reviewed_only_where_there_is_one() -> None:
    with pytest.raises(ValidationError, match="use the depth standard or deep"):
        ExploreRequest.model_validate_json('{"idea": "Tea", "review_plan": true}')


def test_an_unknown_depth_is_refused() -> None:
    with pytest.raises(ValidationError, match="depth"):
        ExploreRequest.model_validate_json('{"idea": "Tea", "depth": "bottomless"}')


def test_a_depth_sets_effort_and_searches_unless_the_request_does() -> None:
    deep = ExploreRequest(idea="Tea", depth="deep")
    assert (deep.wanted_effort, deep.searches) == ("high", DEPTHS["deep"].searches)
    assert ExploreRequest(idea="Tea", depth="deep", effort="low").wanted_effort == "low"
    assert ExploreRequest(idea="Tea").wanted_effort is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, ["You have 5 steps, and", "Aim for 1,000 to 1,500 words"]),
        ({"depth": "standard"}, ["You have 10 steps, and", "Aim for 1,500 to 2,200 words"]),
        ({"depth": "deep"}, ["You have 10 steps, and", "Aim for 2,500 to 3,500 words"]),
        ({"depth": "standard", "max_steps": 1}, ["You have 1 step, and", "1,500 to 2,200 words"]),
        ({"toolset": "discover", "max_steps": 7}, ["You have 7 steps, and"]),
    ],
)
def test_the_prompt_tells_the_steps_and_the_length(
    fields: dict[str, object], told: list[str]
) -> None:
    asked = system_prompt(ExploreRequest.model_validate({"idea": "Tea", **fields}))
    assert all(sentence in asked for sentence in told)
    assert "{{" not in asked
