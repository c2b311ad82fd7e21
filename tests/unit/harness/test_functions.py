"""What Lambda refuses before it runs a function."""

import threading

import pytest

from tests.e2e.harness.account import InvalidParameterValueError
from tests.e2e.harness.functions import RECURSIVE, THROTTLED, name_in
from tests.e2e.harness.limits import SYNC_REQUEST_BYTES
from tests.e2e.harness.lineage import MAX_RUNS, next_trace
from tests.unit.harness.in_process import InProcessFunctions


@pytest.mark.parametrize(
    "reference",
    [
        "notify",
        "notify:live",
        "123456789012:function:notify",
        "arn:aws:lambda:us-east-1:123456789012:function:notify",
        "arn:aws:lambda:us-east-1:123456789012:function:notify:live",
        "arn:aws:lambda:us-east-1:123456789012:function:notify:$LATEST",
    ],
)
def test_a_function_is_found_by_any_of_its_names(reference: str) -> None:
    functions = InProcessFunctions()
    functions.serve("notify", lambda event: event)

    assert name_in(reference) == "notify"
    assert functions.invoke(reference, {"a": 1}).payload == {"a": 1}


def test_a_function_that_is_not_there_is_not_found() -> None:
    answer = InProcessFunctions().invoke("nowhere", {})

    assert (answer.error, answer.status) == ("ResourceNotFoundException", 404)


def test_a_chain_that_has_run_a_function_sixteen_times_is_dropped() -> None:
    functions = InProcessFunctions()
    functions.serve("loop", lambda event: event)
    functions.serve("other", lambda event: event)
    trace: str | None = None
    for _ in range(MAX_RUNS):
        assert functions.invoke("loop", {}, trace).ok
        trace = next_trace(trace, "loop")

    answer = functions.invoke("loop:live", {}, trace)

    assert (answer.error, answer.status) == (RECURSIVE, 400)
    assert functions.recursive_drops == {"loop": 1}
    assert functions.invoke("other", {}, trace).ok
    assert functions.invoke("loop", {}).ok


def test_the_eleventh_at_once_is_throttled_whichever_function_it_is() -> None:
    functions, go_on = InProcessFunctions(), threading.Event()
    for name in ("explore", "api"):
        functions.serve(name, lambda _: go_on.wait(10))
    calls = [threading.Thread(target=functions.invoke, args=("explore", {})) for _ in range(10)]
    for call in calls:
        call.start()
    while functions.running("explore") < 10:
        assert any(call.is_alive() for call in calls)

    answer = functions.invoke("api", {})
    go_on.set()
    for call in calls:
        call.join()

    assert (answer.error, answer.status) == (THROTTLED, 429)
    assert answer.payload["Reason"] == "ConcurrentInvocationLimitExceeded"
    assert functions.invoke("api", {}).ok
    assert functions.account("account").throttles == {"api": 1}


def test_accounts_do_not_share_and_reserve_only_what_they_can_spare() -> None:
    functions = InProcessFunctions()
    functions.open_account("small", 1)
    functions.open_account("large", 101)
    functions.serve("calls", lambda _: functions.invoke("large", {}).ok, account="small")
    functions.serve("large", lambda event: event, account="large", reserved=1)

    assert functions.invoke("calls", {}).payload is True
    with pytest.raises(InvalidParameterValueError):
        functions.serve("more", lambda event: event, account="small", reserved=1)


def test_a_request_beyond_six_megabytes_is_refused() -> None:
    functions = InProcessFunctions()
    functions.serve("any", len)

    assert functions.invoke("any", "x" * (SYNC_REQUEST_BYTES - 2)).ok
    assert functions.invoke("any", "x" * (SYNC_REQUEST_BYTES - 1)).status == 413
