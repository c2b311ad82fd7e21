"""Seeing and deciding over the API: the first decision stands, and the token stays here."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.api.approvals import TRUNCATED
from idea_explorer.domain.approvals import (
    AppliedChange,
    Approval,
    approval_id,
    content_hash,
    propose,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.usecases.approvals.wait import expire
from tests.fakes.api import Api


class Desk(Api):
    """An exploration that waits for a decision on two changes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.exploration = self.waiting()
        self.first, self.second = (self.ask(name) for name in ("a.txt", "b.txt"))

    def waiting(self) -> Exploration:
        running = self.run_to(self.submitted(toolset="code"), "running")
        now = self.clock.now()
        waiting = running.moved("awaiting_approval", at=now, awaiting_since=now)
        self.store.save(waiting)
        return waiting

    def ask(self, path: str, content: str = "new\n", base: bytes = b"old\n") -> Approval:
        approval = Approval(
            id=approval_id(self.exploration.id, path),
            exploration_id=self.exploration.id,
            call_id=path,
            proposal=propose(RepositoryPath(path), content, "Change it", base),
            requested_at=self.clock.now(),
        )
        self.approvals.request_approval(approval)
        return approval

    @property
    def place(self) -> str:
        return f"/explorations/{self.exploration.id}/approvals"

    def of(self, approval: Approval) -> str:
        return f"{self.place}/{approval.id}"

    def end(self, status: str) -> None:
        now = self.clock.now()
        self.store.take_over(
            self.exploration.id,
            lambda e: e.finished(status, at=now),  # type: ignore[arg-type]
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_proposals_are_shown_with_their_diff_and_never_with_the_token(desk: Desk) -> None:
    desk.approvals.keep_token(desk.exploration.id, "the-token")

    reply = desk.get(desk.place)

    first, second = reply.json["approvals"]
    assert (first["id"], first["status"], first["path"]) == (desk.first.id, "pending", "a.txt")
    assert "-old\n+new" in first["diff"]
    assert first["content"] == "new\n"
    assert first["base_sha"] == desk.first.proposal.base_sha
    assert second["path"] == "b.txt"
    assert "the-token" not in reply.text


def lambda_s_answer(desk: Desk) -> int:
    """Its size as the runtime sends it: the body is a text within the JSON."""
    answer = {"statusCode": 200, "body": desk.get(desk.place).text}
    return len(json.dumps(answer, ensure_ascii=False).encode())


@pytest.mark.parametrize("line", ["word " * 15, '"é\\"' * 10], ids=["plain", "escaped"])
def test_however_large_the_proposals_the_answer_stays_below_six_megabytes(
    desk: Desk, line: str
) -> None:
    decided = desk.ask("decided.txt", f"{line}\n" * 10_000)
    desk.post(desk.of(decided), {"decision": "reject", "reason": "No"})
    for number in range(6):
        desk.ask(f"large-{number}.txt", f"{line}{number}\n" * 10_000, f"{line}\n".encode() * 10_000)

    assert lambda_s_answer(desk) < 6_000_000

    shown = {a["path"]: a for a in desk.get(desk.place).json["approvals"]}
    assert shown["a.txt"]["content"] == "new\n"
    assert not shown["large-0.txt"]["diff"].endswith(
        TRUNCATED
    )  # what waits is seen whole, one by one
    assert shown["large-5.txt"]["diff"].endswith(TRUNCATED)
    assert shown["large-5.txt"]["content"] is None
    assert shown["decided.txt"]["diff"] == TRUNCATED


def test_the_run_wakes_when_all_is_decided(desk: Desk) -> None:
    approved = desk.post(desk.of(desk.first), {"decision": "approve"})
    assert (approved.status, approved.json["status"]) == (200, "approved")
    assert desk.woken == []

    rejected = desk.post(desk.of(desk.second), {"decision": "reject", "reason": "No."})

    assert (rejected.json["status"], rejected.json["reason"]) == ("rejected", "No.")
    assert desk.woken == [desk.exploration.id]


def test_approving_twice_is_approving_once(desk: Desk) -> None:
    replies = [desk.post(desk.of(desk.first), {"decision": "approve"}) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    told = [e for e in desk.store.read(desk.exploration.id) if e.type == "approval_decided"]
    assert len(told) == 1


@pytest.mark.parametrize(
    "other", [{"decision": "reject"}, {"decision": "approve", "content": "other\n"}]
)
def test_another_decision_than_the_one_made_is_a_conflict(
    desk: Desk, other: dict[str, str]
) -> None:
    desk.post(desk.of(desk.first), {"decision": "approve"})

    reply = desk.post(desk.of(desk.first), other)

    assert reply.status == 409
    assert reply.error["message"] == "The decision was made already: approve."


def test_of_approve_and_reject_at_once_one_stands(desk: Desk) -> None:
    votes = [{"decision": decision} for decision in ("approve", "reject") * 4]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda vote: desk.post(desk.of(desk.first), vote), votes))

    assert sorted(reply.status for reply in replies) == [200] * 4 + [409] * 4
    (stands,) = {reply.json["status"] for reply in replies if reply.status == 200}
    assert desk.get(desk.place).json["approvals"][0]["status"] == stands


def test_what_a_person_wrote_is_what_is_approved(desk: Desk) -> None:
    content = "mine\n" * 200_000

    reply = desk.post(desk.of(desk.first), {"decision": "approve", "content": content})

    assert (reply.status, reply.json["edited"]) == (200, True)
    assert desk.approvals.approvals(desk.exploration.id)[0].approved_content == content


