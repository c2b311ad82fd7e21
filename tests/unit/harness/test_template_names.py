"""References to functions that are deployed with an alias, and properties that may be absent."""

from typing import Any

import pytest

from tests.e2e.harness import template as module
from tests.e2e.harness.iam import Need, Policy, needs
from tests.e2e.harness.template import Resolver, names_of_function

ARN = "arn:aws:lambda:us-east-1:123456789012:function:stack-notify"
LIVE = {
    "Globals": {"Function": {}},
    "Parameters": {},
    "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
    "Resources": {"NotifyFunction": {"Properties": {"AutoPublishAlias": "live"}}},
}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(module, "template", lambda: LIVE)
    return names_of_function("NotifyFunction", "stack-notify")


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"Ref": "NotifyFunction"}, "stack-notify"),
        ({"Fn::GetAtt": ["NotifyFunction", "Arn"]}, ARN),
        ({"Ref": "NotifyFunction.Alias"}, f"{ARN}:live"),
        ({"Ref": "NotifyFunctionAliaslive"}, f"{ARN}:live"),
        ({"Fn::Sub": "${NotifyFunction.Alias}"}, f"{ARN}:live"),
        ({"Fn::Sub": "${NotifyFunction.Arn}:*"}, f"{ARN}:*"),
    ],
)
def test_an_alias_is_the_function_with_its_name_behind(
    names: dict[str, Any], reference: Any, value: str
) -> None:
    assert Resolver(names).resolve(reference) == value


def test_what_has_no_value_is_left_out(names: dict[str, Any]) -> None:
    nothing = {"Fn::If": ["Never", 5, {"Ref": "AWS::NoValue"}]}

    resolved = Resolver(names).resolve({"Reserved": nothing, "List": [1, nothing]})

    assert resolved == {"List": [1]}


def test_permission_for_a_function_does_not_cover_its_alias() -> None:
    plain = Policy([{"actions": ["lambda:InvokeFunction"], "resources": [ARN]}])
    any_version = Policy([{"actions": ["lambda:InvokeFunction"], "resources": [f"{ARN}:*"]}])
    (by_arn,) = needs("lambda", "Invoke", {"FunctionName": f"{ARN}:live"})
    (by_qualifier,) = needs(
        "lambda", "Invoke", {"FunctionName": "stack-notify", "Qualifier": "live"}
    )

    assert by_arn == by_qualifier == Need("lambda:InvokeFunction", f"{ARN}:live")
    assert not plain.allows(by_arn)
    assert any_version.allows(by_arn)
