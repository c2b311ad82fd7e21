"""The authorizer: maps a bearer token to its owner.

Without Powertools, whose classes for this response load those of all other events (ADR 12).
"""

from collections.abc import Callable, Mapping
from typing import Any

from idea_explorer.domain.tokens import find_owner, parse_tokens

MAX_TOKEN = 1_000


class UnauthorizedError(Exception):
    """API Gateway responds with 401 only to an error with exactly this message; a deny policy gives 403."""

    def __init__(self) -> None:
        super().__init__("Unauthorized")


def authorize(
    event: Mapping[str, Any],
    tokens: Callable[[], str],
    reread: Callable[[], str] | None = None,
) -> dict[str, Any]:
    """Allow every route of the stage to the owner of a known token; raises UnauthorizedError otherwise.

    The policy covers all routes because API Gateway caches it by token: a policy for one route would
    be applied to the next call, whatever its route. `tokens` returns the secret's text, which may be
    minutes old; `reread` fetches it again, for a token that was added since.
    """
    token = _extract_token(event)
    owner = find_owner(token, parse_tokens(tokens()))
    if owner is None and reread is not None:
        owner = find_owner(token, parse_tokens(reread()))
    if owner is None:
        raise UnauthorizedError
    api, stage, *_ = str(event["methodArn"]).split("/")  # arn:…:execute-api:…:{api}/{stage}/GET/…
    allowed = {
        "Action": "execute-api:Invoke",
        "Effect": "Allow",
        "Resource": [f"{api}/{stage}/*/*"],
    }
    return {
        "principalId": owner,
        "policyDocument": {"Version": "2012-10-17", "Statement": [allowed]},
        "context": {"owner": owner},
    }


def _extract_token(event: Mapping[str, Any]) -> str:
    """Works for the events of TOKEN and REQUEST authorizers."""
    headers = {str(k).lower(): v for k, v in (event.get("headers") or {}).items()}
    given = str(event.get("authorizationToken") or headers.get("authorization") or "")
    scheme, _, token = given.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN:
        raise UnauthorizedError
    return token
