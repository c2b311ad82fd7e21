"""One machine for all tests here, and a stack that most of them share."""

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from idea_explorer.domain.tokens import dump_tokens, make_token_record
from tests.e2e.harness.minds import Minds
from tests.e2e.harness.stack import Machine, Options, Stack, credentials
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.github_server import FakeGitHub

TOKENS = {"ada": "ada-token-that-must-never-be-logged", "bob": "bobs-token"}
GITHUB_TOKEN = "ghp-a-token-that-must-never-be-logged"
REPOSITORY = "acme/ideas"
BRANCH = "trunk"  # nobody is told of it but by GitHub
ANTHROPIC_KEY = "sk-ant-a-key-that-must-never-be-logged"


@pytest.fixture(scope="package")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with credentials():
        machine = Machine(tmp_path_factory.mktemp("machine"))
        try:
            yield machine
        finally:
            machine.close()


@pytest.fixture(scope="package")
def minds() -> Minds:
    return Minds()


@pytest.fixture(scope="package")
def anthropic(minds: Minds) -> Iterator[FakeAnthropic]:
    with FakeAnthropic(minds, expected_key=ANTHROPIC_KEY) as server:
        yield server


def tokens() -> str:
    now = datetime.now(UTC)
    known = [make_token_record(token, owner, now=now) for owner, token in TOKENS.items()]
    return dump_tokens(known)


@pytest.fixture(scope="package")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path_factory.mktemp("github"), token=GITHUB_TOKEN) as server:
        server.create_repository(REPOSITORY, {"README.md": "# Ideas"}, branch=BRANCH)
        yield server


@pytest.fixture(scope="package")
def options(anthropic: FakeAnthropic, github: FakeGitHub) -> Options:
    """A deployment whose outside world is here, with deadlines and waits that a test can wait for."""
    return Options(
        parameters={"GitHubRepository": REPOSITORY},
        environment={
            "ANTHROPIC_BASE_URL": anthropic.url,
            "GITHUB_API_URL": github.url,
            "IDEA_MIN_DEADLINE_SECONDS": "1",
        },
        secrets={
            "AnthropicSecret": ANTHROPIC_KEY,
            "GitHubSecret": GITHUB_TOKEN,
            "ApiTokensSecret": tokens(),
        },
        warm=("ApiFunction", "DispatchFunction", "ExploreFunction", "PublishFunction"),
    )


@pytest.fixture(scope="package")
def stack(machine: Machine, options: Options) -> Iterator[Stack]:
    with machine.stack(options) as stack:
        yield stack


@pytest.fixture(autouse=True)
def _nothing_is_refused(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every call of a function is one that its role allows."""
    if "stack" not in request.fixturenames:
        yield
        return
    used: Stack = request.getfixturevalue("stack")
    before = len(used.refused())
    yield
    assert used.refused()[before:] == []


@pytest.fixture(autouse=True)
def _github_knows_every_request(github: FakeGitHub) -> Iterator[None]:
    yield
    assert github.take_violations() == []


def client_of(stack: Stack, owner: str) -> httpx.Client:
    return httpx.Client(
        base_url=stack.gateway.url,
        headers={"Authorization": f"Bearer {TOKENS[owner]}"},
        timeout=60,
    )


@pytest.fixture(scope="package")
def ada(stack: Stack) -> Iterator[httpx.Client]:
    """The API as one owner sees it."""
    with client_of(stack, "ada") as client:
        yield client


@pytest.fixture(scope="package")
def bob(stack: Stack) -> Iterator[httpx.Client]:
    with client_of(stack, "bob") as client:
        yield client
