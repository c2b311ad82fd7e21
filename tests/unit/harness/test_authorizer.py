"""Results of an authorizer as API Gateway keeps and applies them."""

from typing import Any

import pytest

from tests.e2e.harness.authorizer import Authorizer
from tests.e2e.harness.functions import refused
from tests.e2e.harness.gateway import method_arn
from tests.e2e.harness.runtime import Answer, failed

READ, WRITE = method_arn("GET", "/explorations"), method_arn("POST", "/explorations")
DECLARED = {"Identity": {"Header": "Authorization", "ReauthorizeEvery": 60}}


class Function:
    """The authorizer's function, with its answers to come."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answers = list(answers)

    def __call__(self, event: dict[str, Any]) -> Answer:
        self.asked.append(event)
        return self._answers.pop(0)


def policy(effect: str, *resources: str, context: Any = None) -> Answer:
    statement = {"Effect": effect, "Action": "execute-api:Invoke", "Resource": list(resources)}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    return Answer({"principalId": "ada", "policyDocument": document, "context": context})


def test_a_result_is_kept_by_token_until_its_time_is_over() -> None:
    now = [0.0]
    function = Function(*[policy("Allow", "arn:aws:execute-api:*", context={"n": 1})] * 3)
    authorizer = Authorizer(function, DECLARED, lambda: now[0])

    for token in ("one", "one", "two"):
        assert authorizer.decide(token, READ) == {
            "n": "1",
            "principalId": "ada",
            "integrationLatency": 0,
        }
    assert [event["authorizationToken"] for event in function.asked] == ["one", "two"]
    now[0] = 60
    authorizer.decide("one", READ)
    assert len(function.asked) == 3


def test_a_policy_for_the_first_route_alone_denies_the_next() -> None:
    function = Function(policy("Allow", READ))
    authorizer = Authorizer(function, DECLARED)

    assert isinstance(authorizer.decide("token", READ), dict)
    assert authorizer.decide("token", WRITE) == "ACCESS_DENIED"
    assert len(function.asked) == 1


def test_a_denial_is_kept_as_well() -> None:
    function = Function(policy("Deny", "*"))
    authorizer = Authorizer(function, DECLARED)

    assert [authorizer.decide("token", READ) for _ in range(2)] == ["ACCESS_DENIED"] * 2
    assert len(function.asked) == 1


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (failed("UnauthorizedError", "Unauthorized"), "UNAUTHORIZED"),
        (failed("KeyError", "'token'"), "AUTHORIZER_FAILURE"),
        (refused("TooManyRequestsException", "Rate Exceeded."), "AUTHORIZER_FAILURE"),
        (Answer({"principalId": "ada"}), "AUTHORIZER_FAILURE"),
        (policy("Allow", "*", context={"owner": ["ada"]}), "AUTHORIZER_FAILURE"),
    ],
)
def test_an_error_is_not_kept(answer: Answer, refusal: str) -> None:
    function = Function(answer, policy("Allow", "*"))
    authorizer = Authorizer(function, DECLARED)

    assert authorizer.decide("token", READ) == refusal
    assert isinstance(authorizer.decide("token", READ), dict)


def test_without_a_token_of_the_right_form_the_function_is_not_asked() -> None:
    function = Function()
    declared = {"Identity": {"ValidationExpression": "Bearer .+"}}
    authorizer = Authorizer(function, declared)

    assert [authorizer.decide(token, READ) for token in (None, "", "Basic x")] == [
        "UNAUTHORIZED"
    ] * 3
    assert function.asked == []
