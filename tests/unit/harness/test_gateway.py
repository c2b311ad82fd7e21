"""What API Gateway answers itself."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.harness.gateway import Gateway
from tests.e2e.harness.limits import API_BYTES, SYNC_REQUEST_BYTES
from tests.unit.harness.in_process import InProcessFunctions

TOKEN = {"Authorization": "Bearer token"}


class Api:
    """An API whose functions do as a test wants."""

    def __init__(self) -> None:
        self.functions = InProcessFunctions()
        self.functions.open_account("account", 1000)
        self.serve()

    def serve(self, **reserved: int) -> None:
        settings: dict[str, dict[str, Any]] = {
            name: {"reserved": count} for name, count in reserved.items()
        }
        self.functions.serve("api", self.handle, **settings.get("api", {}))
        self.functions.serve("authorize", self.authorize, **settings.get("authorize", {}))

    def handle(self, event: Any) -> Any:
        time.sleep(float(event["headers"].get("x-seconds", 0)))
        if "x-error" in event["headers"]:
            raise RuntimeError("no")
        return {"statusCode": 200, "body": str(event["requestContext"].get("authorizer"))}

    def authorize(self, event: Any) -> Any:
        statement = {"Effect": "Allow", "Action": "*", "Resource": event["methodArn"]}
        return {"principalId": "ada", "policyDocument": {"Statement": [statement]}}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    gateway = Gateway(api.functions, "api", "authorize", seconds=0.2)
    with httpx.Client(base_url=gateway.url, headers=TOKEN) as client:
        yield client
    gateway.close()


def test_a_policy_that_names_one_route_denies_the_next(client: httpx.Client) -> None:
    first, second = client.get("/explorations"), client.get("/files")

    assert first.status_code == 200
    assert "ada" in first.text
    assert (second.status_code, second.json()["error"]["type"]) == (403, "forbidden")


@pytest.mark.parametrize("throttled", ["api", "authorize"])
def test_a_throttled_function_is_an_error_of_the_gateway(
    api: Api, client: httpx.Client, throttled: str
) -> None:
    api.serve(**{throttled: 0})

    answer = client.get("/explorations")

    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "internal")


def test_a_function_that_takes_too_long_is_not_waited_for(client: httpx.Client) -> None:
    answer = client.get("/explorations", headers={"X-Seconds": "0.5"})

    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "internal")


def test_a_function_that_fails_is_a_bad_gateway(client: httpx.Client) -> None:
    assert client.get("/explorations", headers={"X-Error": "yes"}).status_code == 502


@pytest.mark.parametrize("size", [API_BYTES + 1, SYNC_REQUEST_BYTES])
def test_a_body_that_is_too_large_is_refused(client: httpx.Client, size: int) -> None:
    answer = client.post("/explorations", content=b"x" * size)

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")
