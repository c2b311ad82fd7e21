"""API tokens. Each names an owner; only its hash is stored."""

import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.text import hash_text

TOKEN_BYTES = 32  # 256 random bits cannot be guessed, so a fast hash is enough
OWNER = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$"


class ApiToken(BaseModel, frozen=True):
    """The stored record of a token. The hash is SHA-256, in hexadecimal."""

    owner: Annotated[str, Field(pattern=OWNER)]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created: datetime


_ADAPTER: TypeAdapter[list[ApiToken]] = TypeAdapter(list[ApiToken])


def issue_token(owner: str, *, now: datetime) -> tuple[str, ApiToken]:
    """A new token, to be shown once, and its record, to be stored."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    return token, make_token_record(token, owner, now=now)


def make_token_record(token: str, owner: str, *, now: datetime) -> ApiToken:
    try:
        return ApiToken(owner=owner, hash=hash_text(token), created=now)
    except ValidationError as error:
        raise InvalidRequestError(
            "An owner is named by 1 to 64 letters, digits and the characters _ . @ -.",
            fields={"owner": "1 to 64 letters, digits and the characters _ . @ -"},
        ) from error


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
        return _ADAPTER.validate_json(text or "[]")
    except ValidationError as error:
        # pydantic's message would repeat the secret
        raise ConfigurationError(
            "The API tokens secret is not a list of tokens.",
            hint="Set it to [] and add tokens with: idea admin token add OWNER.",
        ) from error


def dump_tokens(tokens: Sequence[ApiToken]) -> str:
    return _ADAPTER.dump_json(list(tokens)).decode()
