"""One place for GitHub's redirects, limits and tokens."""

from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest

from idea_explorer.adapters.github.branches import GitHubBranches
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentMissingError,
    ExternalError,
    RateLimitedError,
    UnavailableError,
)
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

SECONDARY = b'{"message": "You have exceeded a secondary rate limit."}'


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n"}, branch="trunk")


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> GitHubClient:
    return GitHubClient(repo.full_name, lambda: "t0ken", github.url)


def test_the_repository_tells_its_default_branch(client: GitHubClient) -> None:
    assert client.about().default_branch == "trunk"


def test_a_repository_that_is_not_there_is_named(github: FakeGitHub) -> None:
    with pytest.raises(DocumentMissingError, match="does not know acme/none"):
        GitHubClient("acme/none", lambda: "t0ken", github.url).about()


@pytest.mark.parametrize("character", ["\n", "\0", "\x7f"])
def test_a_token_that_cannot_be_sent_is_not_taken_for_the_network(
    github: FakeGitHub, repo: Repository, character: str
) -> None:
    client = GitHubClient(repo.full_name, lambda: f"t0ken{character}", github.url)

    with pytest.raises(AuthFailedError, match="a character that headers must not have") as raised:
        client.about()

    assert not raised.value.retryable
    assert raised.value.code == "GITHUB_UNAVAILABLE"
    assert "t0ken" not in str(raised.value)
    assert github.requests == []


def test_a_renamed_repository_is_read_and_written_under_its_old_name(
    client: GitHubClient, github: FakeGitHub, repo: Repository
) -> None:
    github.rename_repository("acme/ideas", "labs/research")
    head = client.get("git", "ref", "heads", "trunk")["object"]["sha"]
    client.post("git", "refs", body={"ref": "refs/heads/new", "sha": head})
    client.patch("git", "refs", "heads", "new", body={"sha": head, "force": False})
    with client.download("tarball", "trunk", max_bytes=1_000_000) as archive:
        data = archive.read()

    assert "new" in repo.branches()
    assert data[:2] == b"\x1f\x8b"
    statuses = [(request.method, request.status) for request in github.requests]
    assert statuses[:6] == [
        ("GET", 301), ("GET", 200), ("POST", 307), ("POST", 201), ("PATCH", 307), ("PATCH", 200),
    ]  # fmt: skip


