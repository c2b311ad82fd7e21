"""Manage API tokens. The list is one secret; each token is shown once, when it is added."""

from collections.abc import Sequence

from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.tokens import ApiToken, dump_tokens, find_owner, issue_token, parse_tokens
from idea_explorer.ports import SecretStore


def add_token(owner: str, secrets: SecretStore, name: str, clock: Clock) -> str:
    """Add a token for an owner, in addition to any others; returns it."""
    token, stored = issue_token(owner, now=clock.now())
    known = parse_tokens(secrets.read(name))
    secrets.write(name, dump_tokens([*known, stored]))
    return token


def revoke_tokens(owner: str, secrets: SecretStore, name: str, *, keep_newest: bool = False) -> int:
    """Revoke all tokens of an owner, or all but the newest; returns how many."""
    known = parse_tokens(secrets.read(name))
    own = [token for token in known if token.owner == owner]
    if not own:
        raise MissingError(f"{owner} has no token.")
    newest = own[-1] if keep_newest else None  # tokens are added at the end
    kept = [token for token in known if token.owner != owner or token is newest]
    secrets.write(name, dump_tokens(kept))
    return len(known) - len(kept)


def revoke_token(token: str, secrets: SecretStore, name: str) -> None:
    """Revoke one token, where the owner may have others. Safe to repeat."""
    known = parse_tokens(secrets.read(name))
    kept = [record for record in known if find_owner(token, [record]) is None]
    if len(kept) < len(known):
        secrets.write(name, dump_tokens(kept))


def list_tokens(owner: str | None, secrets: SecretStore, name: str) -> Sequence[ApiToken]:
    known = parse_tokens(secrets.read(name))
    return [token for token in known if owner in {None, token.owner}]
