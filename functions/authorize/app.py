"""Authorize: looks up the owner of a bearer token."""

from typing import Any

from idea_explorer import deployment, serverless, wiring
from idea_explorer.api.authorizer import authorize

tokens = wiring.api_tokens(deployment.settings())


@serverless.logged
def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return authorize(event, tokens)