def test_a_pull_request_is_found_in_a_repository_that_went_to_another_owner(
    client: GitHubClient, github: FakeGitHub, repo: Repository
) -> None:
    repo.commit({"new.md": "new"}, branch="drafts")
    branches = GitHubBranches(client)
    opened = branches.open_pull_request("drafts", "trunk", title="Drafts", body="")
    github.rename_repository("acme/ideas", "labs/ideas")

    assert branches.tip("drafts")
    assert branches.find_pull_request("drafts", state="open") == opened.model_copy(
        update={"html_url": opened.html_url.replace("acme", "labs")}
    )


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirected_write_stays_the_write_that_it_was(
    client: GitHubClient, github: FakeGitHub, repo: Repository, status: int
) -> None:
    there = {"Location": f"{github.url}/repositories/{repo.number}/git/blobs"}
    github.faults.fail(status, "/repos/.*/git/blobs", headers=there)

    client.post("git", "blobs", body={"content": "tea"})

    first, second = github.requests
    assert (second.method, second.body) == (first.method, first.body) == ("POST", first.body)
    assert second.headers["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_host_is_never_told_the_token(
    client: GitHubClient, github: FakeGitHub, tmp_path: Path, method: str
) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "GET": client.about,
        "POST": lambda: client.post("git", "blobs", body={"content": "tea"}),
    }
    with FakeGitHub(tmp_path / "elsewhere") as elsewhere:
        elsewhere.create_repository("acme/ideas", {"README.md": "hello\n"})
        path = "/git/blobs" if method == "POST" else ""
        there = {"Location": f"{elsewhere.url}/repos/acme/ideas{path}"}
        github.faults.fail(307 if method == "POST" else 301, headers=there)
        calls[method]()

    (request,) = elsewhere.requests
    assert request.method == method
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("/repos/acme/ideas", "redirects too often"),
        ("ftp://example.org/", "not safe"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_said(
    client: GitHubClient, github: FakeGitHub, where: str, says: str
) -> None:
    github.faults.fail(301, times=None, headers={"Location": where})

    with pytest.raises(ExternalError, match=says) as caught:
        client.about()

    assert not caught.value.retryable
    assert len(github.requests) <= 6


def test_a_refused_token_is_asked_for_once_more(github: FakeGitHub, repo: Repository) -> None:
    asked: list[str] = []

    def fresh() -> str:
        asked.append("fresh")
        return "t0ken"

    client = GitHubClient(repo.full_name, lambda: "old", github.url, fresh_token=fresh)

    assert client.about().default_branch == "trunk"
    client.post("git", "blobs", body={"content": "tea"})
    assert asked == ["fresh", "fresh"]
    assert [request.status for request in github.requests] == [401, 200, 401, 201]


def test_a_token_that_was_not_rotated_is_not_tried_again(
    github: FakeGitHub, repo: Repository
) -> None:
    client = GitHubClient(
        repo.full_name, lambda: "old", github.url, fresh_token=lambda: "old", refused_hint="Rotate!"
    )

    with pytest.raises(AuthFailedError, match="Rotate!"):
        client.about()

    assert [request.status for request in github.requests] == [401]


def test_a_rotated_token_that_is_refused_too_ends_it(github: FakeGitHub, repo: Repository) -> None:
    client = GitHubClient(
        repo.full_name, lambda: "old", github.url, fresh_token=lambda: "as bad".replace(" ", "-")
    )

    with pytest.raises(AuthFailedError):
        client.about()

    assert [request.status for request in github.requests] == [401, 401]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failure_of_githubs_own_may_pass(
    client: GitHubClient, github: FakeGitHub, status: int
) -> None:
    github.faults.fail(status)

    with pytest.raises(UnavailableError) as caught:
        client.about()

    assert caught.value.retryable
    assert client.about().default_branch == "trunk"


def limit(client: GitHubClient) -> float | None:
    with pytest.raises(RateLimitedError) as caught:
        client.about()
    return caught.value.retry_after


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_is_waited_for_as_long_as_it_says(
    client: GitHubClient, github: FakeGitHub, status: int
) -> None:
    github.faults.fail(status, headers={"Retry-After": "1800"})
    github.faults.fail(status, nth=2, headers={"Retry-After": formatdate(time() + 90, usegmt=True)})
    said = [limit(client), limit(client)]
    github.limits.exhaust(seconds=600, status=status)
    said.append(limit(client))

    assert said == [1800.0, pytest.approx(90, abs=2), pytest.approx(600, abs=2)]


def test_a_limit_without_a_time_is_waited_for_a_minute_and_then_longer(
    client: GitHubClient, github: FakeGitHub
) -> None:
    github.faults.fail(403, times=3, body=SECONDARY)
    growing = [limit(client) for _ in range(3)]
    client.about()
    github.faults.fail(403, body=SECONDARY)

    assert growing == [60.0, 120.0, 240.0]
    assert limit(client) == 60.0


def test_an_answer_that_is_cut_off_is_a_network_error(
    client: GitHubClient, github: FakeGitHub
) -> None:
    github.faults.cut()
    with pytest.raises(ExternalError, match="could not be reached") as caught:
        client.about()
    assert caught.value.retryable


@pytest.mark.parametrize("proxy", ["ftp://proxy.example:1", "nonsense://"])
def test_a_proxy_that_cannot_be_one_is_a_setting_to_change(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)

    with pytest.raises(ConfigurationError, match="Check HTTPS_PROXY"):
        GitHubClient("acme/ideas", lambda: "t", "https://api.github.com")


def test_clients_use_the_connection_of_those_before_them(
    github: FakeGitHub, repo: Repository
) -> None:
    for _ in range(3):
        GitHubClient(repo.full_name, lambda: "t0ken", github.url).about()

    assert len(github.requests) == 3
    assert github.connection_count == 1
