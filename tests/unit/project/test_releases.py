"""What a release does: new versions behind the aliases, shifted gradually, and rolled back on alarms.

Read from the template as CloudFormation gets it, because SAM makes the versions and the deployments.
"""

import re
from functools import cache
from typing import Any

import pytest

from tests.e2e.harness.template import properties, resources_of, template
from tests.fakes.translated import translate

RELEASED = ["ApiFunction", "ExploreFunction"]


@cache
def resources() -> dict[str, Any]:
    found: dict[str, Any] = translate()["Resources"]
    return found


def version_of(function: str, translated: dict[str, Any]) -> str:
    names: list[str] = [*translated["Resources"]]
    (found,) = [name for name in names if name.startswith(f"{function}Version")]
    return found


def references(value: Any) -> set[str]:
    """The logical ids that a value refers to."""
    match value:
        case {"Ref": str(name), **rest} if not rest:
            return {name}
        case {"Fn::GetAtt": [str(name), *_], **rest} if not rest:
            return {name}
        case {"Fn::Sub": text, **rest} if not rest:
            texts = text if isinstance(text, list) else [text, {}]
            named = re.findall(r"\$\{([A-Za-z0-9]+)[.}]", texts[0])
            return set(named) | references(texts[1])
        case dict():
            return set().union(*map(references, value.values()))
        case list():
            return set().union(*map(references, value))
        case _:
            return set()


def test_aliases_alarms_and_workflow_do_not_depend_on_each_other_in_a_circle() -> None:
    """CloudFormation refuses a template with such a circle when it is deployed, not before."""
    needs = {
        name: references(declared) | set(declared.get("DependsOn", []))
        for name, declared in resources().items()
    }
    done: set[str] = set()
    while ready := {
        n for n, of in needs.items() if n not in done and not (of & needs.keys()) - done
    }:
        done |= ready

    assert set(needs) - done == set()


@pytest.mark.parametrize("function", RELEASED)
def test_traffic_shifts_slowly_in_production_and_goes_back_on_an_alarm(function: str) -> None:
    group = resources()[f"{function}DeploymentGroup"]["Properties"]
    alias = resources()[f"{function}Aliaslive"]

    assert alias["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
    condition, slowly, at_once = group["DeploymentConfigName"]["Fn::If"]
    assert condition == "IsProduction"
    assert "Canary10Percent15Minutes" in str(slowly)
    assert "AllAtOnce" in str(at_once)
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    (alarm,) = group["AlarmConfiguration"]["Alarms"]
    watched = properties(alarm["Name"]["Ref"])["Metrics"][1]["MetricStat"]["Metric"]["Dimensions"]
    assert watched == [
        {"Name": "FunctionName", "Value": {"Ref": function}},
        {"Name": "Resource", "Value": {"Fn::Sub": f"${{{function}}}:live"}},
        {"Name": "ExecutedVersion", "Value": {"Fn::GetAtt": [function, "Version.Version"]}},
    ]


@pytest.mark.parametrize("function", RELEASED)
@pytest.mark.parametrize("changed", ["CoreLayer", "DependenciesLayer", "itself"])
def test_new_code_is_a_new_version_also_where_only_a_layer_changed(
    function: str, changed: str
) -> None:
    """Our code is in layers. SAM looks at them only if both it and they say so."""
    uploads = {function if changed == "itself" else changed: "another"}

    before, after = translate(), translate(uploads=uploads)

    assert version_of(function, before) != version_of(function, after)


def test_every_layer_publishes_versions() -> None:
    layers = resources_of("AWS::Serverless::LayerVersion")

    assert all(properties(layer)["PublishLambdaVersion"] for layer in layers)


def test_everybody_calls_the_aliases() -> None:
    rule = resources()["ExploreFunctionStopped"]["Properties"]["Targets"][0]
    machine = resources()["ExplorationWorkflow"]["Properties"]["DefinitionSubstitutions"]
    gateway = [name for name in resources() if re.fullmatch(r"ApiFunction\w+PermissionStage", name)]

    assert rule["Arn"] == {"Ref": "ExploreFunctionAliaslive"}
    assert machine["ExploreFunctionArn"] == {"Ref": "ExploreFunctionAliaslive"}
    assert len(gateway) == 7
    for name in gateway:
        assert resources()[name]["Properties"]["FunctionName"] == {"Ref": "ApiFunctionAliaslive"}


def test_a_sweep_that_fails_is_neither_repeated_nor_stored() -> None:
    config = resources()["DispatchFunctionEventInvokeConfig"]["Properties"]

    assert config["MaximumRetryAttempts"] == 0
    assert "OnFailure" not in config.get("DestinationConfig", {})


@pytest.mark.parametrize("function", ["ExploreFunction", "NotifyFunction"])
def test_asynchronous_calls_that_fail_are_stored(function: str) -> None:
    config = resources()[f"{function}EventInvokeConfig"]["Properties"]
    role = properties(properties(function)["Role"]["Fn::GetAtt"][0])
    queue = {"Fn::GetAtt": ["FailedCallsQueue", "Arn"]}

    assert config["DestinationConfig"]["OnFailure"]["Destination"] == queue
    expected = "live" if function in RELEASED else "$LATEST"
    assert config["Qualifier"] == expected
    statements = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": queue} in statements


def test_eventbridge_may_store_what_it_cannot_deliver() -> None:
    (statement,) = properties("FailedCallsQueuePolicy")["PolicyDocument"]["Statement"]
    (target,) = resources()["ExploreFunctionStopped"]["Properties"]["Targets"]

    assert target["DeadLetterConfig"] == {"Arn": statement["Resource"]}
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert "ExploreFunctionStopped" in resources()
    assert statement["Condition"]["ArnEquals"]["aws:SourceArn"] == {
        "Fn::GetAtt": ["ExploreFunctionStopped", "Arn"]
    }


def test_functions_that_are_invoked_asynchronously_are_those() -> None:
    """Whoever adds a rule, a schedule or an asynchronous call says here where failures go."""
    events = {
        function
        for function in resources_of("AWS::Serverless::Function")
        for event in template()["Resources"][function]["Properties"].get("Events", {}).values()
        if event["Type"] in {"Schedule", "EventBridgeRule", "ScheduleV2", "SNS", "S3"}
    }

    assert events == {"DispatchFunction", "ExploreFunction"}
