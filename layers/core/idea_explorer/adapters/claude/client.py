"""Claude through the anthropic SDK: one streamed request, mapped to our types and errors.

The SDK's own retries are off, because it sleeps as long as the server says and knows no deadline. A
stream may send nothing but pings for minutes; only the deadline, a cancel or a dead connection ends it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import anthropic
import httpx2

from idea_explorer.adapters.claude.message import MessageBuilder
from idea_explorer.adapters.claude.requests import make_body, make_headers
from idea_explorer.adapters.claude.stream import StreamReader, UnstreamedMessage
from idea_explorer.adapters.http.clients import certificates
from idea_explorer.adapters.http.transport import make_transport
from idea_explorer.domain import errors
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.json import dump_json
from idea_explorer.domain.retry import parse_retry_after
from idea_explorer.ports import ModelAnswer, ModelRequest, Watcher

ANTHROPIC_URL = (
    "https://api.anthropic.com"  # given, or the SDK takes an empty ANTHROPIC_BASE_URL as it is
)
SILENCE_SECONDS = 90.0  # without a byte the connection is dead: pings come every 15 to 30 s
CONNECT_TIMEOUT_SECONDS = 10.0
SYSTEM: errors.ErrorCode = "AI_SERVICE_UNAVAILABLE"
# A response that has started says what it has cost so far; one that has not counts at its maximum.
GRACE_SECONDS = 0.5
TOO_LONG = ("prompt is too long", "exceed context limit")  # in the message of a 400
NO_CREDIT = "credit balance is too low"  # in the message of a 400 too


@dataclass(frozen=True, slots=True)
class Account:
    """What to check if a provider refuses access."""

    unknown: str
    credentials: str
    permissions: str
    unreachable: str


ANTHROPIC = Account(
    unknown="Claude refused the API key (401).",
    credentials="Check ANTHROPIC_API_KEY.",
    permissions="Check the key's permissions.",
    unreachable="Check the network and ANTHROPIC_BASE_URL.",
)
AWS = Account(
    unknown="Claude refused the AWS credentials (401).",
    credentials="Check the role or profile that signs, and ANTHROPIC_AWS_WORKSPACE_ID.",
    permissions=(
        "Allow the role aws-external-anthropic:CreateInference on the workspace that"
        " ANTHROPIC_AWS_WORKSPACE_ID names."
    ),
    unreachable="Check the network, and whether AWS_REGION offers Claude.",
)


@dataclass(frozen=True, slots=True)
class Claude:
    client: anthropic.Anthropic
    account: Account
    _: KW_ONLY
    grace_seconds: float = GRACE_SECONDS
    silence_seconds: float = SILENCE_SECONDS

    @classmethod
    def with_key(cls, api_key: str, base_url: str | None = None, **limits: float) -> "Claude":
        """Anthropic's own API."""
        client = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url or ANTHROPIC_URL,
            max_retries=0,
            open_telemetry=False,
            http_client=_http_client(),
        )
        return cls(client, ANTHROPIC, **limits)

    @classmethod
    def on_aws(
        cls, workspace_id: str, region: str, base_url: str | None = None, **limits: float
    ) -> "Claude":
        """Claude Platform on AWS, signed with the role or profile of this process."""
        import boto3

        if boto3.Session().get_credentials() is None:
            raise errors.ConfigurationError(
                "There are no AWS credentials to sign requests to Claude with.",
                hint="Set AWS_PROFILE or AWS_ACCESS_KEY_ID, or another IDEA_MODEL_PROVIDER.",
            )
        client = anthropic.AnthropicAWS(
            workspace_id=workspace_id,
            aws_region=region,
            base_url=base_url,
            max_retries=0,
            open_telemetry=False,
            http_client=_http_client(),
        )
        return cls(client, AWS, **limits)

    def check(self, seconds: float) -> None:
        """Raises ExternalError if the account has no access; costs nothing."""
        with errors.name_system(SYSTEM), map_sdk_errors(self.account):
            self.client.models.list(limit=1, timeout=seconds)

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        """Stream one response. A broken stream or an error event raises; no half response is returned."""
        left = max(deadline.left, 0.1)
        # the watcher enforces the deadline; as a timeout it would look like a failure of Claude's
        timeout = httpx2.Timeout(self.silence_seconds, connect=min(CONNECT_TIMEOUT_SECONDS, left))
        message = MessageBuilder(watcher)

        def connect() -> anthropic.Stream[Any]:
            # as `messages.create`, but without its types: they take half a second to load, and
            # the events are needed as they came
            return self.client.post(
                _messages_url(self.client.base_url),
                content=dump_json(make_body(request)),  # much faster than the SDK's own encoder
                # with every option given, the SDK copies fewer defaults
                options={"headers": make_headers(request), "timeout": timeout, "max_retries": 0},
                cast_to=object,
                stream=True,
                stream_cls=anthropic.Stream[Any],
            )

        def check_unless_complete() -> None:
            # a complete response is paid for, so it is returned
            if not message.is_complete:
                watcher.tick()

        reader = StreamReader(
            connect,
            watcher.tick,
            message.show,
            grace_seconds=self.grace_seconds,
            after_read=check_unless_complete,
        )
        with errors.name_system(SYSTEM), map_sdk_errors(self.account), reader as events:
            try:
                for event in events:
                    if isinstance(event, UnstreamedMessage):
                        message.add_message(event.message)
                    else:
                        message.add_event(event)
            finally:
                message.show()
            return message.build()


