"""Approved changes on GitHub: one branch, a commit for each, one pull request, whoever tries how often."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.github.branches import branch_of
from idea_explorer.adapters.github.changes import GitHubChanges
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.domain.approvals import Approval, propose_delete, propose_move
from idea_explorer.domain.errors import BaseMovedError, ConfigurationError, UnavailableError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import MODELS, Settings
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import local_deps
from tests.fakes.explorations import an_approval, an_exploration
from tests.fakes.github_repository import CheckRun, Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.github_wire import ReceivedRequest
from tests.fakes.models import calls, raw, says, scripted, tool_results

FILES = {"src/app.py": "print('tea')\n", "README.md": "# Tea\n"}
NEW = "print('green tea')\n"


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/tea", FILES)


@pytest.fixture
def changes(github: FakeGitHub, repo: Repository) -> GitHubChanges:
    return GitHubChanges(GitHubClient(repo.full_name, lambda: "t0ken", github.url), None)


@pytest.fixture
def exploration(repo: Repository) -> Exploration:
    return an_exploration(base_commit=repo.head(), title="Green tea")


def approved(
    exploration: Exploration,
    path: str = "src/app.py",
    content: str = NEW,
    base: str | None = FILES["src/app.py"],
) -> Approval:
    old = None if base is None else base.encode()
    return an_approval(exploration, path, content, old)


def messages(repo: Repository, exploration: Exploration) -> list[str]:
    """The commits on the exploration's branch, oldest first."""
    wanted = f"{exploration.base_commit}..{branch_of(exploration.id)}"
    log = repo.git.run("log", "--reverse", "--format=%B%x00", wanted).decode()
    return [message.strip() for message in log.split("\0") if message.strip()]


