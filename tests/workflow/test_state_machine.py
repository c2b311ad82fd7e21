"""The state machine as Step Functions gets it, and the rules it keeps."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from idea_explorer.domain.deadline import write_reserve
from idea_explorer.domain.depths import DEPTHS
from idea_explorer.domain.webhook import WAITS
from idea_explorer.lambda_runtime import handlers
from tests.e2e.harness.template import ROOT, properties, state_machine

NAMES = properties("ExplorationWorkflow")["DefinitionSubstitutions"]
ARN = "arn:aws:lambda:us-east-1:123456789012:function:"
DEFINITION = state_machine({name: "aws" if name == "Partition" else ARN + name for name in NAMES})
STATES: dict[str, Any] = DEFINITION["States"]
BRANCH_STATES: dict[str, Any] = STATES["Branches"]["ItemProcessor"]["States"]
TASKS = {name: state for name, state in (STATES | BRANCH_STATES).items() if state["Type"] == "Task"}
PLATFORM = ("Lambda.", "Runtime.", "Sandbox.", "States.")


def complaints(definition: dict[str, Any]) -> list[str]:
    """What cfn-lint has to say about a state machine."""
    from cfnlint.api import lint  # takes seconds, for two tests

    role = "arn:aws:iam::123456789012:role/workflow"
    resource = {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"RoleArn": role, "Definition": definition},
    }
    found = lint(json.dumps({"Resources": {"Machine": resource}}))
    return [f"{finding.rule.id} {finding.message}" for finding in found]


@pytest.mark.long
def test_the_rendered_definition_is_valid() -> None:
    assert complaints(DEFINITION) == []


@pytest.mark.long
def test_a_broken_definition_would_be_found() -> None:
    broken = json.loads(json.dumps(DEFINITION))
    del broken["States"]["Notify"]["Resource"]

    assert [complaint[:5] for complaint in complaints(broken)] == ["E3601"]


def following(state: dict[str, Any]) -> list[str]:
    rules = [state, *state.get("Catch", []), *state.get("Choices", [])]
    names = [*(rule.get("Next") for rule in rules), state.get("Default")]
    return [name for name in names if name]


def reached(state: str, seen: set[str]) -> set[str]:
    if state in seen:
        return seen
    seen.add(state)
    for name in following(STATES[state]):
        reached(name, seen)
    return seen


def test_every_state_is_reached() -> None:
    assert reached(DEFINITION["StartAt"], set()) == set(STATES)


def test_it_uses_only_what_the_emulator_runs_too() -> None:
    text = json.dumps(DEFINITION)

    assert "QueryLanguage" not in text
    assert not [state for state in STATES.values() if state["Type"] == "Parallel"]
    assert "TimeoutSeconds" not in DEFINITION  # a machine's own timeout cannot be caught in it


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("Begin", {"expired": False, "branched": False}),
        ("Expired", {"expired": True, "branched": False}),
        ("AfterBranches", {"expired": False, "branched": True}),
    ],
)
def test_explore_is_told_each_time_why_it_is_called(state: str, flags: dict[str, bool]) -> None:
    assert STATES[state] == {
        "Type": "Pass",
        "Result": flags,
        "ResultPath": "$.flags",
        "Next": "Explore",
    }
    payload = STATES["Explore"]["Parameters"]["Payload"]
    assert {name: payload[f"{name}.$"] for name in flags} == {
        name: f"$.flags.{name}" for name in flags
    }
    before = [name for name in STATES if "Explore" in following(STATES[name])]
    assert {*before} == {"Begin", "Expired", "AfterBranches"}


def test_the_definition_has_no_yaml_aliases() -> None:
    """CloudFormation reads it with Jackson, which takes an alias for a string: "using an alias results in
    SCHEMA_VALIDATION_FAILED" (github.com/aws-cloudformation/cfn-language-discussion/issues/49)."""
    tokens = yaml.scan((ROOT / "workflow" / "exploration.asl.yaml").read_text("utf-8"))
    assert not [token for token in tokens if isinstance(token, yaml.AliasToken)]


def test_a_branch_is_explored_as_its_run_is_but_waits_for_a_free_function_not_as_long() -> None:
    explore, branch = (json.loads(json.dumps(TASKS[n])) for n in ("Explore", "ExploreBranch"))
    assert explore["Retry"].pop(0)["ErrorEquals"] == ["NoFreeSlotError"]  # a branch waits for none
    for flag in ("expired", "branched"):
        del explore["Parameters"]["Payload"][f"{flag}.$"]
    (patient,), (hurried,) = (
        [r for r in task["Retry"] if r["ErrorEquals"] == ["Lambda.TooManyRequestsException"]]
        for task in (explore, branch)
    )

    assert patient.pop("MaxAttempts") > hurried.pop("MaxAttempts")
    assert hurried["JitterStrategy"] == "FULL"  # each wait is half as long on average
    usual = waited("ExploreBranch", "Lambda.TooManyRequestsException") / 2
    deep = DEPTHS["deep"]
    assert 0.9 * deep.branch_seconds < usual
    assert usual < deep.deadline_seconds - write_reserve(deep.deadline_seconds) - 60
    assert branch["Retry"] == explore["Retry"]
    assert branch["Parameters"] == explore["Parameters"]
    assert branch["TimeoutSecondsPath"] == explore["TimeoutSecondsPath"]


