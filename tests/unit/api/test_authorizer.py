"""Who may call, and what every answer has."""

import json
import logging
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.authorizer import UnauthorizedError, authorize
from idea_explorer.api.http import SECURITY_HEADERS
from idea_explorer.api.routes import ROUTES, Route
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError, UnavailableError
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.tokens import dump_tokens, find_owner, issue_token, parse_tokens
from idea_explorer.ports import ExplorationPage, Filter
from tests.fakes.api import Api

NOW = datetime(2026, 11, 16, tzinfo=UTC)
ARN = "arn:aws:execute-api:eu-central-1:123456789012:abc123/prod/GET/explorations"
ADA, STORED_ADA = issue_token("ada", now=NOW)
BOB, STORED_BOB = issue_token("bob", now=NOW)
SECRET = dump_tokens([STORED_ADA, STORED_BOB])


def authorized(given: str | None, kind: str = "REQUEST") -> dict[str, Any]:
    event: dict[str, Any] = {"type": kind, "methodArn": ARN}
    if kind == "TOKEN":
        event["authorizationToken"] = given
    else:
        event["headers"] = {"authorization": given} if given is not None else None
    return authorize(event, lambda: SECRET)


# Tokens


def test_a_token_is_kept_only_as_its_hash() -> None:
    assert ADA not in SECRET
    assert json.loads(SECRET)[0].keys() == {"owner", "hash", "created"}
    assert len(ADA) >= 43


def test_a_token_names_its_owner() -> None:
    tokens = parse_tokens(SECRET)

    assert (find_owner(ADA, tokens), find_owner(BOB, tokens)) == ("ada", "bob")
    assert find_owner(STORED_ADA.hash, tokens) is None
    assert find_owner("", tokens) is None
    assert find_owner(ADA, []) is None


@pytest.mark.parametrize("text", ["nonsense", "{}", '[{"owner": "ada"}]', '"a-token"'])
def test_a_broken_secret_is_a_clear_error_that_does_not_quote_it(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_tokens(text)

    assert text not in str(raised.value)


def test_nothing_stored_yet_is_no_tokens() -> None:
    assert parse_tokens("") == parse_tokens("[]") == []


@pytest.mark.parametrize("owner", ["", " ", "a b", "x" * 65, "-a", "ä", "a/b"])
def test_an_owner_has_a_plain_name(owner: str) -> None:
    with pytest.raises(InvalidRequestError):
        issue_token(owner, now=NOW)


# The authorizer


@pytest.mark.parametrize("kind", ["REQUEST", "TOKEN"])
def test_a_known_token_may_call_every_route_of_the_stage(kind: str) -> None:
    allowed = authorized(f"Bearer {BOB}", kind)

    assert allowed["context"] == {"owner": "bob"}
    assert allowed["principalId"] == "bob"
    (statement,) = allowed["policyDocument"]["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Resource"] == [
        "arn:aws:execute-api:eu-central-1:123456789012:abc123/prod/*/*"
    ]


WRONG: dict[str, str | None] = {
    "missing": None,
    "empty": "",
    "bare scheme": "Bearer",
    "blank": "Bearer ",
    "longer": f"Bearer {ADA}x",
    "shorter": f"Bearer {ADA[:-1]}",
    "other scheme": f"Basic {ADA}",
    "no scheme": ADA,
    "its hash": f"Bearer {STORED_ADA.hash}",
    "huge": "Bearer " + "x" * 100_000,
    "surrogate": "Bearer \ud800",
    "other script": "Bearer ключ",
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", ["REQUEST", "TOKEN"])
def test_any_other_token_is_unauthorized(given: str | None, kind: str) -> None:
    with pytest.raises(UnauthorizedError, match=r"^Unauthorized$"):
        authorized(given, kind)


def test_a_token_that_was_added_since_is_found_by_reading_again() -> None:
    event = {"type": "TOKEN", "methodArn": ARN, "authorizationToken": f"Bearer {BOB}"}
    before = dump_tokens([STORED_ADA])

    assert authorize(event, lambda: before, lambda: SECRET)["context"] == {"owner": "bob"}
    with pytest.raises(UnauthorizedError):
        authorize(event, lambda: before, lambda: before)


# Every route


def example(route: Route) -> str:
    return re.sub(r"<\w+>", str(new_id(1)), route.path)


@pytest.mark.parametrize("route", [r for r in ROUTES if not r.public], ids=lambda r: r.path)
@pytest.mark.parametrize("owner", [None, ""])
def test_no_route_answers_without_an_owner(tmp_path: Path, route: Route, owner: str | None) -> None:
    reply = Api(tmp_path).call(route.method, example(route), {"idea": "bees"}, owner=owner)

    assert reply.status == 401
    assert reply.error["type"] == "unauthorized"
    assert reply.headers["www-authenticate"] == "Bearer"


def test_health_needs_no_token_and_says_versions(tmp_path: Path) -> None:
    reply = Api(tmp_path).get("/health", owner=None)

    assert reply.status == 200
    assert reply.json["status"] == "ok"
    assert reply.json.keys() == {"status", "service", "version", "python"}


@pytest.mark.parametrize(
    "target", ["/health", "/explorations", "/nowhere", "/explorations/x/report"]
)
def test_every_answer_has_the_security_headers(tmp_path: Path, target: str) -> None:
    reply = Api(tmp_path).get(target)

    for name, value in SECURITY_HEADERS.items():
        assert reply.headers[name.lower()] == value


class BrokenStore:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def page(
        self, owner: str, wanted: Filter, *, limit: int, cursor: str | None
    ) -> ExplorationPage:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (UnavailableError("DynamoDB is down at 10.0.0.1."), 503, "unavailable"),
        (ConfigurationError("The table secret-name is missing."), 500, "internal"),
        (RuntimeError("a bug with a secret-name in it"), 500, "internal"),
    ],
)
def test_what_is_not_the_callers_doing_is_logged_not_told(
    tmp_path: Path, error: Exception, status: int, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken: Any = BrokenStore(error)
    api = Api(tmp_path, explorations=broken)

    with caplog.at_level(logging.DEBUG):
        reply = api.get("/explorations")

    assert (reply.status, reply.error["type"]) == (status, kind)
    assert "secret-name" not in reply.text
    assert "10.0.0.1" not in reply.text
    (logged,) = api.log.of("request_failed")
    assert logged["errorType"] == type(error).__name__
    assert "secret-name" not in repr(api.log.lines) + caplog.text


def test_each_request_is_one_log_line_without_its_contents(tmp_path: Path) -> None:
    api = Api(tmp_path)
    api.get("/explorations?cursor=private-value")

    (line,) = api.log.of("request")
    assert (line["route"], line["status"]) == ("GET /explorations", 422)
    assert "private-value" not in repr(api.log.lines)


def test_the_handler_loads_no_model_client_no_http_client_and_no_tools() -> None:
    code = (
        "import sys, idea_explorer.api.app, idea_explorer.api.authorizer, idea_explorer.wiring;"
        "heavy = ('anthropic', 'httpx', 'httpx2', 'idea_explorer.tools', 'rich');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
