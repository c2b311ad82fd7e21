"""What a smoke test says is broken, from what an operator can see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from idea_explorer.api.views import build_details
from idea_explorer.cli.smoke.parts import (
    AcceptedRun,
    BrokenPartError,
    check_admission,
    check_before,
    diagnose_run,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.progress import progress_of
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import ExecutionInfo, LoggedError, Slots, StackInfo

NOW = datetime(2026, 11, 17, tzinfo=UTC)
OUTPUTS = {
    "ApiUrl": "https://api.example.com/dev",
    "QueueUrl": "queue",
    "StateMachineArn": "arn:aws:states:us-east-1:1:stateMachine:ideas",
    "TableName": "table",
    "ApiTokensSecretId": "tokens",
    "GitHubSecretId": "github",
    "AnthropicSecretId": "anthropic",
}
PARAMETERS = {"GitHubRepository": "acme/ideas", "Provider": "anthropic"}
STACK = StackInfo("ideas", "UPDATE_COMPLETE", OUTPUTS, PARAMETERS)


@dataclass
class SeenDeployment:
    sources: Mapping[str, str] = field(default_factory=lambda: {"1": "Enabled"})
    roles: Sequence[str] = ()
    empty: Sequence[str] = ()
    found: ExecutionInfo | None = None
    errors: Sequence[LoggedError] = ()

    def describe(self) -> StackInfo:
        return STACK

    def queue_sources(self, queue_url: str) -> Mapping[str, str]:
        return self.sources

    def missing_roles(self) -> Sequence[str]:
        return self.roles

    def has_value(self, secret: str) -> bool:
        return secret not in self.empty

    def execution(self, state_machine: str, name: str) -> ExecutionInfo | None:
        return self.found

    def recent_errors(self, since: datetime) -> Sequence[LoggedError]:
        return self.errors


def waiting() -> AcceptedRun:
    exploration = Exploration.new(ExploreRequest(idea="Tea"), "smoke", at=NOW)
    details = build_details(exploration, progress_of(exploration, [], NOW), "")
    return AcceptedRun(details, NOW, 30, "5 are running and 2 waiting")


@pytest.mark.parametrize(
    ("seen", "part", "sentence"),
    [
        ({"sources": {}}, "queue", "it has no event source."),
        ({"sources": {"1": "Disabled"}}, "queue", "its event source is Disabled."),
        ({"roles": ["ideas-ApiRole"]}, "role", "The role ideas-ApiRole no longer exists"),
        ({"empty": ["github"]}, "secret", "The github secret is empty."),
        ({"empty": ["anthropic"]}, "secret", "The anthropic secret is empty."),
    ],
)
def test_what_is_broken_is_found_before_anything_runs(
    seen: dict[str, Any], part: str, sentence: str
) -> None:
    check_before(STACK, SeenDeployment())
    with pytest.raises(BrokenPartError) as broken:
        check_before(STACK, SeenDeployment(**seen))

    assert broken.value.part == part
    assert sentence in broken.value.message


def test_secrets_that_nobody_needs_may_be_empty() -> None:
    offline = StackInfo("ideas", "CREATE_COMPLETE", OUTPUTS, {"Provider": "offline"})

    check_before(offline, SeenDeployment(empty=["github", "anthropic"]))


@pytest.mark.parametrize("status", ["UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"])
def test_a_stack_that_is_not_complete_is_not_tested(status: str) -> None:
    with pytest.raises(BrokenPartError, match=f"The stack is {status}"):
        check_before(StackInfo("ideas", status, OUTPUTS, PARAMETERS), SeenDeployment())


class PausedAdmission:
    def slots(self) -> Slots:
        return Slots(holders={}, paused=True)


def test_a_paused_deployment_says_how_to_go_on() -> None:
    admission: Any = PausedAdmission()

    with pytest.raises(BrokenPartError, match="is paused") as broken:
        check_admission(STACK, admission)
    assert broken.value.hint.endswith("idea admin unpause --stack ideas")


@pytest.mark.parametrize(
    ("seen", "part", "sentence"),
    [
        ({}, "dispatch", "not started within 30 s: 5 are running and 2 waiting."),
        (
            {
                "errors": [
                    LoggedError("ideas-dispatch", "AWS SQS does not allow this (AccessDenied).")
                ]
            },
            "role",
            "The role of ideas-dispatch lacks a permission: AWS SQS does not allow this",
        ),
        (
            {"found": ExecutionInfo("FAILED", "States.Runtime", "No such path.")},
            "workflow",
            "The workflow failed with States.Runtime: No such path.",
        ),
        (
            {
                "found": ExecutionInfo(
                    "FAILED",
                    "Lambda.AWSLambdaException",
                    "User: w is not authorized to perform: lambda:InvokeFunction",
                )
            },
            "role",
            "not authorized to perform: lambda:InvokeFunction",
        ),
        (
            {"found": ExecutionInfo("RUNNING")},
            "workflow",
            "was still queued after 30 s (Waiting to start), and its execution is RUNNING.",
        ),
    ],
)
def test_what_kept_a_run_from_its_end_is_named(
    seen: dict[str, Any], part: str, sentence: str
) -> None:
    broken = diagnose_run(waiting(), STACK, SeenDeployment(**seen))

    assert broken.part == part
    assert sentence in broken.message
    assert broken.hint


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (["TableName"], "The stack lacks the output TableName."),
        (
            ["ApiUrl", "QueueUrl", "TableName"],
            "The stack lacks the outputs ApiUrl, QueueUrl and TableName.",
        ),
    ],
)
def test_a_stack_that_may_not_be_ours_is_told_by_its_outputs(
    missing: list[str], sentence: str
) -> None:
    outputs = {name: value for name, value in OUTPUTS.items() if name not in missing}

    with pytest.raises(BrokenPartError) as broken:
        check_before(StackInfo("ideas", "UPDATE_COMPLETE", outputs, PARAMETERS), SeenDeployment())

    assert broken.value.message == sentence
