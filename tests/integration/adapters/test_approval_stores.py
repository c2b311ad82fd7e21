"""What every store of decisions promises, asked of each in the same words."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from idea_explorer.domain.approvals import (
    BASE_MOVED,
    AppliedChange,
    Approval,
    approval_id,
    propose,
)
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.ids import ExplorationId, id_from_key
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.ports import Approvals
from idea_explorer.usecases.deps import Deps
from tests.fakes.explorations import NOW

EXPLORATION = id_from_key("ada", "code")
LARGE = "x" * 900_000  # more than an item of DynamoDB holds


@pytest.fixture
def approvals(stores: Deps) -> Approvals:
    return stores.approvals


def asked(
    call: str = "call_1", *, of: ExplorationId = EXPLORATION, content: str = "new\n"
) -> Approval:
    proposal = propose(RepositoryPath("a.txt"), content, "Change it", b"old\n")
    return Approval(
        id=approval_id(of, call),
        exploration_id=of,
        call_id=call,
        proposal=proposal,
        requested_at=NOW,
    )


def decided(approval: Approval, decision: str = "approve", **changes: object) -> Approval:
    return approval.model_copy(update={"decision": decision, "decided_at": NOW, **changes})


def test_requests_come_back_whole_and_in_the_order_of_asking(approvals: Approvals) -> None:
    requests = [asked(f"call_{n}", content=f"{n}\n") for n in (3, 1, 2)]
    for request in requests:
        approvals.request_approval(request)
    approvals.request_approval(asked(of=id_from_key("ada", "other")))

    assert list(approvals.approvals(EXPLORATION)) == requests


def test_asking_again_changes_nothing(approvals: Approvals) -> None:
    approvals.request_approval(asked())
    approvals.decide(decided(asked()))

    approvals.request_approval(asked(content="other\n"))

    assert list(approvals.approvals(EXPLORATION)) == [decided(asked())]


def test_the_first_decision_stands(approvals: Approvals) -> None:
    approvals.request_approval(asked())

    assert approvals.decide(decided(asked())) == decided(asked())
    assert approvals.decide(decided(asked(), "reject")) == decided(asked())
    assert list(approvals.approvals(EXPLORATION)) == [decided(asked())]


def test_of_many_decisions_at_once_all_see_the_same_one(approvals: Approvals) -> None:
    approvals.request_approval(asked())
    votes = [decided(asked(), "approve", content=f"{n}\n") for n in range(6)]

    with ThreadPoolExecutor(6) as pool:
        stood = list(pool.map(approvals.decide, votes))

    assert len({approval.content for approval in stood}) == 1
    assert list(approvals.approvals(EXPLORATION)) == [stood[0]]


def test_what_nobody_asked_for_cannot_be_decided(approvals: Approvals) -> None:
    with pytest.raises(MissingError):
        approvals.decide(decided(asked()))


def test_a_file_of_a_megabyte_fits_twice(approvals: Approvals) -> None:
    request = asked(content=LARGE)
    approvals.request_approval(request)
    approvals.decide(decided(request, content=LARGE + "y"))

    (found,) = approvals.approvals(EXPLORATION)
    assert found.proposal.content == LARGE
    assert found.approved_content == LARGE + "y"


def test_the_latest_token_is_kept(approvals: Approvals) -> None:
    assert approvals.token(EXPLORATION) is None
    approvals.keep_token(EXPLORATION, "first")
    approvals.keep_token(EXPLORATION, "second")
    assert approvals.token(EXPLORATION) == "second"
    assert approvals.token(id_from_key("ada", "other")) is None


def test_what_became_of_a_change_is_stored_once_and_after_its_decision(
    approvals: Approvals,
) -> None:
    approvals.request_approval(asked())
    written = AppliedChange(at=NOW, commit="abc")
    assert approvals.apply(asked().model_copy(update={"applied": written})) == asked()
    approvals.decide(decided(asked()))

    first = approvals.apply(decided(asked(), applied=written))
    stale = AppliedChange(at=NOW, error_type=BASE_MOVED, message="Too late.")
    second = approvals.apply(decided(asked(), applied=stale))

    assert first == second == decided(asked(), applied=written)
    assert list(approvals.approvals(EXPLORATION)) == [first]
    with pytest.raises(MissingError):
        approvals.apply(decided(asked("another"), applied=written))
