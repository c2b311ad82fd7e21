"""The run of a smoke test: each leg with its time, counted from the submission."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from idea_explorer.api.views import Details
from idea_explorer.cli.output import parse_details
from idea_explorer.cli.smoke.parts import (
    AcceptedRun,
    check_admission,
    check_before,
    describe_backlog,
    diagnose_run,
    diagnose_submission,
    diagnose_webhook,
)
from idea_explorer.cli.targets.client import ApiClient
from idea_explorer.domain.errors import AuthFailedError, ExplorerError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.queue_messages import SMOKE_OWNER
from idea_explorer.domain.retry import RetryPolicy, is_retryable, retry
from idea_explorer.domain.run import FINAL
from idea_explorer.ports import Admission, Clock, Deployment, SecretStore, StackInfo
from idea_explorer.usecases import manage_tokens

POLL_SECONDS = 0.5
READY_SECONDS = 30.0  # a new API, and a new token, take a few seconds to be known everywhere
EXECUTION_LOOK_SECONDS = 5.0
DEADLINE_SECONDS = 120
WEBHOOK_ATTEMPTS = 3  # one round; after it the workflow waits for a minute or more
REQUEST: JsonObject = {
    "idea": "Smoke test of this deployment",
    "model": OFFLINE,
    "max_steps": 2,
    "deadline_seconds": DEADLINE_SECONDS,
}


def _may_become_ready(error: Exception) -> bool:
    return is_retryable(error) or isinstance(error, AuthFailedError)


READY = RetryPolicy(first=1.0, factor=1.5, longest=5.0, retry_on=_may_become_ready)


class SmokeTest:
    """Runs once. `legs` has the seconds from the submission to each leg's end, as a client sees them."""

    def __init__(
        self,
        deployment: Deployment,
        admission_of: Callable[[str], Admission],  # by the name of the table
        secrets: SecretStore,
        clock: Clock,
        seconds: float,
    ) -> None:
        self._deployment = deployment
        self._admission_of = admission_of
        self._secrets = secrets
        self._clock = clock
        self._seconds = seconds
        self._started = 0.0
        self.legs: dict[str, float] = {}
        self.exploration_id: str | None = None
        self.on_leg: Callable[[str, float], None] = lambda *_: None

    def run(self) -> None:
        """Raises BrokenPartError. Leaves nothing behind but the record of its exploration."""
        stack = self._deployment.describe()
        check_before(stack, self._deployment)
        admission = self._admission_of(stack.outputs["TableName"])
        check_admission(stack, admission)
        since = self._clock.now()
        with self._token(stack) as token, ApiClient(stack.outputs["ApiUrl"], token) as api:
            self._started = self._clock.monotonic()
            self.exploration_id = self._submit(api, since)
            try:
                details = self._follow(api, stack)
                if details.status != "completed":
                    backlog = describe_backlog(admission)
                    run = AcceptedRun(details, since, self._seconds, backlog)
                    raise diagnose_run(run, stack, self._deployment)
                self._await_webhook(api, stack, details)
            except ExplorerError:
                self._cancel(api)
                raise

    @contextmanager
    def _token(self, stack: StackInfo) -> Iterator[str]:
        """A token for this run alone."""
        name = stack.outputs["ApiTokensSecretId"]
        token = manage_tokens.add_token(SMOKE_OWNER, self._secrets, name, self._clock)
        try:
            yield token
        finally:
            manage_tokens.revoke_token(token, self._secrets, name)

    def _submit(self, api: ApiClient, since: datetime) -> str:
        headers = {"Idempotency-Key": f"smoke-{uuid.uuid4()}"}
        until = self._clock.monotonic() + min(READY_SECONDS, self._seconds)
        try:
            accepted = retry(
                lambda: api.post("/explorations", REQUEST, headers), READY, self._clock, until=until
            )
        except ExplorerError as error:
            raise diagnose_submission(error, self._deployment, since) from error
        self._reach("accepted")
        return str(accepted["id"])

    def _follow(self, api: ApiClient, stack: StackInfo) -> Details:
        """Follow the events to the end of the run, of its execution, or of the time."""
        assert self.exploration_id is not None
        path = api.path(self.exploration_id, "events")
        last = 0
        next_look = self._clock.monotonic() + EXECUTION_LOOK_SECONDS
        while self._left > 0:
            if self._clock.monotonic() > next_look:
                if self._execution_failed(stack):
                    break
                next_look = self._clock.monotonic() + EXECUTION_LOOK_SECONDS
            try:
                page = api.events(path, last)
            except ExplorerError as error:
                if not error.retryable:
                    raise
                self._clock.sleep(POLL_SECONDS)
                continue
            for event in page["events"]:
                self._note(event["data"])
            last = page["last_event_id"]
            if page["over"]:
                break
            self._clock.sleep(POLL_SECONDS)
        return self._show(api)

    def _execution_failed(self, stack: StackInfo) -> bool:
        """A record whose execution failed may never end: what would end it may be what is broken."""
        name = f"{self.exploration_id}-1"
        execution = self._deployment.execution(stack.outputs["StateMachineArn"], name)
        return execution is not None and bool(execution.error)

    def _note(self, event: JsonObject) -> None:
        match event:
            case {"type": "status_changed", "to": "running"}:
                self._reach("started")
            case {"type": "step_finished"}:
                self._reach("first step")
            case {"type": "message_end"}:
                self._reach("report written")
            case {"type": "status_changed", "to": status} if status in FINAL:
                self._reach("published" if status == "completed" else "ended")

    def _await_webhook(self, api: ApiClient, stack: StackInfo, details: Details) -> None:
        while details.delivery.status == "pending":
            tried = details.delivery.attempts >= WEBHOOK_ATTEMPTS
            if tried or self._left <= 0:
                raise diagnose_webhook(details, stack.parameters.get("WebhookUrl", ""))
            self._clock.sleep(POLL_SECONDS)
            details = self._show(api)
        if details.delivery.status == "failed":
            raise diagnose_webhook(details, stack.parameters.get("WebhookUrl", ""))
        if details.delivery.status == "delivered":
            self._reach("webhook")

    def _show(self, api: ApiClient) -> Details:
        assert self.exploration_id is not None
        return parse_details(api.get(api.path(self.exploration_id)))

    def _cancel(self, api: ApiClient) -> None:
        """So that it does not start when what is broken is repaired."""
        assert self.exploration_id is not None
        with suppress(ExplorerError):
            api.post(api.path(self.exploration_id, "cancel"), {})

    def _reach(self, leg: str) -> None:
        if leg not in self.legs:
            self.legs[leg] = self._clock.monotonic() - self._started
            self.on_leg(leg, self.legs[leg])

    @property
    def _left(self) -> float:
        return self._started + self._seconds - self._clock.monotonic()
