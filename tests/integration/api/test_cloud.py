"""The API and authorizer functions over a deployment's services."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from idea_explorer.adapters.aws.client import client
from idea_explorer.api.authorizer import UnauthorizedError
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.tokens import dump_tokens, issue_token
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.clock import START
from tests.fakes.functions import Context, handler_of, set_environment

ARN = "arn:aws:execute-api:eu-central-1:123456789012:abc/prod/GET/explorations"
Call = Callable[..., dict[str, Any]]


@pytest.fixture
def deployed(aws: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A deployment's settings, in the environment as well."""
    settings = aws.model_copy(update={"api_tokens_secret_id": "tokens"})
    set_environment(settings, monkeypatch)
    return settings


@pytest.fixture
def call(deployed: Settings) -> Call:
    handler = handler_of("api")

    def answered(
        method: str, target: str, body: object = None, key: str = "", owner: str = "ada"
    ) -> dict[str, Any]:
        headers = {"Idempotency-Key": key} if key else {}
        headers["Accept"] = "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        answer = handler(
            build_gateway_event(method, target, headers, data, owner), Context(seconds=4)
        )
        return {"status": answer["statusCode"], "body": json.loads(answer["body"])}

    return answered


def sent(settings: Settings) -> list[Any]:
    found = client("sqs").receive_message(QueueUrl=settings.queue_url, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in found.get("Messages", [])]


def test_an_exploration_is_submitted_listed_shown_cancelled_and_resumed(
    call: Call, deployed: Settings
) -> None:
    submitted = call("POST", "/explorations", {"idea": "Urban bees"})
    exploration_id = submitted["body"]["id"]

    assert submitted["status"] == 202
    assert submitted["body"]["similar"] == []
    assert sent(deployed) == [{"id": exploration_id, "run": 1}]
    listed = call("GET", "/explorations?limit=1")["body"]["explorations"]
    assert [line["id"] for line in listed] == [exploration_id]
    assert call("GET", f"/explorations/{exploration_id}", owner="bob")["status"] == 404
    cancelled = call("POST", f"/explorations/{exploration_id}/cancel")
    assert cancelled["body"]["status"] == "cancelled"
    resumed = call("POST", f"/explorations/{exploration_id}/resume", {"max_steps": 3})
    assert (resumed["status"], resumed["body"]["run"]) == (202, 2)
    assert sent(deployed) == [{"id": exploration_id, "run": 2}]
    told = call("GET", f"/explorations/{exploration_id}/events")["body"]["events"]
    assert [event["data"]["to"] for event in told] == ["cancelled", "queued"]


def test_the_research_and_the_owners_spend_are_shown(call: Call) -> None:
    call("POST", "/explorations", {"idea": "Urban bees"})

    assert call("GET", "/research")["body"] == {"documents": [], "total": 0}
    assert call("GET", "/research/document?path=ideas/none.md")["status"] == 404
    (line,) = call("GET", "/spend")["body"]["toolsets"]
    assert (line["toolset"], line["explorations"]) == ("research", 1)
    assert call("GET", "/spend", owner="bob")["body"]["toolsets"] == []


def test_a_repeated_key_starts_nothing_and_another_body_is_refused(
    call: Call, deployed: Settings
) -> None:
    first = call("POST", "/explorations", {"idea": "Urban bees"}, key="k1")
    again = call("POST", "/explorations", {"idea": "Urban bees"}, key="k1")
    other = call("POST", "/explorations", {"idea": "Rural bees"}, key="k1")

    assert first == again
    assert other["status"] == 422
    assert len(sent(deployed)) == 1


def test_a_file_is_announced_and_sent_to_the_bucket(call: Call) -> None:
    announced = call("POST", "/files", {"name": "notes.txt", "size": 100})["body"]
    upload = announced["upload"]
    requests.post(upload["url"], data=upload["fields"], files={"file": b"bees"}, timeout=5)

    body = {"idea": "bees", "toolset": "assistant", "files": [announced["file_id"]]}
    assert call("POST", "/explorations", body)["status"] == 202
    assert call("POST", "/explorations", body, owner="bob")["status"] == 422


def test_a_key_whose_first_request_died_is_locked_only_as_long_as_it_could_have_lived(
    deployed: Settings,
) -> None:
    """The second call comes while the first is being worked on, then after its time."""
    once = cloud_deps(deployed, SilentLog()).idempotency()
    request: dict[str, Any] = {"idea": "bees"}

    def nested() -> dict[str, Any]:
        with pytest.raises(Exception, match="still in progress"):
            once.once("ada", "k", request, lambda: {"n": 2}, seconds=30)
        return {"n": 1}

    assert once.once("ada", "k", request, nested, seconds=30) == {"n": 1}

    class DiedError(BaseException):
        """As a killed function: nothing is tidied up."""

    def die() -> dict[str, Any]:
        raise DiedError

    with pytest.raises(DiedError):
        once.once("ada", "k2", request, die, seconds=0)
    assert once.once("ada", "k2", request, lambda: {"n": 3}, seconds=30) == {"n": 3}


def test_the_page_may_reach_the_upload_bucket_and_nothing_else(call: Call) -> None:
    page = handler_of("api")(build_gateway_event("GET", "/", {}, b"", None), Context(seconds=4))
    upload = urlsplit(call("POST", "/files", {"name": "a.txt", "size": 1})["body"]["upload"]["url"])

    policy = page["multiValueHeaders"]["Content-Security-Policy"][0]
    assert f"; connect-src 'self' https://{upload.netloc};" in policy
    assert "*" not in policy
    # the region's own address: the global one redirects, which a browser's policy does not follow
    assert re.fullmatch(r"[\w-]+\.s3\.[a-z]+-[a-z]+-\d\.amazonaws\.com", upload.netloc)


def test_the_authorizer_knows_the_tokens_of_the_secret(deployed: Settings) -> None:
    token, stored = issue_token("ada", now=START)
    client("secretsmanager").create_secret(Name="tokens", SecretString=dump_tokens([stored]))
    handler = handler_of("authorize")

    allowed = handler({"authorizationToken": f"Bearer {token}", "methodArn": ARN}, Context())

    assert allowed["context"] == {"owner": "ada"}
    with pytest.raises(UnauthorizedError, match=r"^Unauthorized$"):
        handler({"authorizationToken": "Bearer wrong", "methodArn": ARN}, Context())


def test_a_webhook_names_the_repository_whoever_sends_it(deployed: Settings) -> None:
    """The API has no token of it, and still sends the body that the workflow sent."""
    named = deployed.model_copy(update={"github_repository": "acme/ideas", "github_branch": "main"})
    deps = cloud_deps(named, SilentLog())

    assert deps.publisher() is None
    assert (deps.repository, deps.branch) == ("acme/ideas", "main")
