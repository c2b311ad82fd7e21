"""Events that nobody waits for."""

import json
import threading
from typing import Any

from tests.e2e.harness.asynchronous import (
    ACCEPTED,
    AsyncInvocations,
    AsyncPolicy,
    RulePolicy,
    RuleTarget,
)
from tests.e2e.harness.functions import refused
from tests.e2e.harness.limits import ASYNC_REQUEST_BYTES
from tests.e2e.harness.lineage import MAX_RUNS, next_trace
from tests.e2e.harness.runtime import Answer
from tests.unit.harness.in_process import InProcessFunctions

QUICK = 1 / 20_000  # the waits of three minutes are over in 9 ms
DEAD_LETTERS = "arn:aws:sqs:us-east-1:123456789012:dead-letters"


class Lambda:
    """A function that fails so many times, and the queue in front of it."""

    def __init__(self, failures: int, policy: AsyncPolicy | None = None) -> None:
        self.calls = 0
        self.sent: list[tuple[str, Any]] = []
        self.functions = InProcessFunctions()
        self.functions.serve("f", self._handle)
        self.queue = AsyncInvocations(self.functions, self._send, QUICK)
        if policy:
            self.queue.configure("f", policy)
        self._failures = failures

    def invoke(self, event: Any, trace: str | None = None) -> Answer:
        answer = self.queue.accept("f:live", event, trace)
        self.queue.wait("f", 10)
        return answer

    def _handle(self, _event: Any) -> None:
        self.calls += 1
        if self.calls <= self._failures:
            raise ValueError("no")

    def _send(self, queue: str, body: str) -> None:
        self.sent.append((queue, json.loads(body)))


def test_an_event_that_fails_is_tried_twice_more() -> None:
    function = Lambda(failures=2)

    assert function.invoke({}).status == ACCEPTED
    assert (function.calls, function.queue.failed) == (3, {})


def test_what_fails_three_times_is_lost_unless_there_is_a_destination() -> None:
    function = Lambda(failures=9)
    function.invoke({})

    assert (function.calls, function.queue.lost) == (3, {"f": 1})


def test_a_failed_event_goes_to_its_destination_with_what_happened() -> None:
    function = Lambda(failures=9, policy=AsyncPolicy(retries=1, on_failure=DEAD_LETTERS))
    function.invoke({"id": 7})

    ((queue, record),) = function.sent
    assert (function.calls, queue, function.queue.lost) == (2, DEAD_LETTERS, {})
    assert record["requestPayload"] == {"id": 7}
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 2
    assert record["responsePayload"]["errorType"] == "ValueError"


def test_a_dead_letter_queue_gets_the_event_itself() -> None:
    function = Lambda(failures=9, policy=AsyncPolicy(dead_letters=DEAD_LETTERS))
    function.invoke({"id": 7})

    assert function.sent == [(DEAD_LETTERS, {"id": 7})]


def test_a_throttled_event_waits_and_is_no_failure() -> None:
    function, go_on = Lambda(failures=0), threading.Event()
    function.functions.serve("busy", lambda _: go_on.wait(10))
    busy = [
        threading.Thread(target=function.functions.invoke, args=("busy", {})) for _ in range(10)
    ]
    for thread in busy:
        thread.start()
    while function.functions.running("busy") < 10:
        pass
    throttles = function.functions.account("account").throttles

    function.queue.accept("f", {})
    while throttles["f"] < 3:  # as many failures would have ended it
        pass
    go_on.set()
    function.queue.wait("f", 10)

    assert (function.calls, function.queue.failed) == (1, {})
    for thread in busy:
        thread.join()


def test_a_throttled_event_is_given_up_when_it_is_too_old() -> None:
    function = Lambda(failures=0, policy=AsyncPolicy(seconds=60, on_failure=DEAD_LETTERS))
    function.functions.account("account").reserve("f", 0)
    function.invoke({})

    ((_, record),) = function.sent
    assert (function.calls, record["requestContext"]["condition"]) == (0, "EventAgeExceeded")


def test_a_recursive_loop_is_dropped_without_another_try() -> None:
    function = Lambda(failures=0)
    trace: str | None = None
    for _ in range(MAX_RUNS):
        trace = next_trace(trace, "f")
    function.invoke({}, trace)

    assert (function.calls, function.queue.lost) == (0, {"f": 1})
    assert function.functions.recursive_drops == {"f": 1}


def test_an_event_beyond_one_megabyte_is_refused() -> None:
    function = Lambda(failures=0)

    assert function.invoke("x" * (ASYNC_REQUEST_BYTES - 2)).status == ACCEPTED
    assert function.invoke("x" * (ASYNC_REQUEST_BYTES - 1)).status == 413
    assert function.calls == 1


def test_policies_are_read_from_what_the_template_declares() -> None:
    function = {
        "EventInvokeConfig": {
            "MaximumRetryAttempts": 0,
            "MaximumEventAgeInSeconds": 60,
            "DestinationConfig": {"OnFailure": {"Type": "SQS", "Destination": DEAD_LETTERS}},
        }
    }
    rule = {
        "RetryPolicy": {"MaximumRetryAttempts": 20, "MaximumEventAgeInSeconds": 7200},
        "DeadLetterConfig": {"QueueLogicalId": "DeadLetterQueue"},
    }

    assert AsyncPolicy.of(function) == AsyncPolicy(0, 60.0, DEAD_LETTERS)
    assert AsyncPolicy.of({}) == AsyncPolicy(2, 21_600.0)
    names = {"DeadLetterQueue.Arn": DEAD_LETTERS}
    assert RulePolicy.of(rule, names) == RulePolicy(20, 7200.0, DEAD_LETTERS)
    assert RulePolicy.of({"DeadLetterConfig": {"Arn": DEAD_LETTERS}}, {}) == RulePolicy(
        185, 86_400.0, DEAD_LETTERS
    )


def test_a_rule_tries_again_until_lambda_has_accepted_the_event() -> None:
    answers = [
        *[refused("TooManyRequestsException", "Rate Exceeded.")] * 2,
        Answer(None, None, 202),
    ]
    target = RuleTarget(lambda _: answers.pop(0), _never, RulePolicy(retries=5), QUICK)

    target.deliver({})

    assert (answers, target.lost) == ([], 0)


def test_what_a_rule_cannot_deliver_goes_to_its_dead_letter_queue_or_is_lost() -> None:
    sent: list[tuple[str, str]] = []
    gone = refused("ResourceNotFoundException", "Function not found")
    policy = RulePolicy(retries=2, dead_letters=DEAD_LETTERS)

    RuleTarget(lambda _: gone, lambda *call: sent.append(call), policy, QUICK).deliver({"a": 1})
    without = RuleTarget(lambda _: gone, _never, RulePolicy(retries=2), QUICK)
    without.deliver({"a": 1})

    assert sent == [(DEAD_LETTERS, '{"a": 1}')]
    assert without.lost == 1


def _never(*_: str) -> None:
    raise AssertionError("nothing is to be sent")
