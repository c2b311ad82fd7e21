"""Authorize: looks up the owner of a bearer token."""

import os
from typing import Any

from idea_explorer.api.authorizer import authorize
from idea_explorer.lambda_runtime import sam_local
from idea_explorer.lambda_runtime.authorizer import AuthorizerSettings
from idea_explorer.wiring.cloud import ApiTokens

tokens = (
    sam_local.LocalTokens()
    if sam_local.is_sam_local()
    else ApiTokens(AuthorizerSettings.from_environment(os.environ))
)


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return authorize(event, tokens.read, tokens.reread)
