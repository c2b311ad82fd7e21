"""API tokens. Each names an owner; only its hash is stored.

Without pydantic: the authorizer needs nothing else of it, and would take four times as long to start.
"""

import hmac
import json
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.text import hash_text

TOKEN_BYTES = 32  # 256 random bits cannot be guessed, so a fast hash is enough
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ApiToken:
    """The stored record of a token. The hash is SHA-256, in hexadecimal."""

    owner: str
    hash: str
    created: datetime


def issue_token(owner: str, *, now: datetime) -> tuple[str, ApiToken]:
    """A new token, to be shown once, and its record, to be stored."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    return token, make_token_record(token, owner, now=now)


def make_token_record(token: str, owner: str, *, now: datetime) -> ApiToken:
    if not _OWNER.fullmatch(owner):
        raise InvalidRequestError(
            "An owner is named by 1 to 64 letters, digits and the characters _ . @ -.",
            fields={"owner": "1 to 64 letters, digits and the characters _ . @ -"},
        )
    return ApiToken(owner=owner, hash=hash_text(token), created=now)


def find_owner(token: str, tokens: Sequence[ApiToken]) -> str | None:
    """The owner of a token, if it is known. Every record is compared, each in constant time."""
    given = hash_text(token)
    owner: str | None = None
    for known in tokens:
        if hmac.compare_digest(given, known.hash):
            owner = known.owner
    return owner


def parse_tokens(text: str) -> list[ApiToken]:
    """The tokens in a secret, which is empty at first."""
    try:
        return _parse_records(json.loads(text or "[]"))
    except (ValueError, TypeError, KeyError, RecursionError):
        # the original message may repeat the secret
        raise ConfigurationError(
            "The API tokens secret is not a list of tokens.",
            hint="Set it to [] and add tokens with: idea admin token add OWNER.",
        ) from None


def _parse_records(found: Any) -> list[ApiToken]:
    if not isinstance(found, list):
        raise TypeError
    return [_parse_record(record) for record in found]


def _parse_record(record: Any) -> ApiToken:
    owner, known = record["owner"], record["hash"]
    if not (_OWNER.fullmatch(owner) and _HASH.fullmatch(known)):
        raise ValueError
    return ApiToken(owner, known, datetime.fromisoformat(record["created"]))


def dump_tokens(tokens: Sequence[ApiToken]) -> str:
    records = [
        {
            "owner": token.owner,
            "hash": token.hash,
            "created": token.created.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        }
        for token in tokens
    ]
    return json.dumps(records, separators=(",", ":"))
