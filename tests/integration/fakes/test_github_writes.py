"""Writing to the test GitHub: one commit through the git database, references that race, pulls."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.fakes.github_repository import Repository, Rule
from tests.fakes.github_server import FakeGitHub

NO_SUCH_SHA = "0123456789" * 4


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n", "old/a.md": "a\n"})


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> Iterator[httpx.Client]:
    headers = {"Authorization": "token t0ken"}
    limits = httpx.Limits(max_connections=30)
    base = f"{github.url}/repos/acme/ideas/"
    with httpx.Client(
        base_url=base, headers=headers, limits=limits, timeout=30, verify=False
    ) as client:
        yield client


def created(answer: httpx.Response) -> Any:
    assert answer.status_code == 201, answer.text
    return answer.json()


def commit_on(client: httpx.Client, parent: str, files: dict[str, str], message: str = "m") -> str:
    """A commit of these files that nothing points to yet."""
    base = client.get(f"git/commits/{parent}").json()["tree"]["sha"]
    rows = [
        {"path": path, "mode": "100644", "type": "blob", "content": content}
        for path, content in files.items()
    ]
    tree = created(client.post("git/trees", json={"base_tree": base, "tree": rows}))
    body = {"message": message, "tree": tree["sha"], "parents": [parent]}
    return str(created(client.post("git/commits", json=body))["sha"])


def test_a_commit_becomes_visible_only_when_the_reference_moves(
    client: httpx.Client, repo: Repository
) -> None:
    first = repo.head()
    message = "idea: bees\n\nExploration-Id: 0198"
    second = commit_on(client, first, {"ideas/bees.md": "bzz\n", "README.md": "new\n"}, message)
    before = repo.head()

    moved = client.patch("git/refs/heads/main", json={"sha": second})

    assert before == first
    assert (moved.status_code, moved.json()["object"]["sha"]) == (200, second)
    assert (repo.log()[0].sha, repo.log()[0].message) == (second, message)
    assert repo.files() == {"README.md": b"new\n", "ideas/bees.md": b"bzz\n", "old/a.md": b"a\n"}


def test_a_commit_keeps_the_author_and_the_date_it_is_given(
    client: httpx.Client, repo: Repository
) -> None:
    tree = client.get(f"git/commits/{repo.head()}").json()["tree"]["sha"]
    author = {"name": "Ada", "email": "ada@example.com", "date": "2026-01-02T03:04:05+01:00"}
    body = {"message": "m", "tree": tree, "parents": [repo.head()], "author": author}

    answer = created(client.post("git/commits", json=body))

    shown = {"name": "Ada", "email": "ada@example.com", "date": "2026-01-02T02:04:05Z"}
    assert (answer["author"], answer["committer"]) == (shown, shown)


def test_a_tree_takes_blobs_by_sha_and_drops_what_has_none(
    client: httpx.Client, repo: Repository
) -> None:
    content = base64.b64encode(b"\x00\xff").decode()
    blob = created(client.post("git/blobs", json={"content": content, "encoding": "base64"}))
    rows = [
        {"path": "binary", "mode": "100755", "type": "blob", "sha": blob["sha"]},
        {"path": "old", "mode": "040000", "type": "tree", "sha": None},
    ]

    tree = created(client.post("git/trees", json={"base_tree": repo.head(), "tree": rows}))

    assert [(row["path"], row["mode"]) for row in tree["tree"]] == [
        ("README.md", "100644"),
        ("binary", "100755"),
    ]


def test_a_tree_without_a_base_holds_only_what_is_sent(client: httpx.Client) -> None:
    rows = [{"path": "a/b.md", "mode": "100644", "type": "blob", "content": "b"}]

    tree = created(client.post("git/trees", json={"tree": rows}))

    assert [row["path"] for row in tree["tree"]] == ["a"]


def row(**fields: object) -> dict[str, object]:
    return {"tree": [{"path": "a.md", "mode": "100644", "type": "blob", **fields}]}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("git/trees", row(content="a") | {"base_tree": NO_SUCH_SHA}, "base_tree is not a valid"),
        ("git/trees", row(sha=NO_SUCH_SHA), f"tree.sha {NO_SUCH_SHA} is not a valid blob"),
        ("git/trees", row(sha=None), "GitRPC::BadObjectState"),
        ("git/trees", row(), "Must supply either tree.sha or tree.content."),
        ("git/trees", row(content="", path="/a"), "tree.path cannot start with a slash"),
        ("git/trees", row(content="", path="a/../b"), "tree.path contains a malformed"),
        ("git/trees", row(content="", path=".git/config"), "tree.path contains a malformed"),
        ("git/commits", {"message": "m", "tree": NO_SUCH_SHA}, "Tree SHA does not exist"),
        ("git/blobs", {"content": "a", "encoding": "base64"}, "content is not valid Base64"),
        ("git/refs", {"ref": "heads/x", "sha": NO_SUCH_SHA}, "Reference name must start with"),
        ("git/refs", {"ref": "refs/x", "sha": NO_SUCH_SHA}, "Reference name must contain at least"),
        ("git/refs", {"ref": "refs/heads/x", "sha": NO_SUCH_SHA}, "Object does not exist"),
        ("git/refs", {"ref": "refs/heads/main", "sha": NO_SUCH_SHA}, "Reference already exists"),
    ],
)
def test_what_makes_no_sense_is_a_422_and_changes_nothing(
    client: httpx.Client, repo: Repository, path: str, body: dict[str, object], message: str
) -> None:
    before = repo.branches(), repo.head()

    answer = client.post(path, json=body)

    assert answer.status_code == 422
    assert answer.json()["message"].startswith(message)
    assert (repo.branches(), repo.head()) == before


def test_a_reference_moves_forward_only_unless_forced(
    client: httpx.Client, repo: Repository
) -> None:
    first = repo.head()
    mine = commit_on(client, first, {"mine.md": "m"})
    repo.commit({"theirs.md": "t"}, "Somebody was faster")

    refused = client.patch("git/refs/heads/main", json={"sha": mine})
    head_after_refusal = repo.head()
    forced = client.patch("git/refs/heads/main", json={"sha": mine, "force": True})
    missing = client.patch("git/refs/heads/nowhere", json={"sha": mine})

    assert (refused.status_code, refused.json()["message"]) == (422, "Update is not a fast forward")
    assert head_after_refusal != mine
    assert (forced.status_code, repo.head()) == (200, mine)
    assert (missing.status_code, missing.json()["message"]) == (422, "Reference does not exist")


def test_a_branch_is_created_once_and_can_be_deleted(
    client: httpx.Client, repo: Repository
) -> None:
    body = {"ref": "refs/heads/idea-explorer/0198", "sha": repo.head()}

    created(client.post("git/refs", json=body))
    again = client.post("git/refs", json=body)
    deleted = client.delete("git/refs/heads/idea-explorer/0198")

    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    assert (deleted.status_code, repo.branches()) == (204, ["main"])


@pytest.mark.parametrize(
    ("rule", "status", "message"),
    [
        ("pull_request", 422, "Protected branch update failed for refs/heads/main."),
        ("restricted", 403, "You're not authorized to push to this branch."),
        ("ruleset", 422, "Repository rule violations found"),
    ],
)
def test_a_protected_branch_refuses(
    client: httpx.Client, repo: Repository, rule: Rule, status: int, message: str
) -> None:
    first = repo.head()
    mine = commit_on(client, first, {"mine.md": "m"})
    repo.protect("main", rule)

    answer = client.patch("git/refs/heads/main", json={"sha": mine})

    assert answer.status_code == status
    assert answer.json()["message"].startswith(message)
    assert repo.head() == first


def test_of_twenty_racing_updates_exactly_one_wins_each_round(
    client: httpx.Client, repo: Repository
) -> None:
    def push(mine: str) -> int:
        return client.patch("git/refs/heads/main", json={"sha": mine}).status_code

    tree = repo.log()[0].tree
    rounds = 3
    with ThreadPoolExecutor(20) as pool:
        for _ in range(rounds):
            head = repo.head()
            bodies = [
                {"message": f"writer {number}", "tree": tree, "parents": [head]}
                for number in range(20)
            ]
            commits = [created(client.post("git/commits", json=body))["sha"] for body in bodies]
            statuses = list(pool.map(push, commits))
            assert sorted(statuses) == [200] + [422] * 19
            assert repo.head() == commits[statuses.index(200)]
    assert len(repo.log()) == rounds + 1


def test_writers_that_build_on_the_new_head_all_get_in(
    client: httpx.Client, repo: Repository
) -> None:
    def insist(number: int) -> None:
        while True:
            head = client.get("git/ref/heads/main").json()["object"]["sha"]
            mine = commit_on(client, head, {f"{number}.md": str(number)}, f"writer {number}")
            if client.patch("git/refs/heads/main", json={"sha": mine}).status_code == 200:
                return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(insist, range(8)))

    assert sorted(commit.message for commit in repo.log()[:-1]) == [f"writer {n}" for n in range(8)]
    assert {f"{n}.md" for n in range(8)} < set(repo.files())


def test_an_empty_repository_takes_no_git_data_but_a_first_file(github: FakeGitHub) -> None:
    repo = github.create_repository("acme/empty")
    headers = {"Authorization": "Bearer t0ken"}
    base = f"{github.url}/repos/acme/empty/"
    with httpx.Client(base_url=base, headers=headers, verify=False) as client:
        refused = [
            client.get("git/ref/heads/main"),
            client.get("git/trees/main"),
            client.get("commits"),
            client.post("git/trees", json=row(content="a")),
            client.post("git/blobs", json={"content": "a"}),
        ]
        contents = client.get("contents/README.md")
        body = {"message": "Start", "content": base64.b64encode(b"hi").decode()}
        first = client.put("contents/README.md", json=body)

    assert {(a.status_code, a.json()["message"]) for a in refused} == {
        (409, "Git Repository is empty.")
    }
    assert (contents.status_code, contents.json()["message"]) == (404, "This repository is empty.")
    assert first.status_code == 201
    assert repo.files() == {"README.md": b"hi"}


def test_a_file_is_replaced_and_deleted_only_by_who_knows_its_sha(
    client: httpx.Client, repo: Repository
) -> None:
    body = {"message": "m", "content": base64.b64encode(b"new").decode()}
    sha = client.get("contents/README.md").json()["sha"]

    unknown = client.put("contents/README.md", json=body)
    stale = client.put("contents/README.md", json=body | {"sha": NO_SUCH_SHA})
    replaced = client.put("contents/README.md", json=body | {"sha": sha})
    current = replaced.json()["content"]["sha"]
    deleted = client.request("DELETE", "contents/README.md", json={"message": "d", "sha": current})

    assert (unknown.status_code, stale.status_code, replaced.status_code) == (422, 409, 200)
    assert deleted.status_code == 200
    assert repo.files() == {"old/a.md": b"a\n"}


def test_a_pull_request_is_opened_once_found_again_and_closed(
    client: httpx.Client, repo: Repository
) -> None:
    repo.create_branch("idea")
    body = {"title": "Edit", "head": "idea", "base": "main", "body": "why"}
    empty = client.post("pulls", json=body)
    repo.commit({"README.md": "edited\n"}, branch="idea")

    pull = created(client.post("pulls", json=body))
    again = client.post("pulls", json=body)
    found = client.get("pulls", params={"head": "acme:idea", "state": "open"}).json()
    none = client.get("pulls", params={"head": "acme:other"}).json()
    moved = repo.commit({"README.md": "edited again\n"}, branch="idea")
    closed = client.patch("pulls/1", json={"state": "closed", "title": "Done"}).json()

    assert empty.json()["errors"][0]["message"] == "No commits between main and idea"
    assert (pull["number"], pull["body"], pull["head"]["ref"]) == (1, "why", "idea")
    assert again.status_code == 422
    assert again.json()["errors"][0]["message"] == "A pull request already exists for acme:idea."
    assert ([row["number"] for row in found], none) == ([1], [])
    assert (closed["state"], closed["title"], closed["head"]["sha"]) == ("closed", "Done", moved)
    assert client.get("pulls").json() == []
    assert len(client.get("pulls", params={"state": "all"}).json()) == 1


def test_a_pull_request_from_a_branch_that_is_missing_names_the_field(
    client: httpx.Client, repo: Repository
) -> None:
    answer = client.post("pulls", json={"title": "t", "head": "gone", "base": "main"})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"resource": "PullRequest", "field": "head", "code": "invalid"}
    ]
    assert client.get("pulls/1").status_code == 404


def test_comments_stay_with_their_pull_request(client: httpx.Client, repo: Repository) -> None:
    repo.commit({"README.md": "edited\n"}, branch="idea")
    created(client.post("pulls", json={"title": "t", "head": "idea", "base": "main"}))

    created(client.post("issues/1/comments", json={"body": "first"}))

    assert [row["body"] for row in client.get("issues/1/comments").json()] == ["first"]
