"""Names that somebody chose never lead to another repository, also not over the wire."""

from collections.abc import Callable
from pathlib import Path

import pytest

from idea_explorer.adapters.github.branches import GitHubBranches
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.code import GitHubCode, GitHubTree
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.agent.tool_calls import ToolExecutor
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.errors import ConfigurationError, ExplorerError, RejectedError
from idea_explorer.domain.paths import ResearchPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tools import ToolCall
from idea_explorer.settings import Settings
from idea_explorer.wiring.code import client_for, code_toolset
from idea_explorer.wiring.local import cli_log, given_files
from idea_explorer.wiring.toolsets import ToolsetContext
from tests.fakes.explorations import an_exploration
from tests.fakes.github_server import FakeGitHub

pytestmark = pytest.mark.long

# httpx collapses dot segments before it sends a request, and GitHub's router would after it
NAMES = [
    "../../private/commits/main",
    "../../../repos/acme/private/commits/main",
    "..",
    ".",
    "a//b",
    "a/../../../private/commits/main",
    "./main",
    "main/..",
    "..%2f..%2fprivate",
    "%2e%2e/%2e%2e/private/commits/main",
    "main?ref=x",
    "main#x",
    "main\\..\\..",
    "//evil.example/x",
]


@pytest.fixture
def client(github: FakeGitHub) -> GitHubClient:
    github.create_repository("acme/ideas", {"ideas/tea.md": "# Tea\n"})
    github.create_repository("acme/private", {"ideas/tea.md": "# Secret\n", "key.txt": "secret"})
    return GitHubClient("acme/ideas", lambda: "t0ken", github.url)


CALLS: dict[str, Callable[[GitHubClient, str], object]] = {
    "commit": lambda client, name: GitHubCode(client).commit_of(name),
    "tarball": lambda client, name: GitHubCode(client).download(name).__enter__(),
    "tip": lambda client, name: GitHubBranches(client).tip(name),
    "base": lambda client, name: GitHubBranches(client).find_base(name),
    "advance": lambda client, name: GitHubBranches(client).advance(name, "a" * 40),
    "pull request": lambda client, name: GitHubBranches(client).find_pull_request(
        name, state="all"
    ),
    "tree": lambda client, name: GitHubTree(client, name).find("key.txt"),
    "document": lambda client, name: GitHub(client, "main").read(ResearchPath(name)),
    "documents": lambda client, name: GitHub(client, name).search("tea", 5)[0],
    "list": lambda client, name: GitHub(client, name).list(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("name", NAMES)
def test_no_name_reaches_another_repository(
    github: FakeGitHub, client: GitHubClient, call: Callable[[GitHubClient, str], object], name: str
) -> None:
    try:
        found = call(client, name)
    except ExplorerError:
        found = None
    github.take_violations()

    assert found in (None, [], "main")
    for request in github.requests:
        segments = request.path.split("/")
        assert segments[:4] == ["", "repos", "acme", "ideas"]
        assert {".", ".."}.isdisjoint(segments)


def test_a_name_with_slashes_is_still_found(github: FakeGitHub, client: GitHubClient) -> None:
    branches = GitHubBranches(client)
    sha = branches.tip("main")
    assert sha is not None
    branches.create("feature/größe-#1", sha)

    assert branches.tip("feature/größe-#1") == sha
    assert GitHubCode(client).commit_of("feature/größe-#1") == sha
    assert GitHub(client, "feature/größe-#1").list() != []


@pytest.mark.parametrize("repository", ["acme/..", "../acme", "acme/", "acme/./ideas"])
def test_a_client_of_no_repository_is_refused(github: FakeGitHub, repository: str) -> None:
    with pytest.raises(RejectedError):
        GitHubClient(repository, lambda: "t0ken", github.url)


def settings_for(github: FakeGitHub, folder: Path, repositories: str) -> Settings:
    return Settings.from_environment(
        {
            "GITHUB_TOKEN": "t0ken",
            "GITHUB_REPOSITORY": "acme/ideas",
            "GITHUB_API_URL": github.url,
            "IDEA_CODE_REPOSITORIES": repositories,
            "IDEA_RESEARCH_DIR": str(folder),
        }
    )


def read_key(settings: Settings, repository: str, commit: str) -> str:
    request = ExploreRequest(idea="Tea", toolset="code", repository=repository)
    exploration = an_exploration(request=request, base_commit=commit)
    context = ToolsetContext(settings, cli_log(None), given_files([]), exploration=exploration)
    caller = ArgumentValidator(code_toolset(context), ToolExecutor(cli_log(None)), cli_log(None))
    call = ToolCall(id="1", name="read_file", input={"path": "key.txt"})
    return str(caller.call(call).payload)


def test_a_snapshot_of_one_repository_is_not_one_of_another(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    private = GitHubClient("acme/private", lambda: "t0ken", github.url)
    commit = GitHubCode(private).commit_of("main")
    allowed = settings_for(github, tmp_path, "acme/private")

    assert "secret" in read_key(allowed, "acme/private", commit)
    assert "secret" not in read_key(allowed, "acme/ideas", commit)

    refused = read_key(settings_for(github, tmp_path, ""), "acme/private", commit)
    assert "acme/private may not be explored here" in refused
    assert "secret" not in refused


def test_a_repository_off_the_list_gets_no_client(github: FakeGitHub, tmp_path: Path) -> None:
    request = ExploreRequest(idea="Tea", toolset="code", repository="acme/private")

    with pytest.raises(ConfigurationError, match="may not be explored"):
        client_for(settings_for(github, tmp_path, "acme/other"), request)