@cache
def _messages_url(base: httpx2.URL) -> str:
    """In full, because the SDK parses a path and what it makes of it."""
    return str(base.copy_with(raw_path=base.raw_path + b"v1/messages"))


def _http_client() -> httpx2.Client:
    """As the SDK would make it, but with the certificates that all our clients share."""
    trusted = certificates(of_environment=True)
    transport = make_transport(trusted)
    if transport is None:
        return anthropic.DefaultHttpxClient(verify=trusted)
    return anthropic.DefaultHttpxClient(transport=transport)


@contextmanager
def map_sdk_errors(account: Account) -> Iterator[None]:
    """Order matters: the SDK's timeout is also a connection error."""
    try:
        yield
    except anthropic.APITimeoutError as error:
        raise errors.UpstreamTimeoutError(
            "Claude did not answer in time.", hint="Try again."
        ) from error
    except anthropic.APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.ConnectError):
            raise errors.UnreachableError(
                "Claude's API could not be reached.",
                hint=account.unreachable,
            ) from error
        if isinstance(error.__cause__, httpx2.LocalProtocolError):
            raise errors.ModelRefusesError(
                "The request to Claude cannot be sent: a header contains a character that"
                " headers must not have.",
                hint=account.credentials,
            ) from error
        raise errors.NetworkError(
            "The connection to Claude broke off.", hint="Try again."
        ) from error
    except anthropic.APIStatusError as error:
        raise _map_status(error, account) from error
    except anthropic.APIError as error:
        # an error event in a stream that started well
        raise errors.UnavailableError(f"Claude's response broke off: {error.message}") from error
    except httpx2.TimeoutException as error:
        raise errors.UpstreamTimeoutError("Claude stopped answering.", hint="Try again.") from error
    except httpx2.HTTPError as error:
        raise errors.NetworkError(
            "The connection to Claude broke off.", hint="Try again."
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise errors.UnavailableError(
            "Claude's response could not be read.", hint="Try again."
        ) from error


def _map_status(error: anthropic.APIStatusError, account: Account) -> errors.ExternalError:
    status = error.status_code
    kind, reason = _parse_body(error)
    if status == 429 or kind == "rate_limit_error":
        return errors.RateLimitedError(
            "Claude's rate limit was reached.",
            hint="Wait a little and resume, or ask Anthropic for a higher limit.",
            retry_after=parse_retry_after(error.response.headers, datetime.now(UTC)),
        )
    if status == 401 or kind == "authentication_error":
        return errors.ModelRefusesError(account.unknown, hint=account.credentials)
    if status == 402 or kind == "billing_error" or NO_CREDIT in reason:
        return errors.ModelRefusesError(
            f"Claude refused the request ({status}): {reason}", hint="Check the account's billing."
        )
    if status == 403 or kind == "permission_error":
        return errors.ModelRefusesError(
            f"Claude refused the request ({status}): {reason}", hint=account.permissions
        )
    if status == 529 or kind == "overloaded_error":
        return errors.UnavailableError(
            "Claude is overloaded (529).", hint="Try again in a few minutes."
        )
    if status >= 500 or status == 408 or kind == "api_error":
        return errors.UnavailableError(
            f"Claude's API failed ({status}).", hint="Try again in a few minutes."
        )
    if status == 413 or any(words in reason for words in TOO_LONG):
        return errors.TooLongError(
            f"The conversation is too large for Claude ({status}).",
            hint="Use a shorter context or fewer files.",
        )
    if status == 404:
        return errors.RejectedError(
            f"Claude does not know this model (404): {reason}", hint="Check IDEA_MODELS."
        )
    return errors.RejectedError(f"Claude rejected the request ({status}): {reason}")


def _parse_body(error: anthropic.APIStatusError) -> tuple[str, str]:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    # AWS reports missing permissions in a shape of its own
    fields = inner if isinstance(inner, dict) else {"message": body.get("message")}
    return str(fields.get("type") or ""), str(fields.get("message") or "no reason given")[:300]
