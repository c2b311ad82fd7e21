"""Claude through the proxy that the environment names."""

from pathlib import Path

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.command import idea
from tests.fakes.forward_proxy import ForwardProxy
from tests.fakes.reports import business


def explore(server: FakeAnthropic, folder: Path, **variables: str) -> int:
    env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.url, **variables}
    return idea("explore", "Bees in towns", "--quiet", env=env, folder=folder).returncode


def test_claude_is_reached_through_the_proxy_of_the_environment(tmp_path: Path) -> None:
    with ForwardProxy() as proxy, FakeAnthropic([answer(text(business("Bees")))] * 2) as server:
        assert explore(server, tmp_path, HTTP_PROXY=proxy.url) == 0
        assert proxy.asked == [f"POST {server.url}/v1/messages"]
        assert explore(server, tmp_path, HTTP_PROXY=proxy.url, NO_PROXY="127.0.0.1") == 0
        assert len(proxy.asked) == 1
    assert len(server.requests) == 2


def test_a_proxy_that_lets_nobody_through_is_one_sentence(tmp_path: Path) -> None:
    with ForwardProxy(refuses=True) as proxy, FakeAnthropic([]) as server:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.url}
        done = idea(
            "explore", "Bees", "--quiet", env={**env, "HTTP_PROXY": proxy.url}, folder=tmp_path
        )
    assert (done.returncode, server.requests) == (1, [])
    assert len(done.stderr.strip().splitlines()) == 1
