"""The test GitHub refuses and fails on demand: credentials, rate limits, and lost connections."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.github_wire import ReceivedRequest

ROOT = Path(__file__).parents[3]


class Clock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def github(tmp_path: Path, clock: Clock) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path, token="t0ken", clock=clock) as github:
        yield github


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n"})


def connect(github: FakeGitHub, token: str | None = "t0ken") -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    base = f"{github.url}/repos/acme/ideas/"
    return httpx.Client(base_url=base, headers=headers, verify=False)


def repository_at(github: FakeGitHub) -> str:
    """The repository itself, whose address ends without a slash."""
    return f"{github.url}/repos/acme/ideas"


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> Iterator[httpx.Client]:
    with connect(github) as client:
        yield client


def test_an_unknown_or_revoked_token_is_a_bad_credential(
    github: FakeGitHub, client: httpx.Client
) -> None:
    with connect(github, "wrong") as stranger:
        unknown = stranger.get("contents/README.md")
    github.access.revoke("t0ken")
    revoked = client.get("contents/README.md")

    assert (unknown.status_code, unknown.json()["message"]) == (401, "Bad credentials")
    assert revoked.status_code == 401


def test_a_private_repository_does_not_exist_for_others(
    github: FakeGitHub, repo: Repository
) -> None:
    github.grant("elsewhere", "acme/other", "write")
    with connect(github, None) as nobody, connect(github, "elsewhere") as other:
        answers = [nobody.get("contents/README.md"), other.get("contents/README.md")]

    assert [(a.status_code, a.json()["message"]) for a in answers] == [(404, "Not Found")] * 2


def test_a_public_repository_is_read_by_all_and_written_by_its_own(
    github: FakeGitHub,
) -> None:
    github.create_repository("acme/ideas", {"README.md": "hello\n"}, private=False)
    with connect(github, None) as nobody:
        read = nobody.get("contents/README.md")
        write = nobody.post("git/blobs", json={"content": "a"})

    assert (read.status_code, write.status_code) == (200, 401)


def test_a_token_for_reading_writes_nothing(github: FakeGitHub, repo: Repository) -> None:
    github.grant("reader", "acme/ideas", "read")
    with connect(github, "reader") as reader:
        read = reader.get("contents/README.md")
        write = reader.patch("git/refs/heads/main", json={"sha": repo.head()})
        about = reader.get(repository_at(github)).json()

    assert read.status_code == 200
    assert (write.status_code, write.json()["message"]) == (
        403,
        "Resource not accessible by personal access token",
    )
    assert about["permissions"]["push"] is False


def test_every_answer_tells_what_is_left_of_the_quota(
    github: FakeGitHub, client: httpx.Client
) -> None:
    first, second = (client.get(repository_at(github)) for _ in range(2))

    assert first.headers["X-RateLimit-Limit"] == "5000"
    assert int(second.headers["X-RateLimit-Remaining"]) == (
        int(first.headers["X-RateLimit-Remaining"]) - 1
    )


@pytest.mark.parametrize("status", [403, 429])
def test_a_used_up_quota_refuses_until_it_starts_anew(
    github: FakeGitHub, client: httpx.Client, clock: Clock, status: int
) -> None:
    github.limits.exhaust(seconds=90, status=status)
    refused = client.get(repository_at(github))
    asked = client.get(f"{github.url}/rate_limit").json()
    clock.now += 90
    answered = client.get(repository_at(github))

    assert refused.status_code == status
    assert refused.json()["message"].startswith("API rate limit exceeded for user ID")
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert int(refused.headers["X-RateLimit-Reset"]) == clock.now
    assert asked["rate"]["remaining"] == 0
    assert answered.status_code == 200


def test_creating_content_too_fast_is_refused_for_a_while(
    github: FakeGitHub, client: httpx.Client, clock: Clock
) -> None:
    github.limits.max_content_requests = 2
    github.limits.retry_after = 7

    answers = [client.post("git/blobs", json={"content": "a"}) for _ in range(3)]
    reading = client.get(repository_at(github))
    clock.now += github.limits.window_seconds
    later = client.post("git/blobs", json={"content": "a"})

    assert [answer.status_code for answer in answers] == [201, 201, 403]
    assert answers[2].headers["Retry-After"] == "7"
    assert "secondary rate limit" in answers[2].json()["message"]
    assert answers[2].headers["X-RateLimit-Remaining"] != "0"
    assert (reading.status_code, later.status_code) == (200, 201)


def test_too_many_requests_at_once_are_refused(github: FakeGitHub, client: httpx.Client) -> None:
    together = threading.Barrier(3)
    github.limits.max_concurrent = 2

    def meet(moment: str, request: ReceivedRequest) -> None:
        if moment == "before":
            together.wait(timeout=60)

    github.on_request = meet

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: client.get(repository_at(github)), range(3)))

    refused = [answer for answer in answers if answer.status_code == 403]
    assert refused
    assert all("Retry-After" in answer.headers for answer in refused)


def test_a_fault_strikes_the_nth_match_and_no_other(
    github: FakeGitHub, client: httpx.Client
) -> None:
    github.faults.fail(502, r"/git/ref/", "GET", nth=2, times=2)

    statuses = [client.get("git/ref/heads/main").status_code for _ in range(4)]
    other = client.get("contents/README.md").status_code

    assert statuses == [200, 502, 502, 200]
    assert other == 200


@pytest.mark.parametrize("acts", [False, True])
def test_an_error_may_hide_whether_the_request_took_effect(
    github: FakeGitHub, client: httpx.Client, repo: Repository, acts: bool
) -> None:
    github.faults.fail(503, "/git/refs", "POST", acts=acts)

    answer = client.post("git/refs", json={"ref": "refs/heads/x", "sha": repo.head()})

    assert answer.status_code == 503
    assert ("x" in repo.branches()) is acts


@pytest.mark.parametrize("acts", [False, True])
def test_a_dropped_connection_may_hide_whether_the_request_took_effect(
    github: FakeGitHub, client: httpx.Client, repo: Repository, acts: bool
) -> None:
    github.faults.drop("/git/refs", acts=acts)
    body = {"ref": "refs/heads/x", "sha": repo.head()}

    with pytest.raises(httpx.TransportError):
        client.post("git/refs", json=body)
    after = client.post("git/refs", json=body)

    assert after.status_code == (422 if acts else 201)
    assert [request.status for request in github.requests] == ([201, 422] if acts else [None, 201])


def test_a_slow_answer_outlasts_the_clients_patience(
    github: FakeGitHub, client: httpx.Client
) -> None:
    github.faults.slow(0.2, "/contents/")

    with pytest.raises(httpx.ReadTimeout):
        client.get("contents/README.md", timeout=0.05)
    assert client.get("contents/README.md").status_code == 200


def test_an_answer_may_be_garbled_or_cut_short(github: FakeGitHub, client: httpx.Client) -> None:
    github.faults.garble("/contents/")
    github.faults.cut("/contents/", nth=2)
    github.faults.cut("/codeload/")

    with pytest.raises(ValueError, match="Unterminated string"):
        client.get("contents/README.md").json()
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("contents/README.md")
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("tarball/main", follow_redirects=True)


def test_requests_are_recorded_with_body_and_status(
    github: FakeGitHub, client: httpx.Client
) -> None:
    client.post("git/blobs", json={"content": "a"})
    client.get("contents/no%20thing", params={"ref": "main"})

    first, second = github.requests
    assert (first.method, first.path, first.status) == ("POST", "/repos/acme/ideas/git/blobs", 201)
    assert first.json() == {"content": "a"}
    assert second.path == "/repos/acme/ideas/contents/no thing"
    assert (second.query, second.status) == ({"ref": "main"}, 404)


def test_an_observer_can_move_the_head_just_before_a_reference_is_updated(
    github: FakeGitHub, client: httpx.Client, repo: Repository
) -> None:
    told: list[tuple[str, int | None]] = []
    tree = client.get(f"git/commits/{repo.head()}").json()["tree"]["sha"]
    body = {"message": "mine", "tree": tree, "parents": [repo.head()]}
    mine = client.post("git/commits", json=body).json()["sha"]

    def observe(moment: str, request: ReceivedRequest) -> None:
        told.append((moment, request.status))
        if moment == "before":
            repo.commit({"README.md": "theirs\n"})

    github.on_request = observe
    answer = client.patch("git/refs/heads/main", json={"sha": mine})

    assert answer.json()["message"] == "Update is not a fast forward"
    assert told == [("before", None), ("after", 422)]


def test_as_a_program_it_serves_a_folder_and_keeps_what_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "ideas").mkdir(parents=True)
    (folder / "ideas" / "bees.md").write_text("bzz\n")
    (folder / "link.md").symlink_to("ideas/bees.md")
    command = [sys.executable, "-m", "tests.fakes.github_server", "--token", "t0ken"]
    command += ["--root", str(tmp_path / "root"), "--repository", f"acme/ideas={folder}"]

    heads = []
    for _ in range(2):
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            url = program.stdout.readline().removeprefix("listening on ").strip()
            headers = {"Authorization": "Bearer t0ken"}
            with httpx.Client(base_url=f"{url}/repos/acme/ideas/", headers=headers) as client:
                head = client.get("git/ref/heads/main").json()["object"]["sha"]
                rows = client.get("git/trees/main", params={"recursive": "1"}).json()["tree"]
                tree = client.get(f"git/commits/{head}").json()["tree"]["sha"]
                body = {"message": "m", "tree": tree, "parents": [head]}
                new = client.post("git/commits", json=body).json()["sha"]
                client.patch("git/refs/heads/main", json={"sha": new})
            os.kill(program.pid, signal.SIGKILL)
        heads += [head, new]

    assert heads[1] == heads[2]
    assert {row["path"]: row["mode"] for row in rows} == {
        "ideas": "040000",
        "ideas/bees.md": "100644",
        "link.md": "120000",
    }
