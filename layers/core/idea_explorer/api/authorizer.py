"""Who is calling: a bearer token names an owner."""

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.data_classes.api_gateway_authorizer_event import (
    APIGatewayAuthorizerResponse,
)

from idea_explorer.domain.tokens import find_owner, parse_tokens

MAX_TOKEN = 1_000


class UnauthorizedError(Exception):
    """API Gateway answers 401 only to an error that says exactly this; a deny would be 403."""

    def __init__(self) -> None:
        super().__init__("Unauthorized")


def authorize(event: Mapping[str, Any], tokens: Callable[[], str]) -> dict[str, Any]:
    """Allow the owner of a known token every route of the stage; raises UnauthorizedError otherwise.

    The policy covers all routes, because API Gateway caches it by token: one for a single route would
    be answered to the next. `tokens` gives the secret's current text.
    """
    owner = find_owner(_bearer(event), parse_tokens(tokens()))
    if owner is None:
        raise UnauthorizedError
    policy = APIGatewayAuthorizerResponse.from_route_arn(
        str(event.get("methodArn")), principal_id=owner, context={"owner": owner}
    )
    policy.allow_all_routes()
    return dict(policy.asdict())


def _bearer(event: Mapping[str, Any]) -> str:
    """The token of a TOKEN or a REQUEST authorizer's event."""
    headers = {str(k).lower(): v for k, v in (event.get("headers") or {}).items()}
    given = str(event.get("authorizationToken") or headers.get("authorization") or "")
    scheme, _, token = given.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN:
        raise UnauthorizedError
    return token
