"""Where on the web a run may look."""

import pytest

from idea_explorer.cli.arguments import read_request
from idea_explorer.cli.parser import build_parser
from idea_explorer.domain.errors import InvalidRequestError, InvalidSettingError
from idea_explorer.domain.queue_messages import QueueMessage, Submission, parse_message
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.web_scope import DOMAIN_RULE, WebScope, check_domain
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import RequestPolicy, check_fields_count


def request(*flags: str) -> ExploreRequest:
    return read_request(build_parser().parse_args(["explore", "Tea", *flags]))


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("example.com", "example.com"),
        ("Docs.Example.COM", "docs.example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_a_domain_is_taken_in_lower_case(name: str, domain: str) -> None:
    assert check_domain(name) == domain


@pytest.mark.parametrize(
    "name",
    [
        "https://example.com",
        "example.com/blog",
        "example.com:8080",
        "*.example.com",
        "example",
        "",
        "example..com",
        "-a.example",
        "10.0.0.1",
        "аmazon.com",  # with a Cyrillic letter
        "a b.example",
        f"{'a' * 64}.example",
        f"{'a.' * 126}example",
    ],
)
def test_what_the_api_would_not_match_is_refused_with_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match="must be domains such as"):
        check_domain(name)


def test_flags_name_domains_and_a_place() -> None:
    asked = request(
        "--allowed-domains", "a.example, B.example", "--user-location", "city=Köln,country=DE"
    )

    assert asked.allowed_domains == ("a.example", "b.example")
    assert asked.scope_within(WebScope()).search_fields == {
        "allowed_domains": ["a.example", "b.example"],
        "user_location": {"type": "approximate", "city": "Köln", "country": "DE"},
    }


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ("--allowed-domains", "a.example", "--blocked-domains", "b.example"),
            "Cannot use both 'allowed_domains' and 'blocked_domains'",
        ),
        (("--blocked-domains", "https://b.example"), f"'blocked_domains': {DOMAIN_RULE}"),
        (("--user-location", "Berlin"), "--user-location: must look like city=Berlin"),
        (("--user-location", "planet=Mars"), "'user_location': unknown field"),
        (("--user-location", "country=Germany"), "'user_location': must be a country code of two"),
        (("--user-location", "timezone=at home"), "'user_location': must be a time zone such as"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(flags: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InvalidRequestError) as wrong:
        request(*flags)
    assert sentence in wrong.value.sentence


def test_a_message_carries_them_as_json() -> None:
    body = '{"idea": "Tea", "blocked_domains": ["b.example"], "user_location": {"city": "Rome"}}'

    submission = parse_message(QueueMessage("m", body))

    assert isinstance(submission, Submission)
    assert submission.request.blocked_domains == ("b.example",)
    assert submission.request.user_location is not None
    assert ExploreRequest.model_validate_json(submission.request.model_dump_json()) == (
        submission.request
    )


def test_an_empty_place_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="must have a city, region, country or timezone"):
        parse_message(QueueMessage("m", '{"idea": "Tea", "user_location": {}}'))


def test_toolsets_without_the_web_take_none() -> None:
    wrong = ExploreRequest(idea="Tea", toolset="discover", allowed_domains=("a.example",))

    with pytest.raises(InvalidRequestError, match="only the research or assistant toolset"):
        check_fields_count(wrong)


@pytest.mark.parametrize(
    ("ours", "asked", "expected"),
    [
        (WebScope(("a.example",)), {}, WebScope(("a.example",))),
        (
            WebScope(("a.example", "b.example")),
            {"allowed_domains": ["x.a.example", "c.example", "b.example"]},
            WebScope(("x.a.example", "b.example")),
        ),
        (
            WebScope(("x.a.example",)),
            {"allowed_domains": ["a.example"]},
            WebScope(("x.a.example",)),
        ),
        (
            WebScope(("a.example", "b.example")),
            {"blocked_domains": ["b.example"]},
            WebScope(("a.example",)),
        ),
        (
            WebScope((), ("a.example",)),
            {"blocked_domains": ["b.example", "a.example"]},
            WebScope((), ("a.example", "b.example")),
        ),
        (
            WebScope((), ("a.example",)),
            {"allowed_domains": ["b.example", "x.a.example"]},
            WebScope(("b.example",)),
        ),
    ],
)
def test_a_request_can_only_narrow_the_lists_of_the_settings(
    ours: WebScope, asked: dict[str, list[str]], expected: WebScope
) -> None:
    given = ExploreRequest.model_validate({"idea": "Tea", **asked})
    assert given.scope_within(ours) == expected


@pytest.mark.parametrize(
    ("ours", "asked", "said"),
    [
        (WebScope(("a.example",)), {"allowed_domains": ["b.example"]}, "leave none"),
        (WebScope(("a.example",)), {"blocked_domains": ["a.example"]}, "leave none"),
        (WebScope((), ("a.example",)), {"allowed_domains": ["x.a.example"]}, "leave none"),
        (WebScope((), ("x.a.example",)), {"allowed_domains": ["a.example"]}, "is part of"),
    ],
)
def test_a_request_that_leaves_nothing_is_refused(
    ours: WebScope, asked: dict[str, list[str]], said: str
) -> None:
    given = ExploreRequest.model_validate({"idea": "Tea", **asked})
    with pytest.raises(InvalidRequestError, match=said) as refused:
        RequestPolicy(web_scope=ours).check_request(given, "owner")
    assert list(refused.value.fields) == [*asked]


def test_a_request_without_lists_has_those_of_the_settings() -> None:
    default = Settings.from_environment(
        {"IDEA_BLOCKED_DOMAINS": "B.example c.example", "IDEA_USER_LOCATION": "country=FR"}
    ).web_scope

    assert request().scope_within(default) == default
    assert default.blocked_domains == ("b.example", "c.example")
    narrowed = request("--allowed-domains", "a.example").scope_within(default)
    assert (narrowed.allowed_domains, narrowed.blocked_domains) == (("a.example",), ())
    assert narrowed.user_location == default.user_location


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        (
            {"IDEA_ALLOWED_DOMAINS": "a.example", "IDEA_BLOCKED_DOMAINS": "b.example"},
            "IDEA_BLOCKED_DOMAINS",
        ),
        ({"IDEA_ALLOWED_DOMAINS": "https://a.example"}, "IDEA_ALLOWED_DOMAINS"),
        ({"IDEA_USER_LOCATION": "Paris"}, "IDEA_USER_LOCATION"),
    ],
)
def test_wrong_settings_are_named(variables: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidSettingError, match=name):
        Settings.from_environment(variables)


@pytest.mark.parametrize(
    ("url", "allowed", "blocked"),
    [
        ("https://a.example/x", True, False),
        ("https://docs.a.example", True, False),
        ("https://a.example./x", True, False),
        ("https://nota.example/x", False, True),
        ("https://a.example.evil.example/", False, True),
        ("https://[broken", False, False),
    ],
)
def test_a_domain_covers_its_subdomains_and_nothing_else(
    url: str, allowed: bool, blocked: bool
) -> None:
    assert WebScope(allowed_domains=("a.example",)).permits(url) is allowed
    assert WebScope(blocked_domains=("a.example",)).permits(url) is blocked
