"""What a deployment sets because of the account's limits, and that AWS would take it."""

import pytest

from idea_explorer.domain.errors import ConfigurationError
from scripts.deploy.concurrency import MIN_UNRESERVED, AccountLimits, plan_concurrency


def wanted(**changes: str) -> dict[str, str]:
    return {
        "MaxRunning": "5",
        "MaxStreams": "0",
        "ApiReservedConcurrency": "0",
        "ExploreReservedConcurrency": "0",
        **changes,
    }


@pytest.mark.parametrize(
    ("limits", "asked", "planned"),
    [
        (AccountLimits(10, 10), "5", ("5", "0", "0")),  # a new account
        (AccountLimits(10, 10), "20", ("5", "0", "0")),
        (AccountLimits(50, 50), "20", ("20", "0", "0")),
        (AccountLimits(100, 100), "20", ("20", "0", "0")),
        (AccountLimits(155, 155), "20", ("20", "50", "0")),
        (AccountLimits(1_000, 1_000), "5", ("5", "50", "7")),
        (AccountLimits(1_000, 1_000), "20", ("20", "50", "24")),
        (AccountLimits(1_000, 110), "20", ("20", "0", "0")),  # others have reserved the rest
        (AccountLimits(1_000, 4), "5", ("2", "0", "0")),
    ],
)
def test_the_plan_fits_the_account(
    limits: AccountLimits, asked: str, planned: tuple[str, str, str]
) -> None:
    plan = plan_concurrency(limits, wanted(MaxRunning=asked), {})

    names = ("MaxRunning", "ApiReservedConcurrency", "ExploreReservedConcurrency")
    assert tuple(plan.parameters[name] for name in names) == planned
    assert plan.parameters["MaxStreams"] == "0"
    _, api, explore = map(int, planned)
    if api + explore:
        assert limits.unreserved - api - explore >= MIN_UNRESERVED
    else:
        assert int(planned[0]) <= max(1, limits.unreserved // 2)


def test_it_says_what_it_will_set_and_why() -> None:
    plan = plan_concurrency(AccountLimits(10, 10), wanted(MaxRunning="20"), {})

    assert " ".join(plan.sentences) == (
        "This account runs 10 functions at once, 10 of them unreserved."
        " MaxRunning is set to 5, not 20, so that the API can still answer."
        " Nothing is reserved: AWS keeps 100 unreserved, or all of a smaller limit."
        " Up to 5 explorations run at once."
    )


def test_what_the_command_names_is_kept_with_a_warning() -> None:
    plan = plan_concurrency(AccountLimits(10, 10), wanted(MaxRunning="8"), {"MaxRunning": "8"})

    assert plan.parameters["MaxRunning"] == "8"
    assert "leaves little room for the API" in " ".join(plan.sentences)


def test_a_reservation_that_aws_would_refuse_is_refused_here() -> None:
    named = {"ExploreReservedConcurrency": "6"}

    with pytest.raises(ConfigurationError, match="more than the 0 that can be reserved"):
        plan_concurrency(AccountLimits(10, 10), wanted(**named), named)
    plan = plan_concurrency(AccountLimits(1_000, 1_000), wanted(**named), named)
    assert plan.parameters["ExploreReservedConcurrency"] == "6"
    assert plan.parameters["ApiReservedConcurrency"] == "0"


@pytest.mark.parametrize(
    ("limits", "streams"),
    [
        (AccountLimits(10, 10), "0"),
        (AccountLimits(155, 155), "0"),  # too few to reserve any for explorations
        (AccountLimits(1_000, 1_000), "20"),
    ],
)
def test_a_new_stack_streams_where_there_is_room(limits: AccountLimits, streams: str) -> None:
    assert plan_concurrency(limits, wanted(), {}, is_new=True).parameters["MaxStreams"] == streams


def test_how_many_streams_there_are_is_left_to_the_operator() -> None:
    large, off = AccountLimits(1_000, 1_000), {"MaxStreams": "0"}

    assert plan_concurrency(large, wanted(), off, is_new=True).parameters["MaxStreams"] == "0"
    assert plan_concurrency(large, wanted(), {}).parameters["MaxStreams"] == "0"
    kept = plan_concurrency(AccountLimits(10, 10), wanted(MaxStreams="2"), {})
    assert kept.parameters["MaxStreams"] == "2"
    assert "Up to 2 people can follow them by a stream at once." in kept.sentences
    assert "MaxStreams" not in " ".join(kept.sentences)
    many = plan_concurrency(AccountLimits(10, 10), wanted(MaxStreams="3"), {})
    assert "MaxStreams 3 leaves little room for the API." in many.sentences