LONG = b"".join(b"%d\n" % n for n in range(30))
LONG_NEW = LONG.decode().replace("3\n", "three\n", 1).replace("27\n", "")


def test_an_edit_is_shown_as_a_diff_and_decides_nothing(desk: Desk) -> None:
    long = desk.ask("long.txt", LONG_NEW, LONG)
    whole = desk.post(f"{desk.of(long)}/preview", {})
    part = desk.post(f"{desk.of(long)}/preview", {"hunks": [2]})
    mine = desk.post(f"{desk.of(long)}/preview", {"content": "mine\n"})

    assert whole.json == {"diff": long.proposal.diff, "content_hash": long.proposal.content_hash}
    assert ("-27\n" in part.json["diff"], "three" in part.json["diff"]) == (True, False)
    assert mine.json["diff"].endswith("+mine\n")
    assert mine.json["content_hash"] == content_hash("mine\n")
    assert desk.get(desk.place).json["approvals"][2]["status"] == "pending"
    assert desk.post(f"{desk.of(long)}/preview", {"hunks": [3]}).fields == {
        "hunks": "The change has 2 hunks."
    }
    assert desk.post(f"{desk.of(long)}/preview", {}, owner="eve").status == 404


def test_hunks_are_approved_as_an_edit(desk: Desk) -> None:
    long = desk.ask("long.txt", LONG_NEW, LONG)

    reply = desk.post(desk.of(long), {"decision": "approve", "hunks": [1]})

    assert (reply.status, reply.json["edited"], reply.json["hunks"]) == (200, True, [1])
    written = reply.json["approved_diff"]
    assert ("+three\n" in written, "-27\n" in written) == (True, False)
    stored = desk.approvals.approvals(desk.exploration.id)[2]
    assert stored.approved_content == LONG.decode().replace("3\n", "three\n", 1)


def test_the_list_tells_what_was_written_and_what_was_not(desk: Desk) -> None:
    now = desk.clock.now()
    outcomes = [
        AppliedChange(at=now, commit="abc"),
        AppliedChange(at=now, error_type="base_moved", message="It has changed."),
    ]
    for approval, applied in zip((desk.first, desk.second), outcomes, strict=True):
        desk.post(desk.of(approval), {"decision": "approve"})
        update = {"decision": "approve", "applied": applied}
        desk.approvals.apply(approval.model_copy(update=update))

    written, stale = desk.get(desk.place).json["approvals"]

    assert (written["status"], written["commit"]) == ("approved", "abc")
    assert written["applied_at"]
    assert (stale["status"], stale["message"]) == ("stale", "It has changed.")
    assert "applied_at" not in stale


@pytest.mark.parametrize("status", ["partial", "cancelled"])
def test_after_the_end_nothing_can_be_decided(desk: Desk, status: str) -> None:
    desk.end(status)

    reply = desk.post(desk.of(desk.first), {"decision": "approve"})

    assert reply.status == 409
    assert status in reply.error["message"]
    assert desk.get(desk.place).json["approvals"][0]["status"] == "expired"
    assert desk.approvals.approvals(desk.exploration.id)[0].decision is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "decision"),
        ({"decision": "maybe"}, "decision"),
        ({"decision": "reject", "content": "x"}, ""),
        ({"decision": "reject", "hunks": [1]}, ""),
        ({"decision": "approve", "hunks": [1], "content": "x"}, ""),
        ({"decision": "approve", "hunks": []}, "hunks"),
        ({"decision": "approve", "hunks": [0]}, "hunks"),
        ({"decision": "approve", "colour": "blue"}, "colour"),
        ({"decision": "reject", "reason": "x" * 2_001}, "reason"),
    ],
)
def test_a_decision_is_checked_field_by_field(desk: Desk, body: object, field: str) -> None:
    reply = desk.post(desk.of(desk.first), body)

    assert reply.status == 422
    assert field in reply.fields


def test_others_see_and_decide_nothing(desk: Desk) -> None:
    assert desk.get(desk.place, owner="eve").status == 404
    assert desk.post(desk.of(desk.first), {"decision": "approve"}, owner="eve").status == 404
    assert desk.post(f"{desk.place}/unheard-of", {"decision": "approve"}).status == 404
    assert desk.approvals.approvals(desk.exploration.id)[0].decision is None


def test_cancelling_one_that_waits_wakes_it_to_keep_what_is_there(desk: Desk) -> None:
    reply = desk.post(f"/explorations/{desk.exploration.id}/cancel")

    assert (reply.status, reply.json["cancel_requested"]) == (202, True)
    assert desk.woken == [desk.exploration.id]
    late = desk.post(desk.of(desk.first), {"decision": "approve"})
    assert (late.status, "is being cancelled" in late.error["message"]) == (409, True)
    assert desk.woken == [desk.exploration.id]


def test_what_nobody_decided_on_in_time_cannot_be_decided_any_more(desk: Desk) -> None:
    desk.post(desk.of(desk.first), {"decision": "approve"})
    expire(desk.exploration.id, 1, desk.deps)

    late = desk.post(desk.of(desk.second), {"decision": "approve"})

    assert late.status == 409
    assert late.error["message"] == "The time to decide is over; nothing was written."
    statuses = [approval["status"] for approval in desk.get(desk.place).json["approvals"]]
    assert statuses == ["approved", "expired"]
