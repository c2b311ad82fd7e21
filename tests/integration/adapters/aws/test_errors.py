"""What AWS's failures mean for us, over a real connection where there can be one."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from idea_explorer.adapters.aws import client as aws
from idea_explorer.adapters.aws.queue import SqsWorkQueue
from idea_explorer.adapters.aws.secrets import CloudSecrets
from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.dynamodb.explorations import DynamoExplorations
from idea_explorer.adapters.dynamodb.table import Table
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ExplorerError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.ids import new_id
from tests.fakes.clock import ManualClock

ID = new_id(0)
NO_RETRY = Config(retries={"total_max_attempts": 1}, read_timeout=0.2, connect_timeout=0.5)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def connected(service: str, **options: Any) -> Any:
    make: Any = boto3.client
    return make(service, config=NO_RETRY, **options)


@pytest.mark.parametrize(
    ("code", "status", "meant", "retryable"),
    [
        ("ThrottlingException", 400, RateLimitedError, True),
        ("ProvisionedThroughputExceededException", 400, RateLimitedError, True),
        ("RequestLimitExceeded", 400, RateLimitedError, True),
        ("AccessDeniedException", 400, AuthFailedError, False),
        ("ExpiredTokenException", 400, AuthFailedError, False),
        ("UnrecognizedClientException", 400, AuthFailedError, False),
        ("ResourceNotFoundException", 400, ConfigurationError, False),
        ("InternalServerError", 500, UnavailableError, True),
        ("ServiceUnavailable", 503, UnavailableError, True),
        ("ValidationException", 400, RejectedError, False),
    ],
)
def test_an_answer_that_is_an_error_says_whether_trying_again_helps(
    code: str, status: int, meant: type[ExplorerError], retryable: bool
) -> None:
    api = connected("dynamodb")
    explorations = DynamoExplorations(Table("t", lambda: api, ManualClock()))
    with Stubber(api) as stub:
        stub.add_client_error("get_item", code, "owner ada said whsec_1", http_status_code=status)

        with pytest.raises(meant) as raised:
            explorations.load(ID)

    assert type(raised.value) is meant
    assert raised.value.retryable is retryable
    assert code in raised.value.message
    assert "whsec_1" not in raised.value.sentence


def test_a_queue_that_is_gone_is_a_matter_of_configuration() -> None:
    api = connected("sqs")
    with Stubber(api) as stub:
        stub.add_client_error("send_message", "AWS.SimpleQueueService.NonExistentQueue")

        with pytest.raises(ConfigurationError):
            SqsWorkQueue("http://127.0.0.1/q", None, lambda: api).send(ID, 1)


def test_secrets_that_may_not_be_read_are_a_matter_of_permission() -> None:
    api = connected("secretsmanager")
    with Stubber(api) as stub:
        stub.add_client_error("get_secret_value", "AccessDeniedException")

        with pytest.raises(AuthFailedError):
            CloudSecrets(lambda: api, 0, SystemClock()).get("github")


@pytest.fixture
def silence() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_no_answer_is_a_timeout(silence: str) -> None:
    api = connected("dynamodb", endpoint_url=silence)

    with pytest.raises(UpstreamTimeoutError) as raised:
        DynamoExplorations(Table("t", lambda: api, ManualClock())).load(ID)
    assert raised.value.retryable


def test_nobody_listening_is_a_network_failure(silence: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    api = connected("dynamodb", endpoint_url=f"http://127.0.0.1:{port}")

    with pytest.raises(NetworkError) as raised:
        DynamoExplorations(Table("t", lambda: api, ManualClock())).load(ID)
    assert raised.value.retryable


def test_a_connection_that_breaks_off_is_a_network_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        api = connected("dynamodb", endpoint_url=f"http://127.0.0.1:{server.getsockname()[1]}")

        with pytest.raises(NetworkError):
            DynamoExplorations(Table("t", lambda: api, ManualClock())).load(ID)


def test_missing_credentials_say_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    api = boto3.Session().client("dynamodb", region_name="eu-central-1")

    with pytest.raises(ConfigurationError, match="credentials"):
        DynamoExplorations(Table("t", lambda: api, ManualClock())).load(ID)


def test_a_process_has_one_client_per_service_and_address() -> None:
    here = aws.client("sqs", "http://127.0.0.1:1")

    assert aws.client("sqs", "http://127.0.0.1:1") is here
    assert aws.client("sqs", "http://127.0.0.1:2") is not here
    assert here.meta.config.retries["total_max_attempts"] == aws.ATTEMPTS


def test_every_command_uses_the_region_of_aws_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore by itself reads AWS_DEFAULT_REGION and the profile only."""
    assert aws.client("sqs").meta.region_name == "eu-central-1"

    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    assert aws.client("sqs").meta.region_name == "eu-west-1"


def test_a_profile_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nope")
    monkeypatch.setattr(aws, "_session", botocore.session.get_session)  # one that has read nothing

    with pytest.raises(ConfigurationError, match="There is no AWS profile nope"):
        aws.client("sns")
