"""Maps the SDK's errors to ours, with a hint that fits the account in use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anthropic
import httpx2

from idea_explorer.domain.errors import (
    ExternalError,
    ModelRefusesError,
    NetworkError,
    RateLimitedError,
    RejectedError,
    TooLongError,
    UnavailableError,
    UnreachableError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.retry import parse_retry_after

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


@contextmanager
def map_sdk_errors(account: Account) -> Iterator[None]:
    """Order matters: the SDK's timeout is also a connection error."""
    try:
        yield
    except anthropic.APITimeoutError as error:
        raise UpstreamTimeoutError("Claude did not answer in time.", hint="Try again.") from error
    except anthropic.APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.ConnectError):
            raise UnreachableError(
                "Claude's API could not be reached.",
                hint=account.unreachable,
            ) from error
        raise NetworkError("The connection to Claude broke off.", hint="Try again.") from error
    except anthropic.APIStatusError as error:
        raise _map_status(error, account) from error
    except anthropic.APIError as error:
        # an error event in a stream that started well
        raise UnavailableError(f"Claude's response broke off: {error.message}") from error
    except httpx2.TimeoutException as error:
        raise UpstreamTimeoutError("Claude stopped answering.", hint="Try again.") from error
    except httpx2.HTTPError as error:
        raise NetworkError("The connection to Claude broke off.", hint="Try again.") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UnavailableError("Claude's response could not be read.", hint="Try again.") from error


def _map_status(error: anthropic.APIStatusError, account: Account) -> ExternalError:
    status = error.status_code
    kind, reason = _parse_body(error)
    if status == 429 or kind == "rate_limit_error":
        return RateLimitedError(
            "Claude's rate limit was reached.",
            hint="Wait a little and resume, or ask Anthropic for a higher limit.",
            retry_after=parse_retry_after(error.response.headers, datetime.now(UTC)),
        )
    if status == 401 or kind == "authentication_error":
        return ModelRefusesError(account.unknown, hint=account.credentials)
    if status == 402 or kind == "billing_error" or NO_CREDIT in reason:
        return ModelRefusesError(
            f"Claude refused the request ({status}): {reason}", hint="Check the account's billing."
        )
    if status == 403 or kind == "permission_error":
        return ModelRefusesError(
            f"Claude refused the request ({status}): {reason}", hint=account.permissions
        )
    if status == 529 or kind == "overloaded_error":
        return UnavailableError("Claude is overloaded (529).", hint="Try again in a few minutes.")
    if status >= 500 or status == 408 or kind == "api_error":
        return UnavailableError(
            f"Claude's API failed ({status}).", hint="Try again in a few minutes."
        )
    if status == 413 or any(words in reason for words in TOO_LONG):
        return TooLongError(
            f"The conversation is too large for Claude ({status}).",
            hint="Use a shorter context or fewer files.",
        )
    if status == 404:
        return RejectedError(
            f"Claude does not know this model (404): {reason}", hint="Check IDEA_MODELS."
        )
    return RejectedError(f"Claude rejected the request ({status}): {reason}")


def _parse_body(error: anthropic.APIStatusError) -> tuple[str, str]:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    # AWS reports missing permissions in a shape of its own
    fields = inner if isinstance(inner, dict) else {"message": body.get("message")}
    return str(fields.get("type") or ""), str(fields.get("message") or "no reason given")[:300]
