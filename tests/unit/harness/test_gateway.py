"""What API Gateway answers itself."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.e2e.harness.gateway import Gateway
from tests.e2e.harness.limits import API_BYTES, SYNC_REQUEST_BYTES
from tests.e2e.harness.routes import Routes, declared_routes
from tests.e2e.harness.streams import DELIMITER
from tests.unit.harness.in_process import InProcessFunctions

TOKEN = {"Authorization": "Bearer token"}


class Api:
    """An API whose functions do as a test wants."""

    def __init__(self) -> None:
        self.functions = InProcessFunctions()
        self.released = threading.Event()
        self.functions.open_account("account", 1000)
        self.serve()

    def serve(self, **reserved: int) -> None:
        settings: dict[str, dict[str, Any]] = {
            name: {"reserved": count} for name, count in reserved.items()
        }
        self.functions.serve("api", self.handle, **settings.get("api", {}))
        self.functions.serve("authorize", self.authorize, **settings.get("authorize", {}))

    def handle(self, event: Any) -> Any:
        if "x-wait" in event["headers"]:
            self.released.wait(60)
        if "x-error" in event["headers"]:
            raise RuntimeError("no")
        return {"statusCode": 200, "body": str(event["requestContext"].get("authorizer"))}

    def authorize(self, event: Any) -> Any:
        statement = {"Effect": "Allow", "Action": "*", "Resource": event["methodArn"]}
        return {"principalId": "ada", "policyDocument": {"Statement": [statement]}}


@pytest.fixture
def api() -> Api:
    return Api()


@contextmanager
def called(api: Api, *, seconds: float) -> Iterator[httpx.Client]:
    gateway = Gateway(api.functions, "api", "authorize", seconds=seconds)
    with httpx.Client(base_url=gateway.url, headers=TOKEN, timeout=60) as client:
        yield client
    gateway.close()


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    with called(api, seconds=60) as client:
        yield client


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


def test_a_function_that_takes_too_long_is_not_waited_for(api: Api) -> None:
    with called(api, seconds=0.2) as client:
        answer = client.get("/explorations", headers={"X-Wait": "yes"})
        api.released.set()

    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "internal")


def test_a_function_that_fails_is_a_bad_gateway(client: httpx.Client) -> None:
    assert client.get("/explorations", headers={"X-Error": "yes"}).status_code == 502


@pytest.mark.parametrize("size", [API_BYTES + 1, SYNC_REQUEST_BYTES])
def test_a_body_that_is_too_large_is_refused(client: httpx.Client, size: int) -> None:
    answer = client.post("/explorations", content=b"x" * size)

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/health", "/health"),
        ("POST", "/health", None),
        ("GET", "/", "/"),
        ("GET", "/console", None),
        ("GET", "/console/app.js", "/console/{proxy+}"),
        ("POST", "/files", "/{proxy+}"),
        ("POST", "/explorations", "/explorations"),
        ("GET", "/explorations/1", "/explorations/{exploration_id}"),
        ("GET", "/explorations/1/events", "/explorations/{exploration_id}/events"),
        ("POST", "/explorations/1/events", None),
        ("POST", "/explorations/1/approvals/2", "/explorations/{exploration_id}/{proxy+}"),
    ],
)
def test_a_path_goes_to_the_most_specific_resource_or_nowhere(
    method: str, path: str, found: str | None
) -> None:
    names = {"ApiFunction": "api", "FollowFunction": "follow"}

    route = Routes(declared_routes(names, 29)).find(method, path)

    assert (route and route.path) == found


class Streaming(Api):
    """An API whose stream has the parts that a test wants."""

    parts: Sequence[bytes] = ()

    def serve(self, **reserved: int) -> None:
        super().serve(**reserved)
        self.functions.serve("follow", lambda event: self.stream())

    def stream(self) -> Iterator[bytes]:
        for part in self.parts:
            if part == FAILURE:
                raise RuntimeError("no")
            yield part


@pytest.fixture
def streaming() -> Iterator[tuple[Streaming, httpx.Client]]:
    api = Streaming()
    gateway = Gateway(api.functions, "api", "authorize", "follow")
    with httpx.Client(base_url=gateway.url, headers=TOKEN) as client:
        yield api, client
    gateway.close()


def prelude(**fields: object) -> bytes:
    return json.dumps(fields).encode() + DELIMITER


FAILURE = b"failure"
HEAD = prelude(statusCode=200, headers={"X-Name": "value"})


def test_a_stream_begins_with_its_metadata_wherever_it_is_cut(
    streaming: tuple[Streaming, httpx.Client],
) -> None:
    api, client = streaming
    api.parts = [HEAD[:10], HEAD[10:-3], HEAD[-3:] + b"a", b"b"]

    answer = client.get("/explorations/1/events")

    assert (answer.status_code, answer.headers["x-name"], answer.text) == (200, "value", "ab")
    assert answer.headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize(
    "parts",
    [
        [b"no metadata"],
        [b"{}" + DELIMITER],
        [b"not JSON" + DELIMITER],
        [prelude(statusCode=200, headers={"X-Name": ["value"]})],
        [prelude(statusCode=200, headers={"X-Name": "v" * 16_384})],
        [FAILURE],
    ],
)
def test_a_stream_without_proper_metadata_is_a_bad_gateway(
    streaming: tuple[Streaming, httpx.Client], parts: list[bytes]
) -> None:
    api, client = streaming
    api.parts = parts

    assert client.get("/explorations/1/events").status_code == 502


def test_a_stream_that_fails_is_cut_off(streaming: tuple[Streaming, httpx.Client]) -> None:
    api, client = streaming
    api.parts = [HEAD, b"a", FAILURE]

    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/explorations/1/events")


def test_without_a_function_that_streams_the_api_answers(client: httpx.Client) -> None:
    assert client.get("/explorations/1/events").status_code == 200
