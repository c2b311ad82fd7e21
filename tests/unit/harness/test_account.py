"""Concurrent executions as an account has them."""

import pytest

from tests.e2e.harness.account import Account, InvalidParameterValueError


def test_all_functions_share_ten_executions() -> None:
    account = Account()
    names = [f"function-{number % 3}" for number in range(10)]

    assert [account.enter(name) for name in names] == [None] * 10
    assert account.enter("api") == "ConcurrentInvocationLimitExceeded"
    account.leave("function-0")
    assert account.enter("api") is None
    assert (account.throttles["api"], account.most_at_once) == (1, 10)


def test_what_is_reserved_is_taken_from_all_others() -> None:
    account = Account(103)
    account.reserve("api", 3)

    assert [account.enter("explore") for _ in range(101)].count(None) == 100
    assert [account.enter("api") for _ in range(4)] == [
        *[None] * 3,
        "ReservedFunctionConcurrentInvocationLimitExceeded",
    ]


def test_a_reservation_of_none_throttles_everything() -> None:
    account = Account()
    account.reserve("explore", 0)

    assert account.enter("explore") is not None


@pytest.mark.parametrize(("limit", "minimum"), [(10, 10), (50, 50), (100, 100), (1000, 100)])
def test_a_reservation_that_leaves_too_few_is_refused(limit: int, minimum: int) -> None:
    account = Account(limit)
    account.reserve("api", limit - minimum)

    with pytest.raises(InvalidParameterValueError, match=rf"minimum value of \[{minimum}\]"):
        account.reserve("explore", 1)
