"""Links that sign a browser in."""

from collections.abc import Iterator

import httpx
import pytest

from idea_explorer.api.server import ApiServer
from idea_explorer.api.sign_in import SignInLinks
from tests.fakes.serving import Listening

TOKEN = "the-token"


class Links(SignInLinks):
    """Links that note how often one was used."""

    def __init__(self) -> None:
        self.used = 0
        super().__init__(TOKEN, self._count)

    def _count(self) -> None:
        self.used += 1

    @property
    def code(self) -> str:
        return self.path.rpartition("/")[2]


def test_a_link_gives_the_token_once() -> None:
    links = Links()
    code = links.code

    first, second = (links.redeem(f"SignIn {code}") for _ in range(2))

    assert (first, second, links.used) == (TOKEN, None, 1)
    assert links.redeem(f"SignIn {links.code}") == TOKEN


def test_the_token_is_not_in_the_link() -> None:
    links = Links()

    assert TOKEN not in links.path
    assert links.path.startswith("/#/sign-in/")  # after the #, which is sent to no server
    assert len(links.code) >= 40


@pytest.mark.parametrize(
    "header", ["", "SignIn", "SignIn ", "SignIn wrong", "SignIn é\udc80", "Bearer {code}", "{code}"]
)
def test_nothing_else_gives_the_token(header: str) -> None:
    links = Links()

    assert links.redeem(header.format(code=links.code)) is None
    assert links.used == 0


@pytest.fixture
def links() -> Links:
    return Links()


@pytest.fixture
def url(links: Links) -> Iterator[str]:
    def handle(*_: object) -> dict[str, object]:
        raise AssertionError("the API is not asked")

    server = ApiServer(("127.0.0.1", 0), handle, lambda: "[]", sign_in=links.redeem)
    with Listening(server):
        yield server.url


def post(url: str, code: str, **headers: str) -> httpx.Response:
    sent = {"Authorization": f"SignIn {code}", **headers}
    return httpx.post(f"{url}/sign-in", headers=sent, trust_env=False)


def test_the_server_gives_the_token_for_a_link_once(url: str, links: Links) -> None:
    code = links.code

    first, second = post(url, code), post(url, code)

    assert (first.status_code, first.json()) == (200, {"token": TOKEN})
    assert first.headers["cache-control"] == "no-store"
    assert second.status_code == 403
    assert "used already" in second.json()["error"]["message"]


def test_a_page_of_another_site_cannot_use_a_link(url: str, links: Links) -> None:
    refused = post(url, links.code, Origin="https://evil.example")

    assert refused.status_code == 403
    assert links.used == 0
