"""Undoing on GitHub what an exploration wrote: one pull request, and nobody else's work touched."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.github.branches import branch_of
from idea_explorer.adapters.github.changes import GitHubChanges
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.revert import GitHubReverter
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.errors import ConflictError, MissingError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import RevertResult
from tests.fakes.desk import DOCUMENT, FOLDER, LOG, Desk, github_publisher
from tests.fakes.explorations import an_approval, an_exploration
from tests.fakes.github_git import Signature
from tests.fakes.github_repository import Executable, Files, Repository
from tests.fakes.github_server import FakeGitHub

FILES: Files = {
    "src/app.py": "print('tea')\n",
    "run.sh": Executable(b"echo tea\n"),
    "README.md": "# Tea\n",
}
GREEN = "print('green tea')\n"


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", FILES)


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> GitHubClient:
    return GitHubClient(repo.full_name, lambda: "t0ken", github.url)


@pytest.fixture
def changes(client: GitHubClient) -> GitHubChanges:
    return GitHubChanges(client, None)


@pytest.fixture
def exploration(repo: Repository) -> Exploration:
    return an_exploration(base_commit=repo.head(), title="Green tea")


@pytest.fixture
def reverter(client: GitHubClient) -> GitHubReverter:
    return GitHubReverter(client, None)


@pytest.fixture
def desk(github: FakeGitHub, repo: Repository, tmp_path: Path) -> Desk:
    clock = SystemClock()
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, github_publisher(github, tmp_path / "leases.db", clock), clock)


def write(
    changes: GitHubChanges, exploration: Exploration, path: str, content: str, base: str | None
) -> None:
    old = None if base is None else base.encode()
    changes.write_change(exploration, an_approval(exploration, path, content, old))


def merge(repo: Repository, branch: str, *, how: str = "rebase") -> None:
    """What a person does at a pull request: the commits as they are, a merge of them, or one of all."""
    main, head = repo.head(), repo.head(branch)
    if how == "rebase":
        assert repo.git.update_ref("refs/heads/main", head, main)
        return
    tree = repo.git.run("rev-parse", f"{head}^{{tree}}").decode().strip()
    told = repo.git.run("log", "--format=* %B", f"{main}..{branch}").decode()
    parents = [main, head] if how == "merge" else [main]
    message = f"Merge pull request #1 from acme/{branch}\n\n{told}"
    author = Signature("Somebody Else", "else@example.com", int(repo.clock()))
    made = repo.git.write_commit(tree, parents, message, author, author)
    assert repo.git.update_ref("refs/heads/main", made, main)


def revert(reverter: GitHubReverter, exploration: Exploration) -> RevertResult:
    return reverter.propose_revert(exploration.id, since=exploration.created_at)


def test_a_published_report_is_taken_back_by_a_pull_request(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    before = repo.files()
    final = desk.publish(desk.finished())
    assert final.publication.document == DOCUMENT

    undone = revert(reverter, final)

    (pull,) = repo.pulls
    assert undone == RevertResult(
        [LOG, DOCUMENT], True, f"https://github.com/acme/ideas/pull/{pull.number}"
    )
    assert pull.base == "main"
    assert pull.title.startswith('Revert "idea: ')
    assert repo.files(pull.head) == before
    assert DOCUMENT in repo.files()  # until a person merges it
    (made,) = [c for c in repo.log(pull.head) if "Reverts-Exploration" in c.trailers]
    assert f"This reverts commit {final.publication.commit}." in made.message
    assert made.trailers["Reverts-Exploration"] == final.id


@pytest.mark.parametrize("how", ["rebase", "merge", "squash"])
def test_merged_changes_are_undone_however_they_were_merged(
    changes: GitHubChanges,
    repo: Repository,
    reverter: GitHubReverter,
    exploration: Exploration,
    how: str,
) -> None:
    before, modes = repo.files(), repo.git.run("ls-tree", "-r", "main")
    write(changes, exploration, "src/app.py", GREEN, "print('tea')\n")
    write(changes, exploration, "src/app.py", "print('white tea')\n", GREEN)
    write(changes, exploration, "run.sh", "echo green\n", "echo tea\n")
    write(changes, exploration, "docs/kinds.md", "# Kinds\n", None)
    merge(repo, branch_of(exploration.id), how=how)

    undone = revert(reverter, exploration)

    assert undone.files == ["docs/kinds.md", "run.sh", "src/app.py"]
    (pull,) = repo.pulls
    assert repo.files(pull.head) == before
    assert repo.git.run("ls-tree", "-r", pull.head) == modes
    reverts = repo.git.run("rev-list", "--count", f"main..{pull.head}").decode().strip()
    assert reverts == ("1" if how == "squash" else "4")


def test_what_others_did_elsewhere_stays(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())
    other = desk.publish(desk.finished(idea="Another idea"))
    repo.commit({"README.md": "# Coffee\n"})

    revert(reverter, final)

    assert other.publication.document is not None
    left = repo.files(repo.pulls[0].head)
    assert other.publication.document in left
    assert left["README.md"] == b"# Coffee\n"
    assert DOCUMENT not in left


def test_a_second_call_answers_with_the_pull_request_that_is_open(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())

    first = revert(reverter, final)
    repo.commit({DOCUMENT: "changed since\n"})
    second = revert(reverter, final)

    assert (first.is_new, second.is_new) == (True, False)
    assert second.url == first.url
    assert len(repo.pulls) == 1


def test_many_at_once_open_one_pull_request(
    desk: Desk, repo: Repository, client: GitHubClient
) -> None:
    final = desk.publish(desk.finished())

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: revert(GitHubReverter(client, None), final), range(4)))

    assert len({undone.url for undone in made}) == 1
    assert len(repo.pulls) == 1
    assert len(repo.branches()) == 2


def test_one_that_broke_off_before_its_pull_request_opens_it_when_repeated(
    desk: Desk, repo: Repository, reverter: GitHubReverter, github: FakeGitHub
) -> None:
    final = desk.publish(desk.finished())
    github.faults.fail(503, "/pulls", "POST")
    with pytest.raises(UnavailableError):
        revert(reverter, final)
    assert len(repo.branches()) == 2

    assert revert(reverter, final).is_new

    assert len(repo.pulls) == 1
    assert len(repo.branches()) == 2


def test_one_that_was_declined_can_be_proposed_again(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())
    revert(reverter, final)
    repo.pulls[0].state = "closed"

    again = revert(reverter, final)

    assert again.is_new
    assert [pull.state for pull in repo.pulls] == ["closed", "open"]


def test_a_file_that_somebody_changed_is_named_and_nothing_is_undone(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())
    repo.commit({DOCUMENT: "# In our own words\n"})

    with pytest.raises(ConflictError) as refused:
        revert(reverter, final)

    assert refused.value.message == (f"Changed since: {DOCUMENT}; nothing was undone.")
    assert refused.value.hint == f"Revert it yourself: git revert {final.publication.commit}"
    assert repo.branches() == ["main"]
    assert repo.pulls == []


def test_a_file_that_somebody_changed_between_two_changes_is_named_too(
    changes: GitHubChanges, repo: Repository, reverter: GitHubReverter, exploration: Exploration
) -> None:
    write(changes, exploration, "src/app.py", GREEN, "print('tea')\n")
    repo.commit({"src/app.py": "print('by hand')\n"}, branch=branch_of(exploration.id))
    write(changes, exploration, "src/app.py", "print('white')\n", "print('by hand')\n")
    merge(repo, branch_of(exploration.id))

    with pytest.raises(ConflictError, match=r"src/app\.py"):
        revert(reverter, exploration)


def test_what_was_undone_stays_undone(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())
    first = revert(reverter, final)
    merge(repo, repo.pulls[0].head)
    repo.pulls[0].state = "closed"

    again = revert(reverter, final)

    assert again == RevertResult([LOG, DOCUMENT], False, first.url)
    assert len(repo.pulls) == 1


def test_a_run_after_the_undoing_is_undone_by_a_pull_request_of_its_own(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    final = desk.publish(desk.finished())
    revert(reverter, final)
    merge(repo, repo.pulls[0].head, how="squash")
    repo.pulls[0].state = "closed"
    before = repo.files()
    desk.publish(desk.again(final.id, "# The second try\n\nAll new."))

    again = revert(reverter, final)

    assert again.is_new
    assert repo.files(repo.pulls[1].head) == before


def test_two_runs_of_one_exploration_are_undone_together(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    before = repo.files()
    final = desk.publish(desk.finished())
    desk.publish(desk.again(final.id, "# The second run\n\nMore."))

    revert(reverter, final)

    assert repo.files(repo.pulls[0].head) == before


def test_an_update_is_taken_out_of_the_document_it_was_added_to(
    desk: Desk, repo: Repository, reverter: GitHubReverter
) -> None:
    desk.publish(desk.finished())
    before = repo.files()
    record = {"builds_on": DOCUMENT}
    update = desk.publish(desk.finished(report="# News\n\nMore.", record=record, update=True))
    assert update.publication.document == DOCUMENT

    revert(reverter, update)

    assert repo.files(repo.pulls[0].head) == before


def test_changes_that_were_never_merged_are_left_to_their_pull_request(
    changes: GitHubChanges, repo: Repository, reverter: GitHubReverter, exploration: Exploration
) -> None:
    write(changes, exploration, "src/app.py", GREEN, "print('tea')\n")
    opened = changes.open_pull_request(exploration, "# Green")
    assert opened is not None

    with pytest.raises(ConflictError) as refused:
        revert(reverter, exploration)

    assert (
        f"is not in main, so there is nothing to revert. Close its pull request instead: {opened.url}"
        in (refused.value.sentence)
    )
    assert len(repo.pulls) == 1


def test_one_that_wrote_nothing_has_nothing_to_undo(
    reverter: GitHubReverter, repo: Repository, exploration: Exploration
) -> None:
    with pytest.raises(MissingError, match="wrote nothing to main of acme/ideas"):
        revert(reverter, exploration)

    assert repo.branches() == ["main"]


def test_the_branch_that_was_written_to_is_the_one_to_be_undone(
    github: FakeGitHub, repo: Repository, client: GitHubClient, tmp_path: Path
) -> None:
    repo.create_branch("notes")
    clock = SystemClock()
    publisher = github_publisher(github, tmp_path / "leases.db", clock, branch="notes")
    desk = Desk(SqliteStore(tmp_path / "explorations.db"), publisher, clock)
    final = desk.publish(desk.finished())

    revert(GitHubReverter(client, "notes"), final)

    (pull,) = repo.pulls
    assert pull.base == "notes"
    assert not any(path.startswith(FOLDER) for path in repo.files(pull.head))
