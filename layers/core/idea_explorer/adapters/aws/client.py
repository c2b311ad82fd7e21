"""Clients of AWS, one per service and process, and what their failures mean for us."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ExplorerError,
    ExternalError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    UnavailableError,
    UpstreamTimeoutError,
)

CONNECT_SECONDS = 2  # within a region a connection takes milliseconds
READ_SECONDS = 5
ATTEMPTS = 4  # with backoff, about as long as a step of a run can wait
POOL = 32  # tools of one step run side by side and all write events

_clients: dict[tuple[str, str | None], Any] = {}
_lock = threading.Lock()


def client(service: str, endpoint_url: str | None = None) -> Any:
    """The process's client of a service; region and credentials come from the usual places."""
    with _lock:  # boto3 makes clients from a session that threads must not share meanwhile
        key = (service, endpoint_url)
        if key not in _clients:
            _clients[key] = _connect(service, endpoint_url)
        return _clients[key]


def _connect(service: str, endpoint_url: str | None) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        max_pool_connections=POOL,
        signature_version="s3v4" if service == "s3" else None,
        # a presigned address names the region then; the global one redirects for a new bucket's first hours
        s3=None if endpoint_url else {"addressing_style": "virtual"},
    )
    make: Any = boto3.client  # its stubs want one of hundreds of literals
    with aws_errors(service):
        return make(service, endpoint_url=endpoint_url, config=config)


LIMITS = frozenset(
    """Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException
    ProvisionedThroughputExceededException RequestLimitExceeded BandwidthLimitExceeded SlowDown
    LimitExceededException ExecutionLimitExceeded TooManyRequestsException OverLimit
    TransactionInProgressException TransactionConflictException""".split()
)
REFUSALS = frozenset(
    """403 AccessDenied AccessDeniedException AuthFailure UnauthorizedOperation NotAuthorized
    ExpiredToken ExpiredTokenException InvalidAccessKeyId InvalidClientTokenId InvalidToken
    MissingAuthenticationToken SignatureDoesNotMatch InvalidSignatureException
    UnrecognizedClientException KMSAccessDeniedException KmsAccessDenied""".split()
)
ABSENCES = frozenset(
    """ResourceNotFoundException NoSuchBucket QueueDoesNotExist StateMachineDoesNotExist
    AWS.SimpleQueueService.NonExistentQueue InvalidArn""".split()
)


@contextmanager
def aws_errors(system: str) -> Iterator[None]:
    """Turns what boto3 raises into our errors. Values that were sent never enter a message."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise meaning(system, error) from error


def meaning(system: str, error: BaseException | None) -> ExplorerError:
    """Our error for one of boto3's."""
    from botocore.exceptions import BotoCoreError, ClientError

    match error:
        case ClientError():
            return _answered(system, error)
        case BotoCoreError():
            return _unanswered(system, error)
        case _:
            return ExternalError(f"AWS {system} failed.")


def code_of(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _answered(system: str, error: Any) -> ExplorerError:
    code = code_of(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in LIMITS:
        return RateLimitedError(f"AWS {system} limits the rate ({code}).", hint="Try again.")
    if code in REFUSALS:
        return AuthFailedError(
            f"AWS {system} does not allow this ({code}).",
            hint="Check the credentials and the role's permissions.",
        )
    if code in ABSENCES:
        return ConfigurationError(
            f"AWS {system} does not have what is configured ({code}).",
            hint="Check the deployment's names and region.",
        )
    if status >= 500:
        return UnavailableError(f"AWS {system} is not available ({code}).", hint="Try again.")
    return RejectedError(f"AWS {system} rejected the request ({code}).")


def _unanswered(system: str, error: Exception) -> ExplorerError:
    from botocore import exceptions

    timeouts = (exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError)
    setup = (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.InvalidRegionError,
    )
    if isinstance(error, timeouts):
        return UpstreamTimeoutError(f"AWS {system} did not answer in time.", hint="Try again.")
    if isinstance(error, (exceptions.HTTPClientError, exceptions.ConnectionError)):
        return NetworkError(f"AWS {system} could not be reached.", hint="Check the network.")
    if isinstance(error, exceptions.NoRegionError):
        return ConfigurationError(
            "There is no AWS region.", hint="Set AWS_DEFAULT_REGION to that of the deployment."
        )
    if isinstance(error, setup):
        return ConfigurationError(
            f"AWS {system} cannot be used: {str(error).rstrip('.')}.",
            hint="Set AWS credentials and AWS_DEFAULT_REGION.",
        )
    return ExternalError(f"AWS {system} failed: {type(error).__name__}.")
