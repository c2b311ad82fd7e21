"""Publishing to GitHub: one commit per run, whatever dies on the way and whoever else is writing."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import ExplorerError, RateLimitedError
from idea_explorer.domain.exploration import Exploration
from tests.fakes.clock import START, ManualClock
from tests.fakes.desk import (
    DOCUMENT,
    FOLDER,
    IDEA,
    LOG,
    SLUG,
    Desk,
    calls_of_a_publication,
    commits_of,
    github_publisher,
)
from tests.fakes.github_limits import Limits
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.github_wire import ReceivedRequest


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def github(tmp_path: Path, clock: ManualClock) -> Iterator[FakeGitHub]:
    with FakeGitHub(
        tmp_path / "github", token="t0ken", clock=lambda: clock.now().timestamp()
    ) as github:
        yield github


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n"})


@pytest.fixture
def desk(github: FakeGitHub, tmp_path: Path, clock: ManualClock) -> Desk:
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, github_publisher(github, tmp_path / "leases.db", clock), clock)


@pytest.fixture
def crowd(github: FakeGitHub, tmp_path: Path) -> Desk:
    """A desk for many at once, on real time."""
    clock = SystemClock()
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, github_publisher(github, tmp_path / "leases.db", clock), clock)


def log_of(repo: Repository, path: str = LOG) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = json.loads(repo.read_text(path))
    return entries


def test_both_files_arrive_in_one_commit_that_names_exploration_and_run(
    desk: Desk, repo: Repository
) -> None:
    exploration = desk.finished()
    final = desk.publish(exploration)

    (commit,) = commits_of(repo, exploration.id)
    assert commit.message.splitlines()[0] == f"idea: {SLUG} - research complete"
    assert commit.trailers == {"Exploration-Id": exploration.id, "Exploration-Run": "1"}
    assert (final.status, final.publication.path, final.publication.commit) == (
        "completed",
        DOCUMENT,
        commit.sha,
    )
    assert final.publication.url == f"https://github.com/acme/ideas/blob/main/{DOCUMENT}"
    assert repo.read_text(DOCUMENT).startswith(f"---\nidea: {IDEA}\n")
    assert [entry["jobId"] for entry in log_of(repo)] == [exploration.id]
    assert repo.read_text("README.md") == "hello\n"


def test_publishing_again_writes_nothing(desk: Desk, github: FakeGitHub, repo: Repository) -> None:
    exploration = desk.finished()
    desk.publish(exploration)
    writes = sum(request.writes for request in github.requests)
    desk.publish(exploration)

    assert sum(request.writes for request in github.requests) == writes
    assert len(commits_of(repo, exploration.id)) == 1


def test_killed_at_every_boundary_and_run_again_it_commits_once(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    calls = calls_of_a_publication(desk, github)
    kills = 0
    for nth in range(1, calls + 1):
        for acts in (False, True):
            exploration = desk.finished(idea=f"Killed at call {nth}, {acts}")
            github.faults.clear()
            github.faults.drop(nth=nth, acts=acts)
            with pytest.raises(ExplorerError) as killed:
                desk.publish(exploration)
            assert killed.value.retryable
            kills += 1
            final = desk.publish(exploration)

            commits = commits_of(repo, exploration.id)
            assert len(commits) == 1, (nth, acts)
            assert (final.status, final.publication.commit) == ("completed", commits[0].sha)
            assert final.publication.document is not None
            folder = final.publication.document.rpartition("/")[0]
            entries = log_of(repo, f"{folder}/exploration-log.json")
            assert [entry["jobId"] for entry in entries] == [exploration.id]
    commits_in_all = len(repo.log()) - 3
    print(f"kills: {kills}, commits: {commits_in_all}")
    assert commits_in_all == kills


def commit_many(repo: Repository, count: int) -> None:
    """So many commits of somebody else's, in one go."""
    rows = [f"reset refs/heads/main\nfrom {repo.head()}\n"]
    for number in range(count):
        note = f"note {number}\n"
        rows.append(
            "commit refs/heads/main\ncommitter Somebody Else <else@example.com> now\n"
            f"data 4\nnote\nM 100644 inline notes.md\ndata {len(note)}\n{note}\n"
        )
    repo.git.run("fast-import", "--quiet", "--date-format=now", stdin="".join(rows).encode())


def committed_unheard(desk: Desk, github: FakeGitHub) -> Exploration:
    """One whose commit was made, and whose publisher never heard of it."""
    exploration = desk.finished()
    github.faults.drop("git/refs", "PATCH", acts=True)
    with pytest.raises(ExplorerError):
        desk.publish(exploration)
    return exploration