def test_a_branch_that_fails_stops_neither_the_others_nor_the_run() -> None:
    """Where an iteration fails, Step Functions stops the others, so none may."""
    explore, settle = BRANCH_STATES["ExploreBranch"], BRANCH_STATES["SettleBranch"]
    (failed,), (unsettled,) = explore["Catch"], settle["Catch"]

    assert (failed["ErrorEquals"], failed["Next"]) == (["States.ALL"], "SettleBranch")
    assert (unsettled["ErrorEquals"], unsettled["Next"]) == (["States.ALL"], "LeaveBranch")
    assert BRANCH_STATES["LeaveBranch"] == {"Type": "Pass", "End": True}
    (whatever,) = STATES["Branches"]["Catch"]
    assert (whatever["ErrorEquals"], whatever["Next"]) == (["States.ALL"], "AfterBranches")


def test_as_many_branches_run_at_once_as_the_deepest_run_has() -> None:
    most = max(depth.branches for depth in DEPTHS.values())
    assert STATES["Branches"]["MaxConcurrency"] == most


def retries() -> Iterator[tuple[str, str]]:
    for name, task in TASKS.items():
        for retry in task.get("Retry", []):
            for error in retry["ErrorEquals"]:
                yield name, error


@pytest.mark.parametrize(("task", "error"), sorted(set(retries())))
def test_only_what_says_so_is_tried_again(task: str, error: str) -> None:
    assert error not in {"States.ALL", "States.TaskFailed"}
    if not error.startswith(PLATFORM):
        assert issubclass(getattr(handlers, error), Exception)


def test_a_deadline_is_never_tried_again() -> None:
    assert "States.Timeout" not in [error for task, error in retries() if task == "Explore"]


@pytest.mark.parametrize("error", ["Runtime.ExitError", "Lambda.Unknown"])
def test_a_killed_function_is_tried_again(error: str) -> None:
    assert {task for task, retried in retries() if retried == error} >= {"Explore", "Publish"}


def waited(task: str, error: str) -> float:
    """The seconds between the first attempt and the last, where each fails at once."""
    return sum(waits(task, error))


def waits(task: str, error: str) -> list[float]:
    (retry,) = [retry for retry in TASKS[task]["Retry"] if error in retry["ErrorEquals"]]
    longest: float = retry.get("MaxDelaySeconds", float("inf"))
    return [
        min(retry["IntervalSeconds"] * retry["BackoffRate"] ** number, longest)
        for number in range(retry["MaxAttempts"])
    ]


def test_an_outage_of_github_is_waited_for_half_an_hour() -> None:
    assert 30 * 60 <= waited("Publish", "RetryableError") <= 40 * 60


def test_a_quota_of_github_is_waited_for_until_it_starts_anew() -> None:
    assert 60 * 60 < waited("Publish", "ThrottledError") <= 80 * 60


@pytest.mark.parametrize("task", ["Explore", "Publish"])
def test_a_limit_without_a_time_is_waited_for_a_minute_and_then_longer(task: str) -> None:
    (retry,) = [r for r in TASKS[task]["Retry"] if "ThrottledError" in r["ErrorEquals"]]
    assert (retry["IntervalSeconds"], retry["BackoffRate"]) == (60, 2)


@pytest.mark.parametrize("task", ["Explore", "AwaitApproval", "Publish"])
def test_whatever_else_happens_the_record_is_settled(task: str) -> None:
    assert TASKS[task]["Catch"][-1] == {
        "ErrorEquals": ["States.ALL"],
        "ResultPath": "$.failure",
        "Next": "Settle",
    }


def test_telling_is_tried_again_as_settling_is_but_for_a_receiver_that_is_down() -> None:
    down, *others = TASKS["Notify"]["Retry"]

    assert down["ErrorEquals"] == ["UndeliveredError"]
    assert others == TASKS["Settle"]["Retry"]


def test_a_receiver_that_is_down_is_waited_for_minutes_then_hours_a_day_in_all() -> None:
    assert 24 * 3_600 <= waited("Notify", "UndeliveredError") <= 25 * 3_600
    assert waits("Notify", "UndeliveredError") == list(WAITS)  # by which the record names the next


def test_only_telling_waits_for_a_receiver() -> None:
    assert [task for task, error in retries() if error == "UndeliveredError"] == ["Notify"]


def test_a_receiver_that_fails_changes_nothing() -> None:
    (caught,) = TASKS["Notify"]["Catch"]

    assert caught["ErrorEquals"] == ["States.ALL"]
    assert caught["Next"] == TASKS["Notify"]["Next"]
    assert caught["ResultPath"] is None


@pytest.mark.parametrize("task", TASKS)
def test_only_ids_cross_the_workflow(task: str) -> None:
    payload = TASKS[task]["Parameters"]["Payload"]

    assert {name.removesuffix(".$") for name in payload} <= {
        "id", "run", "deadline_seconds", "entered_at", "retries", "settle", "cause", "failure",
        "token", "expired", "branched",
    }  # fmt: skip
    selected = TASKS[task].get("ResultSelector", {"status.$": ""}).keys()
    assert selected <= {"status.$", "answer.$"}  # the functions' tests say what an answer holds
