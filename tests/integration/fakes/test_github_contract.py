"""The test GitHub refuses what GitHub's own description does not know, and the test that sent it fails."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes import github_contract as contract
from tests.fakes.github_repository import File, Repository, Symlink
from tests.fakes.github_routes import ROUTES
from tests.fakes.github_server import FakeGitHub

SHA = "1" * 40
BIG = b"x" * 1_500_000


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    files: dict[str, File] = {
        "README.md": "hello\n",
        "link.md": Symlink("README.md"),
        "big.bin": BIG,
    }
    return github.create_repository("acme/ideas", files)


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> Iterator[httpx.Client]:
    headers = {"Authorization": "Bearer t0ken"}
    with httpx.Client(base_url=github.url, headers=headers, verify=False) as client:
        yield client


def test_every_route_stands_in_the_description_and_nothing_else_does() -> None:
    assert {operation.name for operation in contract._operations()} == set(ROUTES)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/repos/acme/ideas/"),
        ("GET", "/repos/acme/ideas/contents/README.md/"),
        ("GET", "/repos/acme/ideas/contents/"),
        ("GET", "/repos/acme/ideas//git/ref/heads/main"),
        ("GET", "/repos/acme/ideas/git/references/heads/main"),
        ("PUT", "/repos/acme/ideas/git/refs/heads/main"),
        ("GET", "/repo/acme/ideas"),
    ],
)
def test_a_path_or_method_that_is_not_described_is_a_404(
    github: FakeGitHub, client: httpx.Client, method: str, path: str
) -> None:
    answer = client.request(method, path)

    assert (answer.status_code, answer.json()["message"]) == (404, "Not Found")
    assert github.take_violations() == [f"{method} {path}: Not Found"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("contents/README.md?branch=main", '"branch" is not a permitted key.'),
        ("commits?per_page=many", "For 'properties/per_page', \"many\" is not an integer."),
        ("pulls?state=new", "For 'properties/state', \"new\" is not a member of"),
        ("pulls/first", "For 'properties/pull_number', \"first\" is not an integer."),
    ],
)
def test_a_parameter_that_is_not_described_is_a_422(
    github: FakeGitHub, client: httpx.Client, path: str, says: str
) -> None:
    answer = client.get(f"/repos/acme/ideas/{path}")

    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"Invalid request.\n\n{says}")
    assert answer.json()["documentation_url"].startswith("https://docs.github.com/rest/")
    assert len(github.take_violations()) == 1


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("git/commits", {"tree": SHA}, '"message" wasn\'t supplied.'),
        ("git/commits", {"message": "m", "tree": SHA, "parents": SHA}, "is not an array."),
        ("git/commits", {"message": None, "tree": SHA}, "For 'properties/message', nil is not a"),
        (
            "git/refs",
            {"ref": "refs/heads/a", "sha": SHA, "key": 1, "force": True},
            '"key", "force" are not permitted keys.',
        ),
        ("git/trees", {"tree": [{"path": "a", "text": "b"}]}, '"text" is not a permitted key.'),
        ("git/trees", {"tree": [{"path": "a", "mode": "644"}]}, '"644" is not a member of'),
        ("pulls", {"head": "a", "base": "main", "draft": "yes"}, '"yes" is not a boolean.'),
    ],
)
def test_a_body_that_is_not_described_is_a_422_and_changes_nothing(
    github: FakeGitHub,
    client: httpx.Client,
    repo: Repository,
    path: str,
    body: dict[str, object],
    says: str,
) -> None:
    before = repo.branches(), repo.head()

    answer = client.post(f"/repos/acme/ideas/{path}", json=body)

    assert answer.status_code == 422
    assert answer.json()["message"].startswith("Invalid request.\n\n")
    assert says in answer.json()["message"]
    assert len(github.take_violations()) == 1
    assert (repo.branches(), repo.head()) == before


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"{not json", "Problems parsing JSON"), (b"[]", "Body should be a JSON object")],
)
def test_a_body_that_is_no_json_object_is_a_400(
    github: FakeGitHub, client: httpx.Client, body: bytes, says: str
) -> None:
    json_type = {"Content-Type": "application/json"}
    answer = client.post("/repos/acme/ideas/git/blobs", content=body, headers=json_type)

    assert (answer.status_code, answer.json()["message"]) == (400, says)
    assert len(github.take_violations()) == 1


def test_whoever_sends_what_is_not_described_fails_with_it(tmp_path: Path) -> None:
    def visit(path: str) -> None:
        with FakeGitHub(tmp_path / "github") as github:
            github.create_repository("acme/ideas", {"README.md": "hello\n"})
            httpx.get(github.url + path, verify=False)

    visit("/repos/acme/ideas")
    with pytest.raises(AssertionError, match="GET /repos/acme/ideas/: Not Found"):
        visit("/repos/acme/ideas/")


def test_a_renamed_repository_is_pointed_to_by_its_number(
    github: FakeGitHub, client: httpx.Client, repo: Repository
) -> None:
    github.rename_repository("acme/ideas", "labs/research")

    read = client.get("/repos/acme/ideas/commits?per_page=1")
    itself = client.get("/repos/acme/ideas")
    write = client.post("/repos/acme/ideas/git/blobs", json={"content": "a"})

    there = f"{github.url}/repositories/{repo.number}"
    assert (read.status_code, read.headers["Location"]) == (301, f"{there}/commits?per_page=1")
    assert (itself.status_code, itself.headers["Location"]) == (301, there)
    assert (write.status_code, write.headers["Location"]) == (307, f"{there}/git/blobs")
    assert itself.json()["message"] == "Moved Permanently"
    assert client.get(there).json()["full_name"] == "labs/research"
    assert client.get("/repos/labs/research").status_code == 200


def test_a_link_to_a_file_and_a_large_file_look_like_files(client: httpx.Client) -> None:
    link = client.get("/repos/acme/ideas/contents/link.md").json()
    large = client.get("/repos/acme/ideas/contents/big.bin").json()

    assert (link["type"], link["size"]) == ("file", 6)
    assert (large["type"], large["encoding"], large["content"]) == ("file", "none", "")


def test_creating_a_path_that_is_there_takes_its_sha(client: httpx.Client) -> None:
    body = {"message": "again", "content": "aGVsbG8="}
    answer = client.put("/repos/acme/ideas/contents/README.md", json=body)

    assert answer.status_code == 422
    assert '"sha" wasn\'t supplied' in answer.json()["message"]


@pytest.mark.parametrize("asks", [None, "Fri, 31 Dec 2027 23:59:59 GMT"])
def test_a_secondary_limit_may_name_a_date_or_no_time(
    github: FakeGitHub, client: httpx.Client, asks: str | None
) -> None:
    github.limits.max_content_requests = 0
    github.limits.retry_after = asks

    answer = client.post("/repos/acme/ideas/git/blobs", json={"content": "a"})

    assert answer.status_code == 403
    assert answer.headers.get("Retry-After") == asks


def test_an_archived_repository_is_read_only(
    github: FakeGitHub, client: httpx.Client, repo: Repository
) -> None:
    repo.archived = True

    assert client.get("/repos/acme/ideas").json()["archived"] is True
    assert client.post("/repos/acme/ideas/git/blobs", json={"content": "a"}).status_code == 403


def test_an_apps_token_writes_although_its_permissions_say_that_it_may_not_even_read(
    github: FakeGitHub, repo: Repository
) -> None:
    github.grant("ghs_app", "acme/ideas", "app")
    headers = {"Authorization": "Bearer ghs_app"}
    with httpx.Client(base_url=github.url, headers=headers, verify=False) as app:
        about = app.get("/repos/acme/ideas").json()
        wrote = app.post("/repos/acme/ideas/git/blobs", json={"content": "a"})

    assert about["permissions"] == {"admin": False, "push": False, "pull": False}
    assert wrote.status_code == 201
