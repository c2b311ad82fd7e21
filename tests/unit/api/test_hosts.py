"""Names by which the server on this machine is reached."""

import pytest

from idea_explorer.api.hosts import HostRules
from idea_explorer.api.http import RequestError
from idea_explorer.domain.errors import InvalidSettingError


@pytest.mark.parametrize(
    "name",
    [
        "https://idea.example.com",
        "idea.example.com:443",
        "*",
        "*.example.com",
        "a/b",
        "a@b",
        "a..b",
    ],
)
def test_a_name_that_no_request_could_have_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(InvalidSettingError, match="IDEA_ALLOWED_HOSTS"):
        HostRules("127.0.0.1", ["ideas.lan", name])


def test_names_are_accepted_in_any_case_and_with_the_dot_at_their_end() -> None:
    rules = HostRules("My-Machine", ["Ideas.Example.org.", "::1", "10.0.0.1"])
    for host in ("ideas.example.ORG:443", "ideas.example.org.", "my-machine", "[fe80::1]:8000"):
        rules.check("GET", host, None)
    rules.check("POST", "ideas.example.org", "https://ideas.example.org")


@pytest.mark.parametrize("address", ["192.168.1.5:8000", "[::ffff:192.168.1.5]:8000"])
def test_a_page_at_an_address_changes_things_only_at_that_address(address: str) -> None:
    rules = HostRules("0.0.0.0")
    rules.check("POST", address, f"http://{address}")
    for other in ("http://192.168.1.6:8000", "http://localhost:8000", "http://a.localhost"):
        with pytest.raises(RequestError):
            rules.check("POST", address, other)
