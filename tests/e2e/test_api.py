"""The API as a client meets it: gateway, authorizer, function and everything behind."""

import httpx
import pytest

from tests.e2e.conftest import TOKENS
from tests.e2e.harness.minds import REPORT
from tests.e2e.harness.stack import Stack

UNKNOWN = "019a8c3e-7c00-7000-8000-00000000dead"


def test_what_is_submitted_ends_completed_and_its_report_is_readable(
    stack: Stack, ada: httpx.Client, bob: httpx.Client
) -> None:
    answer = ada.post("/explorations", json={"idea": "Bees by API", "deadline_seconds": 60})

    assert answer.status_code == 202
    assert answer.json()["status"] == "queued"
    exploration_id = answer.json()["id"]
    stack.wait(lambda: ada.get(f"/explorations/{exploration_id}").json()["status"] == "completed")
    report = ada.get(f"/explorations/{exploration_id}/report")
    assert report.text.strip() == REPORT
    assert report.headers["x-content-type-options"] == "nosniff"
    assert exploration_id in ada.get("/explorations").text
    assert bob.get(f"/explorations/{exploration_id}").status_code == 404
    assert exploration_id not in bob.get("/explorations").text


def test_the_same_idempotency_key_is_the_same_exploration(stack: Stack, ada: httpx.Client) -> None:
    body = {"idea": "Once by key", "deadline_seconds": 60}
    key = {"Idempotency-Key": "a-key"}

    first, second = (ada.post("/explorations", json=body, headers=key) for _ in range(2))
    other = ada.post("/explorations", json={**body, "idea": "Another"}, headers=key)

    assert first.json()["id"] == second.json()["id"]
    assert other.status_code == 422
    assert stack.wait_until_final(first.json()["id"]).status == "completed"


def test_health_needs_no_token(stack: Stack) -> None:
    assert httpx.get(f"{stack.gateway.url}/health", timeout=60).status_code == 200


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", "Basic YWRhOmFkYQ=="]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/explorations"), ("GET", "/explorations"), ("GET", f"/explorations/{UNKNOWN}")],
)
def test_without_a_known_token_nothing_is_answered(
    stack: Stack, method: str, path: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = httpx.request(
        method, stack.gateway.url + path, headers=headers, json={"idea": "x"}, timeout=60
    )

    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 422),
        (b'{"idea": 7}', 422),
        (b'{"idea": "x", "colour": "blue"}', 422),
        (b'{"idea": "' + b"x" * 1_000_000 + b'"}', 413),
    ],
    ids=lambda given: str(given)[:30],
)
def test_a_strange_body_is_refused_and_never_an_error_of_ours(
    ada: httpx.Client, body: bytes, status: int
) -> None:
    answer = ada.post("/explorations", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == status
    assert set(answer.json()["error"]) >= {"type", "message"}


def test_an_id_that_does_not_exist_is_not_found(ada: httpx.Client) -> None:
    assert ada.get(f"/explorations/{UNKNOWN}").status_code == 404
    assert ada.get("/explorations/..%2f..%2fetc").status_code in {400, 404}
    assert ada.get("/nowhere").status_code == 404


def test_no_token_is_ever_logged(stack: Stack, ada: httpx.Client) -> None:
    ada.get("/explorations")

    assert TOKENS["ada"] not in stack.logs()
