"""The parts of a deployment that a smoke test can find broken, looked at before and after its run."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal

from idea_explorer.api.views import Details
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.text import one_line
from idea_explorer.ports import Admission, Deployment, ExecutionInfo, LoggedError, StackInfo

Part = Literal[
    "stack",
    "secret",
    "role",
    "queue",
    "api",
    "dispatch",
    "workflow",
    "explore",
    "publish",
    "webhook",
]
MAX_CAUSE = 300
CONNECTED = frozenset({"Enabled", "Enabling", "Updating", "Creating"})
# how our own errors and AWS say that a role lacks a permission or cannot be assumed, clearest first
DENIALS = (
    "does not allow this",
    "AccessDenied",
    "AuthFailedError",
    "not authorized to perform",
    "cannot be assumed",
)


class BrokenPartError(ExplorerError):
    """What is broken in one sentence, and what to do about it."""

    def __init__(self, part: Part, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.part = part


def check_before(stack: StackInfo, deployment: Deployment) -> None:
    """Find what is known to be broken without running anything; raises BrokenPartError."""
    _check_stack(stack)
    _check_secrets(stack, deployment)
    _check_roles(deployment)
    check_queue(stack, deployment)


def _check_stack(stack: StackInfo) -> None:
    if stack.status.endswith("_IN_PROGRESS") or "FAILED" in stack.status:
        raise BrokenPartError(
            "stack",
            f"The stack is {stack.status}.",
            hint="Wait until it is complete, or read its events in the CloudFormation console.",
        )
    needed = ("ApiUrl", "QueueUrl", "StateMachineArn", "TableName", "ApiTokensSecretId")
    if missing := [name for name in needed if name not in stack.outputs]:
        *others, last = missing
        names = f"outputs {', '.join(others)} and {last}" if others else f"output {last}"
        raise BrokenPartError(
            "stack",
            f"The stack lacks the {names}.",
            hint="Is it a stack of Idea Explorer? Deploy it again with 'make deploy'.",
        )


def _check_secrets(stack: StackInfo, deployment: Deployment) -> None:
    """Those without which a run of this deployment would fail."""
    parameters = stack.parameters
    needed = {
        "github": bool(parameters.get("GitHubRepository")),
        "anthropic": parameters.get("Provider") == "anthropic",
    }
    outputs = {"github": "GitHubSecretId", "anthropic": "AnthropicSecretId"}
    for name, output in outputs.items():
        secret = stack.outputs.get(output)
        if needed[name] and not (secret and deployment.has_value(secret)):
            raise BrokenPartError(
                "secret",
                f"The {name} secret is empty.",
                hint=f"Set it with: idea admin secret set {name} --stack {stack.name}",
            )


def _check_roles(deployment: Deployment) -> None:
    if missing := deployment.missing_roles():
        raise BrokenPartError(
            "role",
            f"The role {missing[0]} no longer exists, so its function cannot run.",
            hint="Create the role again under the same name, or delete the stack and deploy it again.",
        )


def check_queue(stack: StackInfo, deployment: Deployment) -> None:
    sources = deployment.queue_sources(stack.outputs["QueueUrl"])
    if CONNECTED & set(sources.values()):
        return
    hint, found = "Deploy again: that creates it.", "it has no event source"
    for uuid, state in sources.items():
        hint = f"Connect it with: aws lambda update-event-source-mapping --uuid {uuid} --enabled"
        found = f"its event source is {state}"
    raise BrokenPartError(
        "queue",
        f"The queue is not connected to the dispatch function: {found}.",
        hint=hint,
    )


def check_admission(stack: StackInfo, admission: Admission) -> None:
    if admission.slots().paused:
        raise BrokenPartError(
            "dispatch",
            "The deployment is paused: it accepts explorations and starts none.",
            hint=f"Let it start them again with: idea admin unpause --stack {stack.name}",
        )


def describe_backlog(admission: Admission) -> str:
    return f"{len(admission.slots().holders)} are running and {admission.count_waiting()} waiting"


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """The exploration of the smoke test, as it was when the time was up or when it had ended."""

    details: Details
    since: datetime
    seconds: float
    backlog: str


def diagnose_submission(
    error: ExplorerError, deployment: Deployment, since: datetime
) -> BrokenPartError:
    """Why the API did not accept the exploration."""
    return _find_denial(deployment.recent_errors(since), ("-api", "-authorize")) or BrokenPartError(
        "api",
        f"The API did not accept the exploration: {error.message}",
        hint="Read the logs of the api and authorize functions.",
    )


def diagnose_run(run: AcceptedRun, stack: StackInfo, deployment: Deployment) -> BrokenPartError:
    """Why an exploration that was accepted did not complete."""
    details = run.details
    execution = deployment.execution(
        stack.outputs["StateMachineArn"], f"{details.id}-{details.run}"
    )
    errors = deployment.recent_errors(run.since)
    if execution is None:
        return _diagnose_start(run, stack, deployment, errors)
    if execution.error:
        return _diagnose_execution(execution)
    if details.failure:
        part: Part = "publish" if details.failure.stage == "publish" else "explore"
        return _find_denial(errors, ("-explore", "-publish")) or BrokenPartError(
            part,
            f"The exploration ended {details.status}: {details.failure.message}",
            hint=f"Read the log of the {part} function.",
        )
    return _find_denial(errors) or BrokenPartError(
        "workflow",
        f"The exploration was still {details.status} after {run.seconds:.0f} s"
        f" ({details.current_step_label}), and its execution is {execution.status}.",
        hint="Open the execution in the Step Functions console to see the state that it is in.",
    )


def _diagnose_start(
    run: AcceptedRun, stack: StackInfo, deployment: Deployment, errors: Sequence[LoggedError]
) -> BrokenPartError:
    if denial := _find_denial(errors, ("-dispatch", "-api")):
        return denial
    try:
        check_queue(stack, deployment)
    except BrokenPartError as broken:
        return broken
    if failure := run.details.failure:
        return BrokenPartError(
            "dispatch",
            f"The exploration was accepted but could not be started: {failure.message}",
            hint="Read the log of the dispatch function.",
        )
    return BrokenPartError(
        "dispatch",
        f"The exploration was accepted but not started within {run.seconds:.0f} s: {run.backlog}.",
        hint="If as many are running as MaxRunning allows, run the smoke test again with --seconds 600;"
        " if not, read the log of the dispatch function.",
    )


def _diagnose_execution(execution: ExecutionInfo) -> BrokenPartError:
    cause = _describe_cause(execution.cause)
    sentence = f"The workflow failed with {execution.error}: {cause}"
    if any(denial in sentence for denial in DENIALS):
        return BrokenPartError("role", sentence, hint=_PERMISSION)
    return BrokenPartError(
        "workflow",
        sentence,
        hint="Open the execution in the Step Functions console, and deploy again.",
    )


def _describe_cause(cause: str) -> str:
    """Of a function's error, which comes as JSON with its stack trace, the message alone."""
    with suppress(ValueError, TypeError, KeyError):
        cause = str(json.loads(cause)["errorMessage"])
    return one_line(cause, MAX_CAUSE) or "no cause is given."


_PERMISSION = "Add the permission to the role again, most simply by deploying again."


def _find_denial(
    errors: Sequence[LoggedError], functions: tuple[str, ...] = ("",)
) -> BrokenPartError | None:
    """The line that says most clearly that one of these functions was refused something."""
    for denial in DENIALS:
        for error in errors:
            if error.function.endswith(functions) and denial in error.text:
                return BrokenPartError(
                    "role",
                    f"The role of {error.function} lacks a permission: {error.text}",
                    hint=_PERMISSION,
                )
    return None


def diagnose_webhook(details: Details, url: str) -> BrokenPartError:
    error = details.delivery.last_error or "It was not sent in time."
    return BrokenPartError(
        "webhook",
        f"The webhook {url} was not delivered: {error}",
        hint="Check that the receiver is reachable from the internet and takes the message,"
        f" then send it again with: idea webhook resend {details.id}",
    )