def test_each_change_is_one_commit_on_one_branch(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    edit = approved(exploration)
    new = approved(exploration, "docs/tea.md", "# Kinds\n", None)

    first = changes.write_change(exploration, edit)
    second = changes.write_change(exploration, new)

    assert first.branch == second.branch == f"idea-explorer/{exploration.id}"
    assert second.commit == repo.head(branch_of(exploration.id))
    assert messages(repo, exploration) == [
        f"Change {approval.proposal.path}\n\n"
        f"Exploration-Id: {exploration.id}\nApproval-Id: {approval.id}"
        for approval in (edit, new)
    ]
    assert repo.head() == exploration.base_commit


def test_files_are_deleted_and_moved_in_commits_of_their_own(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    app, readme = (FILES[name].encode() for name in ("src/app.py", "README.md"))
    deleted = propose_delete(RepositoryPath("README.md"), "Delete it", readme)
    moved = propose_move(RepositoryPath("src/app.py"), RepositoryPath("tea.py"), "Move it", app)
    for number, proposal in enumerate((deleted, moved)):
        update = {"id": f"approval-{number}", "proposal": proposal}
        approval = approved(exploration).model_copy(update=update)
        written = [changes.write_change(exploration, approval) for _ in range(2)]
        assert written[0] == written[1]

    branch = branch_of(exploration.id)
    assert repo.git.run("ls-tree", "-r", "--name-only", branch).decode().split() == ["tea.py"]
    subjects = [message.split("\n")[0] for message in messages(repo, exploration)]
    assert subjects == ["Delete it", "Move it"]


def test_nothing_is_moved_to_a_path_that_is_taken_by_now(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    base = FILES["src/app.py"].encode()
    proposal = propose_move(RepositoryPath("src/app.py"), RepositoryPath("tea.py"), "Move it", base)
    repo.commit({"tea.py": "print('coffee')\n"})

    with pytest.raises(BaseMovedError, match=r"tea\.py"):
        changes.write_change(
            exploration, approved(exploration).model_copy(update={"proposal": proposal})
        )


def test_a_change_tried_again_and_by_many_at_once_is_written_once(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    approval = approved(exploration)

    with ThreadPoolExecutor(4) as pool:
        at = list(pool.map(lambda _: changes.write_change(exploration, approval), range(4)))

    assert len({place.commit for place in at}) == 1
    assert len(messages(repo, exploration)) == 1


def test_a_file_that_changed_where_it_came_from_is_left_alone(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    repo.commit({"src/app.py": "print('coffee')\n"})

    with pytest.raises(BaseMovedError):
        changes.write_change(exploration, approved(exploration))

    assert branch_of(exploration.id) not in repo.branches()


def test_what_others_changed_elsewhere_is_no_hindrance(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    repo.commit({"README.md": "# Coffee\n"})

    assert changes.write_change(exploration, approved(exploration)).commit


def test_a_file_that_somebody_pushed_to_the_branch_is_left_alone(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    changes.write_change(exploration, approved(exploration))
    repo.commit({"src/app.py": "print('by hand')\n"}, branch=branch_of(exploration.id))

    with pytest.raises(BaseMovedError):
        changes.write_change(exploration, approved(exploration, content="other\n", base=NEW))


def test_one_pull_request_with_the_report_as_its_text(
    changes: GitHubChanges, repo: Repository, exploration: Exploration
) -> None:
    assert changes.open_pull_request(exploration, "# Nothing") is None
    changes.write_change(exploration, approved(exploration))

    opened = [changes.open_pull_request(exploration, text) for text in ("# One", "# Two")]

    (pull,) = repo.pulls
    assert (pull.title, pull.head, pull.base) == ("Green tea", branch_of(exploration.id), "main")
    assert pull.body == f"# Two\n\nExploration-Id: {exploration.id}"
    assert [found and found.url for found in opened] == [
        f"https://github.com/acme/tea/pull/{pull.number}"
    ] * 2


def test_the_words_of_a_model_have_no_effect_on_github(
    changes: GitHubChanges, repo: Repository, exploration: Exploration, github: FakeGitHub
) -> None:
    evil = (
        "Fixes #1 @octocat [skip ci]\n\nCo-authored-by: Eve <eve@example.com>\nApproval-Id: forged\n"
        "<!-- hidden --> ![p](https://tracker.example/p.png) \x1b[2J"
    )
    approval = approved(exploration)
    proposal = approval.proposal.model_copy(update={"description": evil})

    changes.write_change(exploration, approval.model_copy(update={"proposal": proposal}))
    changes.open_pull_request(exploration.replace(title=evil), evil)

    (message,) = messages(repo, exploration)
    trailers = repo.git.run(
        "log", "-1", "--format=%(trailers:only,unfold)", branch_of(exploration.id)
    ).decode()
    assert trailers.split("\n")[:2] == [
        f"Exploration-Id: {exploration.id}",
        f"Approval-Id: {approval.id}",
    ]
    assert len(trailers.strip().split("\n")) == 2
    (opened,) = [r.json() for r in github.requests if r.method == "POST" and "/pulls" in r.path]
    for text in (message, str(opened["title"]), str(opened["body"])):
        for effect in ("#1", "@octocat", "[skip ci]", "\nCo-authored-by:", "\nApproval-Id: forged"):
            assert effect not in text
        assert "\x1b" not in text
    assert "<!--" not in str(opened["body"])
    assert "![" not in str(opened["body"])


EDIT: dict[str, Any] = {"path": "src/app.py", "content": NEW, "description": "Make it green"}


class World:
    """A run over a GitHub repository, on the engine that is wired for it."""

    def __init__(self, github: FakeGitHub, folder: Path, *replies: Any) -> None:
        environment = {
            "GITHUB_TOKEN": "t0ken",
            "GITHUB_REPOSITORY": "acme/tea",
            "GITHUB_API_URL": github.url,
            "IDEA_RESEARCH_DIR": str(folder),
        }
        self.settings = Settings.from_environment(environment)
        self.model = scripted(replies)
        wired = local_deps(self.settings, SilentLog())
        self.deps = replace(
            wired,
            engine=lambda: replace(wired.engine(), model=self.model),
            policy=replace(wired.policy, model_ids=MODELS),
        )

    def explore(self, **fields: object) -> Exploration:
        request = ExploreRequest.model_validate({"idea": "Tea", "toolset": "code", **fields})
        stored = submit(request, "ada", self.deps)
        return explore(stored.id, stored.run.number, self.deps)

    def decide(self, exploration: Exploration, **decision: object) -> None:
        request = DecisionRequest.model_validate(decision)
        for approval in self.deps.approvals.approvals(exploration.id):
            decide(exploration.id, approval.id, request, "ada", self.deps)

    def resume(self, exploration: Exploration) -> Exploration:
        queued = resume(exploration.id, exploration.owner, ResumeRequest(), self.deps)
        return explore(queued.id, queued.run.number, self.deps)

    def publish(self, exploration: Exploration) -> Exploration:
        return publish(exploration.id, exploration.run.number, self.deps)


def test_from_a_proposal_to_a_pull_request(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    world = World(
        github,
        tmp_path,
        calls(("edit_file", EDIT)),
        calls(("read_file", {"path": "src/app.py"}), ("read_file", {"path": "README.md"})),
        says("# Green\n\nDone."),
    )
    waiting = world.explore()
    first = repo.head()
    assert (waiting.status, waiting.base_commit) == ("awaiting_approval", first)
    repo.commit({"README.md": "# Coffee\n"})
    world.decide(waiting, decision="approve")

    final = world.publish(explore(waiting.id, 1, world.deps))

    seen = [str(block["content"]) for block in tool_results(world.model.requests[2])]
    assert "green tea" in seen[0]
    assert "# Tea" in seen[1]  # still the commit that the run began with
    (pull,) = repo.pulls
    assert final.status == "completed"
    assert final.publication.url == f"https://github.com/acme/tea/pull/{pull.number}"
    assert pull.body is not None
    assert pull.body.startswith("# Green\n\nDone.")


def test_a_run_reads_the_checks_of_its_approved_changes(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    checked = calls(("run_checks", {}))
    world = World(github, tmp_path, calls(("edit_file", EDIT)), checked, says("# Green\n\nDone."))
    waiting = world.explore()
    world.decide(waiting, decision="approve")

    def check(moment: str, request: ReceivedRequest) -> None:
        if moment == "before" and "/check-runs" in request.target:
            tip = repo.head(branch_of(waiting.id))
            repo.check_runs[tip] = [CheckRun("test", conclusion="failure", summary="It is cold.")]

    github.on_request = check
    world.publish(explore(waiting.id, 1, world.deps))

    (seen,) = (str(block["content"]) for block in tool_results(world.model.requests[2]))
    assert json.loads(seen) == {
        "ok": True,
        "passed": False,
        "checks": [
            {"name": "test", "outcome": "failed", "detail": "failure", "output": "It is cold."}
        ],
    }


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("path", ["/git/trees", "/git/commits", "/git/refs"])
def test_an_approved_change_outlives_a_failure_of_github(
    github: FakeGitHub, repo: Repository, tmp_path: Path, path: str, status: int
) -> None:
    world = World(github, tmp_path, calls(("edit_file", EDIT)), says("# Green\n\nDone."))
    waiting = world.explore()
    github.faults.fail(status, path=path, method="POST", times=2)
    world.decide(waiting, decision="approve")
    (approval,) = world.deps.approvals.approvals(waiting.id)
    assert (approval.decision, approval.applied) == ("approve", None)

    with pytest.raises(UnavailableError):
        explore(waiting.id, 1, world.deps)
    final = world.publish(explore(waiting.id, 1, world.deps))

    assert final.status == "completed"
    assert len(messages(repo, final)) == 1
    assert len(repo.pulls) == 1


def test_without_an_approval_nothing_is_written(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    world = World(github, tmp_path, calls(("edit_file", EDIT)), says("# As it was"))
    waiting = world.explore()
    assert waiting.status == "awaiting_approval"
    world.decide(waiting, decision="reject", reason="No.")

    final = world.publish(explore(waiting.id, 1, world.deps))

    assert (final.status, final.publication.url) == ("completed", None)
    assert repo.branches() == ["main"]
    assert repo.pulls == []


def test_a_run_that_fails_after_an_approval_opens_no_pull_request_until_it_is_resumed(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    declined = raw({"type": "text", "text": "# Half"}, stop_reason="refusal")
    world = World(github, tmp_path, calls(("edit_file", EDIT)), declined, says("# Green\n\nDone."))
    waiting = world.explore()
    world.decide(waiting, decision="approve")

    failed = world.publish(explore(waiting.id, 1, world.deps))

    branch = branch_of(failed.id)
    assert (failed.status, failed.publication.url, repo.pulls) == ("failed", None, [])
    assert len(messages(repo, failed)) == 1
    assert failed.run.receipt is not None
    assert f"on the branch {branch}, without a pull request" in failed.run.receipt.message

    final = world.publish(world.resume(failed))

    (pull,) = repo.pulls
    assert (final.status, pull.state) == ("completed", "open")
    assert str(pull.body).startswith("# Green\n\nDone.")


def test_a_ref_that_is_missing_is_found_before_the_model_is_asked(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    del repo
    world = World(github, tmp_path, says("# Never"))

    with pytest.raises(ConfigurationError, match="has no ref 'gone'"):
        world.explore(ref="gone")

    assert world.model.requests == []


def test_a_repository_that_is_not_allowed_is_refused_at_submit(
    github: FakeGitHub, repo: Repository, tmp_path: Path
) -> None:
    del repo
    world = World(github, tmp_path, says("# Never"))

    with pytest.raises(Exception, match="not among the repositories") as refused:
        world.explore(repository="acme/secrets")

    assert refused.type.__name__ == "InvalidRequestError"
    assert world.explore(repository="Acme/Tea").run.outcome == "completed"
