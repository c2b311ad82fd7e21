"""Authorize: says whose a bearer token is."""

import os
from typing import Any

from idea_explorer import wiring
from idea_explorer.api.authorizer import authorize
from idea_explorer.settings import Settings

tokens = wiring.api_tokens(Settings.from_environment(os.environ))


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    return authorize(event, tokens)
