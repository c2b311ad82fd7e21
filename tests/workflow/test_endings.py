"""How an execution ends, whatever its functions come to: the states walked through, without AWS.

Retries are left out: a function that fails here has failed each time.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.workflow.test_state_machine import DEFINITION, STATES

TIMEOUT = "States.Timeout"
ENDS = {"Fail", "Succeed"}


def field(data: Any, path: str) -> Any:
    for name in path.removeprefix("$.").split("."):
        data = data[name]
    return data


def is_present(data: Any, path: str) -> bool:
    try:
        field(data, path)
    except KeyError:
        return False
    return True


def holds(rule: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    match rule:
        case {"And": rules}:
            return all(holds(each, data) for each in rules)
        case {"Not": other}:
            return not holds(other, data)
        case {"Variable": variable, "IsPresent": wanted}:
            return is_present(data, variable) is wanted
        case {"Variable": variable, "StringEquals": text}:
            return bool(field(data, variable) == text)
    raise AssertionError(f"a rule that is not known here: {rule}")


def chosen(state: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    found = [rule["Next"] for rule in state["Choices"] if holds(rule, data)]
    return str([*found, state["Default"]][0])


def outcome(
    name: str, failing: Mapping[str, str], data: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Any]:
    """What of a state says where its result goes and what follows, and the result. Explore fails by the
    reason for which it was called last."""
    state = STATES[name]
    flags = [flag for flag, is_set in data.get("flags", {}).items() if is_set]
    called = " ".join([name, *flags]) if name == "Explore" else name
    if error := failing.get(called):
        rules = [rule for rule in state["Catch"] if {error, "States.ALL"} & {*rule["ErrorEquals"]}]
        return rules[0], {"Error": error, "Cause": "told by AWS"}
    waits = called == "Explore" and "AwaitApproval" in failing
    answer: dict[str, Any] = {"status": "awaiting_approval" if waits else "completed"}
    if called == "Explore" and "Branches" in failing:
        answer["branches"] = [{"id": "…", "run": 1, "deadline_seconds": 60}]
    return state, state.get("Result", {"answer": answer, **answer})


def ended(failing: Mapping[str, str]) -> tuple[str, str | None]:
    """The last state, and the error it tells of, where the functions named in `failing` fail."""
    name: str = DEFINITION["StartAt"]
    data: dict[str, Any] = {}
    while (state := STATES[name])["Type"] not in ENDS:
        if state["Type"] == "Choice":
            name = chosen(state, data)
            continue
        rule, result = outcome(name, failing, data)
        if rule["ResultPath"]:
            data[rule["ResultPath"].removeprefix("$.")] = result
        name = rule["Next"]
    return name, field(data, state["ErrorPath"]) if "ErrorPath" in state else None


ORDINARY: dict[str, dict[str, str]] = {
    "nothing fails": {},
    "the deadline of an exploration": {"Explore": TIMEOUT},
    "nobody decides": {"AwaitApproval": TIMEOUT},
    "nobody decides, and then the deadline": {"AwaitApproval": TIMEOUT, "Explore expired": TIMEOUT},
    "a receiver that hangs": {"Notify": TIMEOUT},
    "branches that cannot be run": {"Branches": "States.Runtime"},
    "the deadline after branches": {"Branches": TIMEOUT, "Explore branched": TIMEOUT},
}
BROKEN = {
    "publishing that hangs": ({"Publish": TIMEOUT}, "PublishTimedOut"),
    "the same where nobody decided": (
        {"AwaitApproval": TIMEOUT, "Publish": TIMEOUT},
        "PublishTimedOut",
    ),
    "publishing that fails": ({"Publish": "RetryableError"}, "RetryableError"),
    "a defect": ({"Explore": "InternalError"}, "InternalError"),
}


@pytest.mark.parametrize("failing", ORDINARY.values(), ids=ORDINARY)
def test_a_deadline_is_an_ordinary_end(failing: dict[str, str]) -> None:
    assert ended(failing) == ("Done", None)


@pytest.mark.parametrize(("failing", "error"), BROKEN.values(), ids=BROKEN)
def test_what_an_operator_should_see_fails_the_execution(
    failing: dict[str, str], error: str
) -> None:
    assert ended(failing) == ("Failed", error)
