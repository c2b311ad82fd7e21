"""`idea admin` alone: says what there is."""

import argparse

from idea_explorer.domain.errors import InvalidRequestError


def run(_arguments: argparse.Namespace) -> int:
    raise InvalidRequestError(
        "Say what to set up.",
        hint="Try: idea admin token add OWNER, or idea admin secret set github.",
    )
