"""AWS clients, one per service and process, and how their failures map to our errors."""

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from idea_explorer.domain import errors
from idea_explorer.domain.errors import ConfigurationError, ExplorerError, ExternalError

CONNECT_SECONDS = 2  # within a region a connection takes milliseconds
READ_SECONDS = 5
ATTEMPTS = 4  # with backoff, about as long as a step of a run can wait
POOL = 32  # the tools of a step run in parallel, and all of them write events

_clients: dict[tuple[str, str | None, str | None], Any] = {}
_lock = threading.Lock()


def client(service: str, endpoint_url: str | None = None) -> Any:
    """The process's client for a service. botocore by itself ignores AWS_REGION, which Lambda and other tools
    of AWS use; without either variable the region is the profile's."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None
    with _lock:  # threads must not create clients from one session at the same time
        key = (service, endpoint_url, region)
        if key not in _clients:
            _clients[key] = _create_client(service, endpoint_url, region)
        return _clients[key]


def _create_client(service: str, endpoint_url: str | None, region: str | None) -> Any:
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        max_pool_connections=POOL,
        signature_version="s3v4" if service == "s3" else None,
        # presigned URLs then name the region; the global endpoint redirects for a new bucket's first hours
        s3=None if endpoint_url else {"addressing_style": "virtual"},
    )
    with map_aws_errors(service):
        return _session().create_client(
            service, region_name=region, endpoint_url=endpoint_url, config=config
        )


@cache  # reads the configuration once, and shares credentials among the clients
def _session() -> Any:
    """botocore's own: boto3 would only add what we do not use, and half as much time to import."""
    import botocore.session

    return botocore.session.get_session()


RATE_LIMITED = frozenset(
    """Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException
    ProvisionedThroughputExceededException RequestLimitExceeded BandwidthLimitExceeded SlowDown
    LimitExceededException ExecutionLimitExceeded TooManyRequestsException OverLimit
    TransactionInProgressException TransactionConflictException""".split()
)
NOT_ALLOWED = frozenset(
    """403 AccessDenied AccessDeniedException AuthFailure UnauthorizedOperation NotAuthorized
    ExpiredToken ExpiredTokenException InvalidAccessKeyId InvalidClientTokenId InvalidToken
    MissingAuthenticationToken SignatureDoesNotMatch InvalidSignatureException
    UnrecognizedClientException KMSAccessDeniedException KmsAccessDenied""".split()
)
NOT_FOUND = frozenset(
    """ResourceNotFoundException NoSuchBucket QueueDoesNotExist StateMachineDoesNotExist
    AWS.SimpleQueueService.NonExistentQueue InvalidArn""".split()
)


class ExpectedError(Exception):
    """AWS refused a request with a code that the caller expects."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def map_aws_errors(system: str, *, expected: Collection[str] = ()) -> Iterator[None]:
    """Map botocore's errors to ours, or to ExpectedError. Values that were sent never enter a message."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (ClientError, BotoCoreError) as error:
        if isinstance(error, ClientError) and error_code(error) in expected:
            raise ExpectedError(error_code(error)) from error
        raise map_error(system, error) from error


def map_error(system: str, error: BaseException | None) -> ExplorerError:
    from botocore.exceptions import BotoCoreError, ClientError

    match error:
        case ClientError():
            return _response_error(system, error)
        case BotoCoreError():
            return _connection_error(system, error)
        case _:
            return ExternalError(f"AWS {system} failed.")


def error_code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _response_error(system: str, error: Any) -> ExplorerError:
    code = error_code(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in RATE_LIMITED:
        return errors.RateLimitedError(
            f"AWS {system} is limiting the rate ({code}).", hint="Try again."
        )
    if code in NOT_ALLOWED:
        return errors.AuthFailedError(
            f"AWS {system} does not allow this ({code}).",
            hint="Check the credentials and the role's permissions.",
        )
    if code in NOT_FOUND:
        return ConfigurationError(
            f"AWS {system} does not have the configured resource ({code}).",
            hint="Check the resource names and the region of the deployment.",
        )
    if status >= 500:
        return errors.UnavailableError(
            f"AWS {system} is not available ({code}).", hint="Try again."
        )
    return errors.RejectedError(f"AWS {system} rejected the request ({code}).")


def _connection_error(system: str, error: Exception) -> ExplorerError:
    from botocore import exceptions

    timeouts = (exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError)
    setup = (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.InvalidRegionError,
    )
    if isinstance(error, timeouts):
        return errors.UpstreamTimeoutError(
            f"AWS {system} did not answer in time.", hint="Try again."
        )
    if isinstance(error, (exceptions.HTTPClientError, exceptions.ConnectionError)):
        return errors.NetworkError(f"AWS {system} could not be reached.", hint="Check the network.")
    if isinstance(error, exceptions.ProfileNotFound):
        return ConfigurationError(
            f"There is no AWS profile {error.kwargs['profile']}.",
            hint="Set AWS_PROFILE to one that 'aws configure list-profiles' shows.",
        )
    if isinstance(error, exceptions.NoRegionError):
        return ConfigurationError(
            "No AWS region is set.", hint="Set AWS_REGION to the deployment's region."
        )
    if isinstance(error, setup):
        return ConfigurationError(
            f"AWS {system} cannot be used: {str(error).rstrip('.')}.",
            hint="Set AWS credentials and AWS_REGION.",
        )
    return ExternalError(f"AWS {system} failed: {type(error).__name__}.")
