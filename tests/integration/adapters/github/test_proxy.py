"""GitHub is reached through the proxy that the environment names; what a model chose to fetch never is."""

import json
import ssl
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.domain.errors import BlockedAddressError
from tests.fakes import command
from tests.fakes.certificate import self_signed
from tests.fakes.fetching import local_pages
from tests.fakes.forward_proxy import ForwardProxy
from tests.fakes.github_server import FakeGitHub
from tests.fakes.web_server import WebServer, page


@pytest.fixture
def listed(github: FakeGitHub, tmp_path: Path) -> "Listed":
    github.create_repository("acme/ideas", {"ideas/bees.md": "# Bees\n"}, branch="trunk")
    return Listed(github, tmp_path)


class Listed:
    """`idea tool list_research` with these variables, and what it answers."""

    def __init__(self, github: FakeGitHub, folder: Path) -> None:
        self._github = github
        self._folder = folder

    def __call__(self, **variables: str) -> dict[str, object]:
        known = {
            "GITHUB_TOKEN": "t0ken",
            "GITHUB_REPOSITORY": "acme/ideas",
            "GITHUB_API_URL": self._github.url,
        }
        done = command.idea(
            "tool", "list_research", "{}", env=known | variables, folder=self._folder
        )
        answer: dict[str, object] = json.loads(done.stdout)
        return answer


def test_plain_http_goes_through_the_proxy_by_its_whole_address(
    listed: Listed, github: FakeGitHub
) -> None:
    with ForwardProxy() as proxy:
        answer = listed(HTTP_PROXY=proxy.url)

    assert answer["ok"] is True
    assert proxy.asked[0] == f"GET {github.url}/repos/acme/ideas"
    assert len(proxy.asked) == len(github.requests)


def test_https_goes_through_a_tunnel_that_the_proxy_cannot_look_into(
    listed: Listed, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path / "github.pem", "localhost")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with ForwardProxy() as proxy, FakeGitHub(tmp_path / "tls", token="t0ken", tls=tls) as github:
        github.create_repository("acme/ideas", {"ideas/bees.md": "# Bees\n"})
        answer = listed(
            GITHUB_API_URL=f"https://localhost:{github.port}",
            HTTPS_PROXY=proxy.url,
            SSL_CERT_FILE=str(certificate),
        )

    assert answer["ok"] is True
    assert set(proxy.asked) == {f"CONNECT localhost:{github.port}"}
    assert github.requests[0].headers["authorization"] == "Bearer t0ken"


def test_no_proxy_names_who_is_reached_directly(listed: Listed) -> None:
    with ForwardProxy() as proxy:
        answer = listed(HTTP_PROXY=proxy.url, NO_PROXY="127.0.0.1,example.org")

    assert answer["ok"] is True
    assert proxy.asked == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_lets_nobody_through_is_said(listed: Listed, scheme: str) -> None:
    with ForwardProxy(refuses=True) as proxy:
        url = {"GITHUB_API_URL": "https://localhost:1"} if scheme == "https" else {}
        answer = listed(HTTP_PROXY=proxy.url, HTTPS_PROXY=proxy.url, **url)

    assert answer["ok"] is False
    assert proxy.asked
    said = "403" if scheme == "http" else "The proxy could not connect to GitHub"
    assert said in str(answer["message"])


def test_a_proxy_is_never_used_for_what_a_user_or_a_model_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ForwardProxy() as proxy, WebServer({"/": page("Hello")}) as web:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        fetched = local_pages().fetch(f"{web.url}/")
        with pytest.raises(BlockedAddressError):  # only a proxy would connect to it
            PublicHttp(SystemClock()).post(f"https://127.0.0.1:{web.port}/", b"{}", {}, 5.0)

    assert fetched.body == b"Hello"
    assert proxy.asked == []
