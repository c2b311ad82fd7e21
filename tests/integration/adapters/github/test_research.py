"""Reading research from GitHub, over the wire and over real git."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.agent.tool_calls import ToolExecutor, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.errors import DocumentMissingError, ExternalError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.tools.research import research_tools
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog
from tests.fakes.github_repository import Symlink
from tests.fakes.github_server import FakeGitHub

FILES: dict[str, Any] = {
    "ideas/market/2024-06.md": "# Tea\n\nTea rooms do well.",
    "ideas/empty.md": "",
    "ideas/large.md": "x" * 51_201,
    "ideas/link.md": Symlink("market/2024-06.md"),
    "ideas/latin.md": b"caf\xe9",
    "secret.md": "outside",
}


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path, token="t") as server:
        server.create_repository("acme/ideas", FILES)
        yield server


def call(github: FakeGitHub, name: str, given: JsonObject, token: str = "t") -> ToolResult:
    repository = GitHub(GitHubClient("acme/ideas", lambda: token, github.url), None)
    log = RecordedLog()
    caller = ArgumentValidator(
        research_tools(repository, "v"), ToolRetrier(ToolExecutor(log), ManualClock(), log), log
    )
    return caller.call(ToolCall(id="c", name=name, input=given))


def read(github: FakeGitHub, path: str) -> Any:
    return call(github, "read_research", {"path": path}).payload


def test_a_file_is_read_below_ideas(github: FakeGitHub) -> None:
    assert read(github, "market/2024-06.md") == {
        "ok": True,
        "content": "# Tea\n\nTea rooms do well.",
        "bytes": 25,
    }
    assert github.requests[-1].path == "/repos/acme/ideas/contents/ideas/market/2024-06.md"


def test_an_empty_file_is_empty(github: FakeGitHub) -> None:
    assert read(github, "empty.md") == {"ok": True, "content": "", "bytes": 0}


def test_bytes_that_are_not_utf_8_are_shown_as_well_as_can_be(github: FakeGitHub) -> None:
    assert read(github, "latin.md") == {"ok": True, "content": "caf\ufffd", "bytes": 4}


REFUSED = {
    "nothing.md": ("file_not_found", "File not found: nothing.md"),
    "market": ("api_error", "Path is not a file: market"),
    "large.md": (
        "file_too_large",
        "File exceeds 50KB limit. Try a more specific path or request a summary.",
    ),
    "link.md": ("api_error", "Failed to read file: Content does not match its sha: link.md"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_githubs_answer_is_checked(github: FakeGitHub, path: str) -> None:
    error_type, message = REFUSED[path]
    assert read(github, path) == {"ok": False, "error_type": error_type, "message": message}


@pytest.mark.parametrize("path", ["../secret.md", "%2e%2e/secret.md", "/secret.md", "a//b"])
def test_no_request_leaves_for_a_rejected_path(github: FakeGitHub, path: str) -> None:
    assert read(github, path)["error_type"] == "path_validation"
    assert github.requests == []


def contents(**changes: Any) -> dict[str, Any]:
    body = {
        "type": "file",
        "size": 3,
        "encoding": "base64",
        "content": base64.b64encode(b"tea").decode(),
        "sha": "e42dd3e1af0b9ec1bcb38e7b5e2f4ca5a0a2b39e",
    }
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


ODD = [
    (contents(size=None), "Failed to read file: Missing size for a.md"),
    (contents(type="symlink"), "Path is not a file: a.md"),
    (contents(type="submodule"), "Path is not a file: a.md"),
    (contents(), "Failed to read file: Content does not match its sha: a.md"),
    (contents(content="%%%"), "Failed to read file: Content does not match its sha: a.md"),
    (
        contents(encoding="none", content=""),
        "Failed to read file: Content does not match its sha: a.md",
    ),
]


@pytest.mark.parametrize(("body", "message"), ODD)
def test_an_odd_answer_is_an_api_error(
    github: FakeGitHub, body: dict[str, Any], message: str
) -> None:
    github.faults.fail(200, "contents", body=json.dumps(body).encode())
    answer = read(github, "a.md")
    assert (answer["error_type"], answer["message"]) == ("api_error", message)


STATUSES = {401: False, 403: False, 422: False, 500: True, 502: True, 503: True, 504: True}


@pytest.mark.parametrize("status", STATUSES)
def test_only_what_may_pass_is_tried_again(github: FakeGitHub, status: int) -> None:
    github.faults.fail(status, "contents", times=None)
    result = call(github, "read_research", {"path": "empty.md"})
    assert result.error_type == "api_error"
    assert str(result.payload["message"]).startswith("Failed to read file: GitHub")
    assert result.was_retried is STATUSES[status]


def test_a_rate_limit_that_passes_is_not_seen(github: FakeGitHub) -> None:
    github.faults.fail(429, "contents", times=1, headers={"Retry-After": "2"})
    result = call(github, "read_research", {"path": "empty.md"})
    assert (result.ok, result.was_retried) == (True, True)


SECONDARY = b'{"message": "You have exceeded a secondary rate limit."}'


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (SECONDARY, {}),  # a minute is what GitHub asks for then
        (b"{}", {"Retry-After": "60"}),
        (b"{}", {"Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"}),
    ],
)
def test_a_limit_that_outlasts_the_call_is_not_run_into_again(
    github: FakeGitHub, body: bytes, headers: dict[str, str]
) -> None:
    github.faults.fail(403, "contents", times=None, body=body, headers=headers)
    result = call(github, "read_research", {"path": "empty.md"})
    assert (result.error_type, result.was_retried) == ("api_error", False)
    assert len([r for r in github.requests if "contents" in r.target]) == 1


def test_listing_leaves_links_and_everything_else_out(github: FakeGitHub) -> None:
    payload: Any = call(github, "list_research", {}).payload
    assert [f["path"] for f in payload["files"]] == [
        "empty.md", "large.md", "latin.md", "market/2024-06.md",
    ]  # fmt: skip


def test_searching_reads_one_archive(github: FakeGitHub) -> None:
    payload: Any = call(github, "search_research", {"query": "tea rooms"}).payload
    assert [r["path"] for r in payload["results"]] == ["market/2024-06.md"]
    assert not [r for r in github.requests if "contents" in r.path]


def test_an_empty_repository_has_no_research(tmp_path: Path) -> None:
    with FakeGitHub(tmp_path, token="t") as server:
        server.create_repository("acme/ideas", None)
        assert call(server, "list_research", {}).payload["total"] == 0
        assert call(server, "search_research", {"query": "x"}).payload["totalFound"] == 0


def opened(github: FakeGitHub, index_file: Path, branch: str | None = "main") -> GitHub:
    """A new client each time, as a new process would have."""
    client = GitHubClient("acme/ideas", lambda: "t", github.url)
    return GitHub(client, branch, index_file)


def searched(repository: GitHub) -> set[str]:
    return {found.path for found in repository.search("md", 20)[0]}


def count(github: FakeGitHub, part: str) -> int:
    return sum(part in request.path for request in github.requests)


def test_searching_fetches_one_archive_and_then_what_changed(
    github: FakeGitHub, tmp_path: Path
) -> None:
    file = tmp_path / "index.db"
    first, again = searched(opened(github, file)), searched(opened(github, file))
    repository = github.create_repository("acme/ideas")
    repository.commit({"ideas/new.md": "# New", "ideas/latin.md": None, "other.md": "x"})
    later = opened(github, file)

    assert first == again
    assert first - searched(later) == {"latin.md"}
    assert searched(later) - first == {"new.md"}
    assert later.search("new", 5)[0][0].text == "# New"
    assert (count(github, "/codeload/"), count(github, "/git/blobs/")) == (1, 1)


def test_many_changes_come_in_one_archive(github: FakeGitHub, tmp_path: Path) -> None:
    file = tmp_path / "index.db"
    searched(opened(github, file))
    new = {f"ideas/new{number}.md": f"# Number {number}" for number in range(30)}
    github.create_repository("acme/ideas").commit(new)

    assert opened(github, file).search("number", 5)[1] == 30
    assert (count(github, "/codeload/"), count(github, "/git/blobs/")) == (2, 0)


def test_an_index_of_documents_that_are_gone_is_emptied(github: FakeGitHub, tmp_path: Path) -> None:
    repository = opened(github, tmp_path / "index.db")
    assert searched(repository)
    paths = [path for path in FILES if path.startswith("ideas/")]
    github.create_repository("acme/ideas").commit(dict.fromkeys(paths))
    assert searched(opened(github, tmp_path / "index.db")) == set()


@pytest.mark.parametrize("branch", [None, "main"])
def test_a_token_that_may_no_longer_see_the_repository_empties_no_index(
    github: FakeGitHub, tmp_path: Path, branch: str | None
) -> None:
    github.grant("reader", "acme/ideas", "read")
    client = GitHubClient("acme/ideas", lambda: "reader", github.url)
    before = searched(GitHub(client, branch, tmp_path / "index.db"))
    assert before
    github.grant("reader", "acme/ideas", "none")
    repository = GitHub(client, branch, tmp_path / "index.db")
    with pytest.raises(DocumentMissingError, match="GitHub does not know acme/ideas"):
        searched(repository)

    github.grant("reader", "acme/ideas", "read")
    assert searched(repository) == before
    assert count(github, "/codeload/") == 1


def test_a_repository_without_the_branch_has_no_documents(
    github: FakeGitHub, tmp_path: Path
) -> None:
    assert searched(opened(github, tmp_path / "index.db", "missing")) == set()


def test_an_archive_that_breaks_off_is_an_error_and_not_kept(
    github: FakeGitHub, tmp_path: Path
) -> None:
    repository = opened(github, tmp_path / "index.db")
    github.faults.cut("codeload")
    with pytest.raises(ExternalError):
        repository.search("tea", 5)
    (tea,), _ = repository.search("tea", 5)
    assert tea.text.startswith("# Tea")