def test_a_commit_is_found_again_under_many_later_ones(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    exploration = committed_unheard(desk, github)
    commit_many(repo, 250)
    final = desk.publish(exploration)

    (commit,) = commits_of(repo, exploration.id)
    assert (final.publication.commit, final.publication.document) == (commit.sha, DOCUMENT)


def test_history_is_walked_no_further_back_than_the_beginning(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    commit_many(repo, 250)
    exploration = desk.finished(record={"created_at": datetime(2100, 1, 1, tzinfo=UTC)})
    desk.publish(exploration)

    assert sum("/commits?" in request.target for request in github.requests) == 1


def test_a_document_that_was_removed_after_its_commit_stays_removed(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    exploration = committed_unheard(desk, github)
    repo.commit({DOCUMENT: None, LOG: None})
    final = desk.publish(exploration)

    assert final.status == "completed"
    assert set(repo.files()) == {"README.md"}


def test_a_head_that_moves_meanwhile_is_built_upon(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    moves = iter(range(3))

    def somebody_pushes(moment: str, request: ReceivedRequest) -> None:
        if moment == "before" and request.method == "PATCH":
            number = next(moves, None)
            if number is not None:
                repo.commit({f"notes-{number}.md": "by hand\n"})

    github.on_request = somebody_pushes
    exploration = desk.finished()
    desk.publish(exploration)

    assert len(commits_of(repo, exploration.id)) == 1
    assert {"notes-0.md", "notes-1.md", "notes-2.md", DOCUMENT, LOG} <= set(repo.files())


def test_a_head_that_never_stands_still_is_tried_again_later(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    def somebody_pushes(moment: str, request: ReceivedRequest) -> None:
        if moment == "before" and request.method == "PATCH":
            repo.commit({"notes.md": request.body.decode()})

    github.on_request = somebody_pushes
    with pytest.raises(ExplorerError, match="moved at each") as caught:
        desk.publish(desk.finished())
    assert caught.value.retryable


def publish_at_once(crowd: Desk, explorations: list[Exploration]) -> list[Exploration]:
    with ThreadPoolExecutor(len(explorations)) as pool:
        return list(pool.map(crowd.publish_as_the_workflow_does, explorations))


def test_two_at_once_both_land(crowd: Desk, repo: Repository) -> None:
    explorations = [crowd.finished(idea=f"Idea number {n}") for n in range(2)]
    finals = publish_at_once(crowd, explorations)

    assert [final.status for final in finals] == ["completed"] * 2
    assert [len(commits_of(repo, e.id)) for e in explorations] == [1, 1]


def test_the_same_idea_twice_at_once_stands_side_by_side(crowd: Desk, repo: Repository) -> None:
    explorations = [crowd.finished() for _ in range(2)]
    finals = publish_at_once(crowd, explorations)

    assert {final.publication.document for final in finals} == {DOCUMENT, f"{FOLDER}-2/research.md"}
    assert {e.id in repo.read_text(DOCUMENT) for e in explorations} == {True, False}


def test_one_run_published_by_two_workers_at_once_is_committed_once(
    crowd: Desk, github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    exploration = crowd.finished()

    def build_and_publish(number: int) -> str | None:
        # no lease in common: only the branch's own compare-and-set keeps them apart
        publisher = github_publisher(github, tmp_path / f"leases-{number}.db", crowd.clock)
        other = Desk(crowd.store, publisher, crowd.clock)
        try:
            return other.publish(exploration).publication.commit
        except ExplorerError:
            return None  # the other worker has taken over

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(build_and_publish, range(4)))
    assert len(commits_of(repo, exploration.id)) == 1


def land_at_once(crowd: Desk, github: FakeGitHub, repo: Repository, count: int) -> None:
    explorations = [crowd.finished(idea=f"Idea number {n}") for n in range(count)]
    finals = publish_at_once(crowd, explorations)

    landed = sum(len(commits_of(repo, e.id)) == 1 for e in explorations)
    refused = sum(request.status == 403 for request in github.requests)
    print(f"published at once: {count}, landed: {landed}, refused calls: {refused}")
    assert [final.status for final in finals] == ["completed"] * count
    assert landed == count
    assert len(repo.log()) == count + 1
    assert refused >= 1


@pytest.mark.long
def test_eight_at_once_all_land_when_github_refuses_some(
    crowd: Desk, github: FakeGitHub, repo: Repository
) -> None:
    said = b'{"message": "You have exceeded a secondary rate limit."}'
    for path, method in {"git/trees": "POST", "git/commits": "POST", "git/refs": "PATCH"}.items():
        wait = {"Retry-After": "0.2"}
        github.faults.fail(403, path, method, nth=3, body=said, headers=wait)
    land_at_once(crowd, github, repo, 8)


@pytest.mark.slow
def test_fifty_at_once_all_land_against_the_secondary_limit(
    crowd: Desk, github: FakeGitHub, repo: Repository
) -> None:
    github.limits = Limits()
    github.limits.max_content_requests = 30
    github.limits.window_seconds = 5.0
    github.limits.retry_after = 2
    land_at_once(crowd, github, repo, 50)


def test_after_a_limit_nobody_calls_before_its_time(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    github.limits.max_content_requests = 0
    github.limits.retry_after = 60
    with pytest.raises(RateLimitedError) as first:
        desk.publish(desk.finished())
    calls = len(github.requests)
    with pytest.raises(RateLimitedError) as second:
        desk.publish(desk.finished())

    assert first.value.retry_after == 60
    assert second.value.retry_after is not None
    assert 0 < second.value.retry_after <= 60
    assert len(github.requests) - calls <= 1  # the name of the default branch


def test_a_resumed_run_rewrites_its_own_document(desk: Desk, repo: Repository) -> None:
    exploration = desk.finished(outcome="partial")
    desk.publish(exploration)
    desk.publish(desk.again(exploration.id, "# The whole report"))

    assert repo.read_text(DOCUMENT).endswith("# The whole report\n")
    assert [entry["run"] for entry in log_of(repo)] == [1, 2]
    assert [len(commits_of(repo, exploration.id, run)) for run in (1, 2)] == [1, 1]
    assert not any(path.startswith(f"{FOLDER}-2") for path in repo.files())


def test_a_document_edited_by_hand_is_left_as_it_is(desk: Desk, repo: Repository) -> None:
    exploration = desk.finished(outcome="partial")
    desk.publish(exploration)
    edited = repo.read_text(DOCUMENT) + "\nOur own remark.\n"
    repo.commit({DOCUMENT: edited})
    final = desk.publish(desk.again(exploration.id, "# The whole report"))

    assert repo.read_text(DOCUMENT) == edited
    assert repo.read_text(f"{FOLDER}-2/research.md").endswith("# The whole report\n")
    assert final.status == "completed"
    assert final.publication.notice is not None
    assert "left as it is" in final.publication.notice
    third = desk.publish(desk.again(exploration.id, "# The third report"))
    assert third.publication.document == f"{FOLDER}-2/research.md"


def test_line_ends_changed_by_a_checkout_are_no_edit(desk: Desk, repo: Repository) -> None:
    exploration = desk.finished(outcome="partial")
    desk.publish(exploration)
    for path in (DOCUMENT, LOG):
        repo.commit({path: repo.read_text(path).replace("\n", "\r\n")})
    final = desk.publish(desk.again(exploration.id, "# The whole report"))

    assert final.publication.document == DOCUMENT
    assert final.publication.notice is None
    assert [entry["run"] for entry in log_of(repo)] == [1, 2]


REFUSED = {
    "pull_request": "protected",
    "restricted": "may not push",
    "ruleset": "rule violations",
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_protected_branch_is_a_clear_failure_that_keeps_the_report(
    desk: Desk, repo: Repository, rule: str
) -> None:
    repo.protect("main", rule)  # type: ignore[arg-type]
    final = desk.publish(desk.finished())

    assert final.status == "failed"
    assert final.run.receipt is not None
    assert (final.run.receipt.stage, final.run.receipt.has_partial_text) == ("publish", True)
    assert REFUSED[rule].lower() in final.run.receipt.message.lower()
    assert "GITHUB_BRANCH" in final.run.receipt.message
    assert desk.store.load_report(final.id).startswith("# Boxes")
    assert len(repo.log()) == 1


def test_an_empty_repository_asks_for_a_first_commit(desk: Desk, github: FakeGitHub) -> None:
    github.create_repository("acme/ideas", None)
    final = desk.publish(desk.finished())

    assert final.status == "failed"
    assert final.run.receipt is not None
    assert "Add a first commit" in final.run.receipt.message


def test_a_missing_repository_or_branch_is_named(
    desk: Desk, github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    leases = tmp_path / "other-leases.db"
    desk.publisher = github_publisher(github, leases, desk.clock, repository="acme/other")
    no_repository = desk.publish(desk.finished())
    desk.publisher = github_publisher(github, leases, desk.clock, branch="drafts")
    no_branch = desk.publish(desk.finished())

    assert no_repository.run.receipt is not None
    assert "does not know acme/other" in no_repository.run.receipt.message
    assert no_branch.run.receipt is not None
    assert "no branch 'drafts'" in no_branch.run.receipt.message


def test_a_token_that_may_only_read_is_named_as_the_cause(
    desk: Desk, github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    github.grant("reader", "acme/ideas", "read")
    desk.publisher = github_publisher(github, tmp_path / "l.db", desk.clock, token=lambda: "reader")
    final = desk.publish(desk.finished())

    assert final.status == "failed"
    assert final.run.receipt is not None
    assert "permissions on acme/ideas" in final.run.receipt.message


def test_a_failure_of_githubs_own_is_tried_again_until_it_is_given_up(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    exploration = desk.finished()
    github.faults.fail(502, "git/trees", "POST")
    with pytest.raises(ExplorerError) as caught:
        desk.publish(exploration)
    given_up = desk.publish(exploration, give_up=caught.value)

    assert caught.value.retryable
    assert given_up.status == "failed"
    assert given_up.run.receipt is not None
    assert given_up.run.receipt.stage == "publish"
    assert given_up.run.receipt.message == caught.value.sentence
    assert commits_of(repo, exploration.id) == []


def test_an_answer_that_cannot_be_read_is_tried_again(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    exploration = desk.finished()
    github.faults.garble("git/refs", "PATCH")
    final = desk.publish_patiently(exploration)

    assert final.status == "completed"
    assert len(commits_of(repo, exploration.id)) == 1
    assert len(desk.waits) == 1


SECONDARY = b'{"message": "You have exceeded a secondary rate limit."}'


@pytest.mark.parametrize(
    ("headers", "times", "waits"),
    [
        ({"Retry-After": "150"}, 1, [150]),
        ({"Retry-After": formatdate(START.timestamp() + 150, usegmt=True)}, 1, [150]),
        ({}, 2, [60, 120]),  # a minute where GitHub names no time, and then longer
    ],
    ids=["seconds", "date", "no time"],
)
def test_a_limit_is_waited_for_as_long_as_github_asks(
    desk: Desk,
    github: FakeGitHub,
    repo: Repository,
    headers: dict[str, str],
    times: int,
    waits: list[float],
) -> None:
    exploration = desk.finished()
    github.faults.fail(403, "git/trees", "POST", times=times, body=SECONDARY, headers=headers)
    began = desk.clock.monotonic()
    final = desk.publish_patiently(exploration)

    assert final.status == "completed"
    assert len(commits_of(repo, exploration.id)) == 1
    for wait, said in zip(waits, desk.waits, strict=True):
        assert f"in {wait} s" in said
    assert desk.clock.monotonic() - began == pytest.approx(sum(waits), abs=1)


def test_a_limit_that_outlasts_all_patience_is_said_at_once(
    desk: Desk, github: FakeGitHub, repo: Repository
) -> None:
    exploration = desk.finished()
    github.limits.exhaust(seconds=1_800)
    before = len(github.requests)
    final = desk.publish_patiently(exploration)

    assert (final.status, desk.waits) == ("failed", [])
    assert final.run.receipt is not None
    assert "GitHub's rate limit was reached" in final.run.receipt.message
    assert len(github.requests) == before + 1


ODD_STATES: dict[str, tuple[dict[str, str | bytes | None], str]] = {
    "document turned into a folder": (
        {DOCUMENT: None, f"{DOCUMENT}/notes.md": "kept"},
        "is not a file",
    ),
    "log that is not UTF-8": ({LOG: b"[\xff\xfe]"}, "not UTF-8"),
    "log that is not JSON": ({LOG: "[{,]"}, "not valid JSON"),
    "log that is no array": ({LOG: '{"a": 1}'}, "not an array"),
    "document that is not UTF-8": ({DOCUMENT: b"\xff\xfe caf\xe9"}, "not UTF-8"),
    "document of 50 MB": ({DOCUMENT: b"x" * 50_000_000}, "too many to append to"),
}


@pytest.mark.parametrize("state", ODD_STATES)
def test_what_cannot_be_rewritten_is_left_alone_and_said(
    desk: Desk, repo: Repository, state: str
) -> None:
    files, reason = ODD_STATES[state]
    exploration = desk.finished(outcome="partial")
    desk.publish(exploration)
    repo.commit(files)
    before = repo.head()
    final = desk.publish(desk.again(exploration.id, "# The whole report"))

    assert final.status == "failed"
    assert final.run.receipt is not None
    assert reason in final.run.receipt.message
    assert repo.head() == before
    assert desk.store.load_report(exploration.id) == "# The whole report"


def test_ideas_that_is_a_file_is_not_replaced_by_a_folder(desk: Desk, repo: Repository) -> None:
    repo.commit({"ideas": "our list of ideas\n"})
    final = desk.publish(desk.finished())

    assert final.run.receipt is not None
    assert "ideas is not a folder" in final.run.receipt.message
    assert repo.read_text("ideas") == "our list of ideas\n"


def test_a_file_with_the_folders_name_is_stepped_around(desk: Desk, repo: Repository) -> None:
    repo.commit({FOLDER: "a note\n"})
    final = desk.publish(desk.finished())

    assert final.publication.document == f"{FOLDER}-2/research.md"
    assert repo.read_text(FOLDER) == "a note\n"
