"""Events that nobody waits for: Lambda's queue for asynchronous invocations, and EventBridge's rules.

An event that fails is tried twice more, one that is throttled for up to six hours; then it goes to the
function's destination for failures, or is lost.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.e2e.harness.functions import RECURSIVE, Functions, name_in, refused
from tests.e2e.harness.limits import ASYNC_REQUEST_BYTES
from tests.e2e.harness.runtime import Answer, arn_of

ACCEPTED = 202
TOO_MANY_REQUESTS = 429
SCALE = 1 / 60  # a minute on AWS is a second here
ERROR_WAITS = (60.0, 120.0)
FIRST_THROTTLE_WAIT, MAX_THROTTLE_WAIT = 1.0, 300.0
RULE_RETRIES, RULE_SECONDS = 185, 86_400.0  # EventBridge's defaults

Send = Callable[[str, str], None]  # the ARN of a queue, and the body for it


@dataclass(frozen=True)
class AsyncPolicy:
    """A function's EventInvokeConfig and dead-letter queue. Queues go by their ARN."""

    retries: int = 2
    seconds: float = 6 * 3_600.0
    on_failure: str | None = None
    dead_letters: str | None = None

    @classmethod
    def of(cls, function: Mapping[str, Any]) -> "AsyncPolicy":
        """From the properties of a function, references resolved."""
        config = function.get("EventInvokeConfig", {})
        on_failure = config.get("DestinationConfig", {}).get("OnFailure", {})
        dead_letters = function.get("DeadLetterQueue", {})
        for declared in (on_failure, dead_letters):
            if declared.get("Type", "SQS") != "SQS":
                raise ValueError(f"only queues are known here as destinations, not {declared}")
        return cls(
            retries=int(config.get("MaximumRetryAttempts", cls.retries)),
            seconds=float(config.get("MaximumEventAgeInSeconds", cls.seconds)),
            on_failure=on_failure.get("Destination"),
            dead_letters=dead_letters.get("TargetArn"),
        )


class AsyncInvocations:
    """Lambda's own queue in front of every function. Counts what each of them lost."""

    def __init__(self, functions: Functions, send: Send, scale: float = SCALE) -> None:
        self.lost: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._functions = functions
        self._send = send
        self._scale = scale
        self._policies: dict[str, AsyncPolicy] = {}
        self._waiting: Counter[str] = Counter()
        self._ended = threading.Condition()

    def configure(self, function: str, policy: AsyncPolicy) -> None:
        self._policies[function] = policy

    def accept(self, reference: str, event: Any, trace: str | None = None) -> Answer:
        """Put an event into the queue; says what Lambda answers to that, status 202 if all is well."""
        function = name_in(reference)
        if not self._functions.exists(function):
            return refused("ResourceNotFoundException", f"Function not found: {arn_of(function)}")
        size = len(json.dumps(event).encode())
        if size > ASYNC_REQUEST_BYTES:
            message = f"{size} byte payload is too large for the Event invocation type"
            return refused("RequestTooLargeException", message)
        with self._ended:
            self._waiting[function] += 1
        work = threading.Thread(target=self._work, args=(function, event, trace), daemon=True)
        work.start()
        return Answer(None, status=ACCEPTED)

    def wait(self, function: str, seconds: float) -> None:
        """Until no event waits for a function or is being worked on by it."""
        with self._ended:
            assert self._ended.wait_for(lambda: not self._waiting[function], seconds)

    def _work(self, function: str, event: Any, trace: str | None) -> None:
        try:
            self._invoke(function, event, trace)
        finally:
            with self._ended:
                self._waiting[function] -= 1
                self._ended.notify_all()

    def _invoke(self, function: str, event: Any, trace: str | None) -> None:
        policy = self._policies.get(function, AsyncPolicy())
        until = time.monotonic() + policy.seconds * self._scale
        errors, throttle_wait = 0, FIRST_THROTTLE_WAIT
        while True:
            answer = self._functions.invoke(function, event, trace)
            if answer.ok:
                return
            if answer.status == TOO_MANY_REQUESTS:
                wait = throttle_wait
                throttle_wait = min(2 * throttle_wait, MAX_THROTTLE_WAIT)
            else:
                errors += 1
                if answer.error == RECURSIVE or errors > policy.retries:
                    self._give_up(function, event, answer, errors, "RetriesExhausted")
                    return
                wait = ERROR_WAITS[errors - 1]
            if time.monotonic() + wait * self._scale > until:
                self._give_up(function, event, answer, errors, "EventAgeExceeded")
                return
            time.sleep(wait * self._scale)

    def _give_up(
        self, function: str, event: Any, answer: Answer, invocations: int, condition: str
    ) -> None:
        policy = self._policies.get(function, AsyncPolicy())
        self.failed[function] += 1
        if policy.on_failure:
            record = failure_record(function, event, answer, invocations, condition)
            self._send(policy.on_failure, json.dumps(record))
        if policy.dead_letters:
            self._send(policy.dead_letters, json.dumps(event))
        if not policy.on_failure and not policy.dead_letters:
            self.lost[function] += 1


def failure_record(
    function: str, event: Any, answer: Answer, invocations: int, condition: str
) -> dict[str, Any]:
    """What a destination gets.
    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html"""
    return {
        "version": "1.0",
        "timestamp": datetime.now(UTC).isoformat(),
        "requestContext": {
            "functionArn": f"{arn_of(function)}:$LATEST",
            "condition": condition,
            "approximateInvokeCount": invocations,
        },
        "requestPayload": event,
        "responseContext": {"statusCode": answer.status, "functionError": "Unhandled"},
        "responsePayload": answer.payload,
    }


@dataclass(frozen=True)
class RulePolicy:
    """RetryPolicy and DeadLetterConfig of a rule's target."""

    retries: int = RULE_RETRIES
    seconds: float = RULE_SECONDS
    dead_letters: str | None = None

    @classmethod
    def of(cls, rule: Mapping[str, Any], names: Mapping[str, Any]) -> "RulePolicy":
        """From the properties of a rule or schedule, references resolved."""
        retry, dead_letters = rule.get("RetryPolicy", {}), rule.get("DeadLetterConfig", {})
        queue = dead_letters.get("QueueLogicalId")
        return cls(
            retries=int(retry.get("MaximumRetryAttempts", cls.retries)),
            seconds=float(retry.get("MaximumEventAgeInSeconds", cls.seconds)),
            dead_letters=names[f"{queue}.Arn"] if queue else dead_letters.get("Arn"),
        )


class RuleTarget:
    """A function as the target of an EventBridge rule. The rule has done its part when Lambda has
    accepted the event: what the function makes of it is up to Lambda's queue."""

    def __init__(
        self,
        accept: Callable[[Any], Answer],
        send: Send,
        policy: RulePolicy,
        scale: float = SCALE,
    ) -> None:
        self.lost = 0
        self._accept = accept
        self._send = send
        self._policy = policy
        self._scale = scale

    def deliver(self, event: Any) -> None:
        until = time.monotonic() + self._policy.seconds * self._scale
        wait = 1.0
        for _ in range(self._policy.retries + 1):
            if self._accept(event).status == ACCEPTED:
                return
            if time.monotonic() + wait * self._scale > until:
                break
            time.sleep(wait * self._scale)
            wait *= 2
        if self._policy.dead_letters:
            self._send(self._policy.dead_letters, json.dumps(event))
        else:
            self.lost += 1
